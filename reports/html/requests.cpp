#include "reports/html/requests.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reports/json_tree.h"

namespace plait {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

double to_microsecond(SimTime t) {
  return std::round(to_seconds(t).value * kMicrosecondsPerSecond) / kMicrosecondsPerSecond;
}

/// The indices of those to draw, in the order of arrival.
std::vector<std::size_t> drawn(const Service& service, std::size_t most) {
  std::vector<std::size_t> order(service.requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return service.requests[i].arrival; });
  const std::size_t each = (order.size() + most - 1) / std::max<std::size_t>(1, most);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < order.size(); i += std::max<std::size_t>(1, each))
    out.push_back(order[i]);
  return out;
}

}  // namespace

std::string requests_json(const std::vector<Request>& requests, const Service& service,
                          const std::vector<RequestKind>& kinds, std::size_t most) {
  using Tree = nlohmann::ordered_json;
  const std::vector<std::size_t> shown = drawn(service, most);
  const SimTime start = shown.empty() ? 0 : service.requests[shown.front()].arrival;
  Tree arrival = Tree::array(), first = Tree::array(), finish = Tree::array();
  Tree tokens = Tree::array(), kind = Tree::array(), names = Tree::array();
  for (const std::size_t i : shown) {
    const Served& s = service.requests[i];
    arrival.push_back(to_microsecond(s.arrival - start));
    first.push_back(to_microsecond(s.first_token - start));
    finish.push_back(to_microsecond(s.finish - start));
    tokens.push_back(requests[i].output);
    kind.push_back(requests[i].kind);
  }
  for (const RequestKind& k : kinds) names.push_back(k.name);
  return Tree{{"of", service.requests.size()},      {"arrival_s", std::move(arrival)},
              {"first_token_s", std::move(first)},  {"finish_s", std::move(finish)},
              {"output_tokens", std::move(tokens)}, {"kind", std::move(kind)},
              {"kinds", std::move(names)}}
      .dump();
}

}  // namespace plait
