// The text of five tiny plans, compared with tests/golden/plan. PLAIT_UPDATE_GOLDEN=1 in the
// environment writes the files instead.
#include "plan/print.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/plan/tiny.h"

namespace plait::print_test {

std::string text(const Plan& plan, const PrintOptions& options = {}) {
  std::ostringstream out;
  print(out, plan, options);
  return out.str();
}

void expect_golden(const std::string& name, const Plan& plan) {
  const std::string path = std::string(PLAIT_SOURCE_DIR) + "/tests/golden/plan/" + name + ".txt";
  if (std::getenv("PLAIT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text(plan);
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text(plan), golden.str()) << path;
}

TEST(GoldenPlan, DataParallel) {
  expect_golden("dp", make_plan(tiny_llama(), tiny_workload(4), split({.dp = 2})));
}

TEST(GoldenPlan, FullySharded) {
  expect_golden("fsdp", make_plan(tiny_llama(), tiny_workload(2), split({.fsdp = 2}, 3)));
}

TEST(GoldenPlan, TensorAndSequenceParallel) {
  Strategy s = split({.tp = 2});
  s.sequence_parallel = true;
  expect_golden("tp_sp", make_plan(tiny_gpt(), tiny_workload(1), s));
}

TEST(GoldenPlan, OneForwardOneBackward) {
  expect_golden("pp_1f1b", make_plan(tiny_gpt(), tiny_workload(3), split({.pp = 2})));
}

TEST(GoldenPlan, InterleavedHybridWithRecomputation) {
  Strategy s = split({.pp = 2, .dp = 2, .tp = 2}, 1);
  s.pipeline.schedule = Schedule::kInterleaved, s.pipeline.chunks = 2;
  s.recompute.kind = Recompute::kFull;
  Workload w = tiny_workload(4);
  w.gradient_clipping = true;
  expect_golden("interleaved_recompute", make_plan(tiny_llama(4), w, s));
}

TEST(Print, OneStageLeavesTheOthersOut) {
  const Plan plan = make_plan(tiny_llama(), tiny_workload(1), split({.pp = 2}));
  const std::string one = text(plan, {.stage = 1});
  EXPECT_EQ(one.find("stage 0:"), std::string::npos);
  EXPECT_NE(one.find("stage 1:"), std::string::npos);
}

TEST(Print, OpsAddsOneLinePerOpOfEveryCall) {
  const Plan plan = make_plan(tiny_llama(), tiny_workload(1), split({}));
  const auto lines = [](const std::string& t) { return std::count(t.begin(), t.end(), '\n'); };
  EXPECT_EQ(lines(text(plan, {.ops = true})) - lines(text(plan)), op_count(plan));
}

}  // namespace plait::print_test
