#include <gtest/gtest.h>

#include "core/error.h"
#include "prediction/prices.h"
#include "prediction/search/answer.h"

namespace plait::search_answer_test {

/// GPT-2 on a node of two and on one of four GPUs; the scenario says nothing of its layout.
SearchQuestion asked(Objective objective) {
  SearchQuestion q;
  q.file = "x";
  q.text = R"({
    "model": "gpt2", "workload": {"sequence_length": 128, "global_batch": 64},
    "cluster": {"preset": "dgx-a100"}})";
  q.varied = {{"cluster.devices_per_node", {"2", "4"}}};
  q.objective = objective, q.best = 3;
  return q;
}

SearchReport answer_to(const SearchQuestion& q) {
  const Machines machines = machines_of(q);
  SearchReport out = machines.about;
  SearchRecords records({}, machines.studies, out.run);
  const Crews threads;
  const std::atomic<bool> never{false};
  const auto best = search_machines(q, machines, records, {threads, never, {}}, out);
  report_rows(q, machines, best, out);
  return out;
}

TEST(Search, TheBestHaveLeastOfWhatIsAskedFor) {
  const SearchReport fastest = answer_to(asked(Objective::kTime));
  const SearchReport smallest = answer_to(asked(Objective::kGpus));
  ASSERT_EQ(fastest.best.size(), 3U);
  EXPECT_EQ(fastest.best[0].report.world_size, 4);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_LE(fastest.best[i - 1].report.step_time_s, fastest.best[i].report.step_time_s);
  }
  for (const SearchRow& row : smallest.best) EXPECT_EQ(row.report.world_size, 2);
}

/// While one machine is searched, others make the layouts of the next.
TEST(Search, TheAnswerOfSeveralMachinesIsThatOfOneThread) {
  SearchQuestion q = asked(Objective::kTime);
  q.varied = {{"cluster.devices_per_node", {"1", "2", "4", "8"}}};
  const std::string alone = search_json(answer_to(q));
  for (const int jobs : {2, 5}) {
    q.jobs = jobs;
    EXPECT_EQ(search_json(answer_to(q)), alone) << jobs << " threads";
  }
}

TEST(Search, MachinesThatAreTooLargeAreLeftOut) {
  SearchQuestion q = asked(Objective::kTime);
  q.max_gpus = 2;
  EXPECT_EQ(answer_to(q).best[0].report.world_size, 2);
  q.max_gpus = 1;
  EXPECT_TRUE(answer_to(q).best.empty());
  EXPECT_FALSE(answer_to(q).nothing.empty());
}

/// 12 heads of GPT-2, of which no five ranks have as many each.
TEST(Search, WhyTheScenarioItselfHasNoRowIsKnown) {
  SearchQuestion q = asked(Objective::kTime);
  q.varied.clear();
  EXPECT_TRUE(answer_to(q).own.has_value());
  EXPECT_FALSE(answer_to(q).own_refused.has_value());
  q.sets = {{"strategy.tp", "5"}};
  const SearchReport answer = answer_to(q);
  EXPECT_FALSE(answer.best.empty());
  EXPECT_FALSE(answer.own.has_value());
  ASSERT_TRUE(answer.own_refused.has_value());
  EXPECT_TRUE(answer.own_refused->code.starts_with('S'));
}

Warnings told_of(const std::vector<std::string>& prices, const Scenario& a, const Scenario& b) {
  std::vector<PricedDevice> priced = priced_devices(a);
  for (PricedDevice& d : priced_devices(b)) priced.push_back(std::move(d));
  return shared_prices(prices, priced);
}

TEST(Search, OnePriceOfUnlikeDevicesIsToldUnlessItNamesThem) {
  const SearchQuestion q = asked(Objective::kCost);
  Scenario a = parse_scenario(q.text, q.file);
  Scenario b = parse_scenario(q.text, q.file, {{"cluster.preset", "hgx-h200"}});
  a.price_per_device_hour = b.price_per_device_hour = 2.5;
  const Warnings told = told_of({}, a, b);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].code, "W026");
  EXPECT_NE(told[0].text.find(a.cluster.device.name + "=PRICE,h200-sxm=PRICE"), std::string::npos);
  EXPECT_TRUE(told_of({}, a, a).empty());
  EXPECT_TRUE(told_of({"h200-sxm=2.5"}, a, b).empty());
  b.price_per_device_hour = 3;
  EXPECT_TRUE(told_of({}, a, b).empty());
}

TEST(Search, TheLastPriceThatNamesADeviceOrNoneCounts) {
  const SearchQuestion q = asked(Objective::kCost);
  const Scenario s = parse_scenario(q.text, q.file);
  EXPECT_EQ(price_of({}, s), 0);
  EXPECT_EQ(price_of({"2.5"}, s), 2.5);
  EXPECT_EQ(price_of({"2.5", s.cluster.device.name + "=3"}, s), 3);
  EXPECT_EQ(price_of({"2.5", "h100-sxm=3"}, s), 2.5);
  EXPECT_THROW(price_of({"free"}, s), InputError);
  EXPECT_EQ(idle_prices({"h100-sxm=3"}, kinds_of_devices(s.cluster)).size(), 1U);
}

}  // namespace plait::search_answer_test
