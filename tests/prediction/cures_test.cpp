// What would make a layout fit.
#include "prediction/cures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "prediction/costs.h"
#include "prediction/prediction.h"

namespace plait::cures_test {

/// Of Llama 3.1 8B on eight GPUs of 80 GB, with `sets`, where it does not fit.
std::vector<Cure> cures_of(const std::vector<Override>& sets) {
  const ScenarioText text = {"x", R"({
      "model": "llama-3.1-8b", "workload": {"sequence_length": 8192, "global_batch": 64},
      "cluster": {"preset": "dgx-a100"}, "strategy": {"dp": 8}})"};
  const Scenario s = parse_scenario(text.text, text.file, sets);
  const Reported now = report_of(s, costs_of(s), {});
  EXPECT_FALSE(now.report.memory.fits);
  Evaluator evaluator("plait");
  return cures(text, sets, s, now.report.memory.peak_memory_bytes, evaluator, 2);
}

std::map<std::string, std::string> set_by(const Cure& cure) {
  std::map<std::string, std::string> out;
  for (const Override& set : cure.sets) out[set.path] = set.value;
  return out;
}

/// Each once, whichever of a pair stands first, and by its step.
void expect_sorted_and_distinct(const std::vector<Cure>& cures) {
  EXPECT_TRUE(std::ranges::is_sorted(cures, {}, &Cure::step_time_s));
  std::set<std::map<std::string, std::string>> all;
  for (const Cure& c : cures) {
    EXPECT_GT(c.step_time_s, 0);
    EXPECT_TRUE(all.insert(set_by(c)).second);
  }
}

TEST(Cures, AreTheFastestFirst) {
  const std::vector<Cure> found =
      cures_of({{"strategy.zero_stage", "3"}, {"workload.micro_batch", "4"}});
  EXPECT_GE(found.size(), 2U);
  expect_sorted_and_distinct(found);
}

/// Neither layers that are computed again nor state that is sharded is enough.
TEST(Cures, OfPairsEachStandsOnce) {
  const std::vector<Cure> found = cures_of({{"workload.micro_batch", "4"}});
  EXPECT_GE(found.size(), 2U);
  for (const Cure& c : found) EXPECT_GE(c.sets.size(), 2U);
  expect_sorted_and_distinct(found);
}

// Of a long sequence the logits are what does not fit.
TEST(Cures, TakeALossInPieces) {
  const std::vector<Cure> found = cures_of({{"workload.sequence_length", "524288"},
                                            {"workload.global_batch", "1"},
                                            {"strategy", R"({"cp": 8, "context": "ulysses",
                                                "zero_stage": 3, "recompute": "full"})"}});
  EXPECT_TRUE(std::ranges::any_of(
      found, [](const Cure& c) { return set_by(c).contains("workload.loss_pieces"); }));
}

}  // namespace plait::cures_test
