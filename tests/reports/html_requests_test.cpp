#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/html/requests.h"

namespace plait::html_requests_test {

using Tree = nlohmann::json;

constexpr SimTime kSecond = 1'000'000'000'000;

TEST(PageRequests, AreColumnsInTheOrderOfArrivalFromTheFirstOneOn) {
  const std::vector<Request> asked = {{.prompt = 8, .output = 5, .kind = 1},
                                      {.prompt = 8, .output = 3}};
  Service service;
  service.requests = {{.arrival = 4 * kSecond, .first_token = 5 * kSecond, .finish = 9 * kSecond},
                      {.arrival = 2 * kSecond, .first_token = 3 * kSecond, .finish = 4 * kSecond}};
  const Tree t = Tree::parse(requests_json(asked, service, {{.name = "chat"}, {.name = "code"}}));
  EXPECT_EQ(t["of"], 2);
  EXPECT_EQ(t["arrival_s"], Tree({0.0, 2.0}));
  EXPECT_EQ(t["first_token_s"], Tree({1.0, 3.0}));
  EXPECT_EQ(t["finish_s"], Tree({2.0, 7.0}));
  EXPECT_EQ(t["output_tokens"], Tree({3, 5}));
  EXPECT_EQ(t["kind"], Tree({0, 1}));
  EXPECT_EQ(t["kinds"], Tree({"chat", "code"}));
}

TEST(PageRequests, OfManyEveryNthIsDrawn) {
  const std::vector<Request> asked(1000);
  Service service;
  for (int i = 0; i < 1000; ++i) service.requests.push_back({.arrival = i * kSecond});
  const Tree t = Tree::parse(requests_json(asked, service, {}, 100));
  EXPECT_EQ(t["of"], 1000);
  ASSERT_EQ(t["arrival_s"].size(), 100U);
  EXPECT_EQ(t["arrival_s"][1], 10.0);
  EXPECT_EQ(Tree::parse(requests_json(asked, service, {}, 1000))["arrival_s"].size(), 1000U);
  EXPECT_EQ(Tree::parse(requests_json({}, {}, {}))["of"], 0);
}

}  // namespace plait::html_requests_test
