// No simulation is faster than its bounds, no account of memory smaller.
#include "search/bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "tests/search/cases.h"

namespace plait::bounds_test {

/// On devices that everything has room on: no others have a bound of their time.
Scenario with_room(Scenario s) {
  constexpr Bytes kMuch(std::int64_t{1} << 60);
  s.cluster.device.memory = kMuch;
  for (OtherKind& kind : s.cluster.others) kind.device.memory = kMuch;
  return s;
}

Scenario roomy(const std::string& scenario, const std::vector<Override>& sets = {}) {
  return with_room(load_scenario(std::string(PLAIT_SOURCE_DIR) + "/scenarios/" + scenario, sets));
}

void prepare(Bounds& bounds, const std::vector<Layout>& layouts, int threads) {
  std::vector<std::uint32_t> all(layouts.size());
  std::iota(all.begin(), all.end(), 0U);
  bounds.prepare_memory(layouts, all, threads);
  bounds.prepare_time(layouts, all, threads);
}

std::optional<Bytes> memory_of(const Bounds& bounds, const Layout& layout) {
  Bounds::Recent recent;
  return bounds.memory(layout, recent);
}

std::optional<SimTime> step_of(const Bounds& bounds, const Layout& layout) {
  Bounds::Recent recent;
  return bounds.step(layout, recent);
}

void expect_bounded(const Case& c, std::size_t most, const std::vector<Axis>& order = {},
                    const Kernels& kernels = {}) {
  RC_LOG() << c << "\n";
  Scenario s = with_room(scenario_of(c));
  s.placement_rule.order = order;
  CostModel costs = c.costs();
  s.kernels = costs.kernels = kernels;
  Bounds bounds(s, costs);
  Space space;  // a search tries some schedules only where it is told to
  if (pick(0, 2) == 0) {
    space.schedule = {Schedule::kZbV, Schedule::kDualPipeV, Schedule::kDualPipe};
  }
  const std::vector<Layout> layouts = some(layouts_of(s, space), most);
  prepare(bounds, layouts, 2);
  for (const Layout& layout : layouts) {
    const std::optional<Evaluation> exact = evaluate(s, costs, layout, kNoLimit);
    if (!exact) continue;
    const std::optional<Bytes> memory = memory_of(bounds, layout);
    if (!memory) RC_FAIL("refused, and planned:" + text_of(layout));
    const std::optional<SimTime> step = step_of(bounds, layout);
    if (!step) RC_FAIL("refused, and planned:" + text_of(layout));
    if (*step > exact->step || bounds.closer(layout) > exact->step) {
      RC_FAIL(fmt::format("step {} ps, bound {}, closer {}:{}", exact->step, *step,
                          bounds.closer(layout), text_of(layout)));
    }
    if (*memory > exact->memory) {
      RC_FAIL(fmt::format("memory {} B, bound {} B:{}", exact->memory.value, memory->value,
                          text_of(layout)));
    }
  }
}

RC_GTEST_PROP(Bounds, NothingIsFasterOrSmaller, ()) {
  const Case c = searchable();
  expect_bounded(c, 40);
}

RC_GTEST_PROP(Bounds, NothingWithAdaptersIsFasterOrSmaller, ()) {
  const Case c = searchable([](const Case& one) { return one.workload.lora.any(); });
  expect_bounded(c, 40);
}

RC_GTEST_PROP(Bounds, NothingWithStatesIsFasterOrSmaller, ()) {
  const Case c = searchable([](const Case& one) { return one.model.recurrent_layers() > 0; });
  expect_bounded(c, 40);
}

RC_GTEST_PROP(Bounds, NothingWithStateElsewhereIsFasterOrSmaller, ()) {
  const Case c = searchable([](const Case& one) { return one.strategy.offload.any(); });
  expect_bounded(c, 40);
}

RC_GTEST_PROP(Bounds, NothingPlacedByAxesIsFasterOrSmaller, ()) {
  const Case c = searchable([](const Case& one) { return one.placement.empty(); });
  const std::vector<Axis> order = any_order();
  for (const Axis a : order) RC_LOG() << name_of(a) << " ";
  expect_bounded(c, 40, order);
}

// Which kernels run depends on how many heads and sequences a rank has at a time.
RC_GTEST_PROP(Bounds, NothingWithMegatronsSoftmaxIsFasterOrSmaller, ()) {
  Case c = searchable();
  c.workload.flash_attention = false, c.workload.sequence_length *= 4;
  c.model.max_positions *= 4;
  expect_bounded(c, 40, {}, {.softmax = SoftmaxKernel::kMegatron});
}

// Sums of gradients that are kernels of their own are those of gradients that stay whole.
RC_GTEST_PROP(Bounds, NothingWithKernelsOfAutogradIsFasterOrSmaller, ()) {
  Case c = searchable();
  c.model.vocab *= 64;
  expect_bounded(c, 40, {}, {.gradient_sum = Fusion::kEager, .table_gradient = Fusion::kEager});
}

RC_GTEST_PROP(Bounds, NothingWithZeroPlusPlusIsFasterOrSmaller, ()) {
  expect_bounded(searchable([](const Case& one) { return one.strategy.zero_plus_plus.any(); }), 40);
}

// Large shapes: kernels and messages far from their fixed costs.
void expect_bounded_at_scale(Case c) {
  c.model.hidden *= 32, c.model.ffn_hidden *= 32, c.model.head_dim *= 16, c.model.vocab *= 64;
  c.model.state_head_dim *= 16, c.model.state_size *= 16, c.workload.lora.rank *= 8;
  c.model.dropout = 0;
  c.model.max_positions = 2048;
  c.workload.sequence_length = 2048;
  c.workload.flash_attention = true;
  c.strategy.data.bucket = Bytes(pick(1, 400) * 1'000'000);
  c.machine.oversubscription = static_cast<double>(pick(1, 8));
  RC_LOG() << *c.machine.oversubscription << " to 1 over pods of " << *c.machine.nodes_per_pod
           << "\n";
  const std::vector<Axis> order = c.placement.empty() ? any_order() : std::vector<Axis>();
  for (const Axis a : order) RC_LOG() << name_of(a) << " ";
  expect_bounded(c, 40, order);
}

RC_GTEST_PROP(Bounds, NothingIsFasterOrSmallerAtScale, ()) {
  const Case c = searchable();
  expect_bounded_at_scale(c);
}

// FSDP1 adds whole gradients up in the type of the weights.
RC_GTEST_PROP(Bounds, NothingWithWholeSumsOfFsdp1IsFasterOrSmaller, ()) {
  Case c = searchable([](const Case& one) { return !one.workload.lora.any(); });
  c.strategy.fsdp.copies = FsdpCopies::kFsdp1, c.strategy.fsdp.no_sync = NoSync::kAlways;
  expect_bounded_at_scale(c);
}

// Groups of a scenario's microbatches are for as many stages as it has: with four of them there are
// groups of four again, of which more microbatches are held than of those of two stages.
TEST(Bounds, WalkLayoutsOfOtherStagesInGroupsOfTheirOwn) {
  Scenario s = roomy("llama/llama-3.1-70b-64xh100.json");
  const CostModel costs{.host = s.host, .kernels = s.kernels};
  const auto closer = [&](std::int32_t pp, std::int64_t group) {
    s.strategy.pipeline.microbatch_group = group;
    Layout layout = layout_of(s.strategy, s.workload);
    layout.pp = pp, layout.dp = 8 / pp, layout.chunks = 2;
    Bounds bounds(s, costs);
    prepare(bounds, {layout}, 1);
    return bounds.closer(layout);
  };
  EXPECT_EQ(closer(4, 16), closer(4, 0));
  EXPECT_NE(closer(2, 16), closer(2, 0));
}

// A shard of the table's gradient is of one microbatch, which is not added to others: on one GPU's
// share of a small model with a large vocabulary the sum is what a bound may not count.
TEST(Bounds, CountNoSumOfATableWhoseGradientIsSharded) {
  for (const char* precision : {"bf16", R"({"weights": "fp32", "autocast": "bf16"})"}) {
    const Scenario s = roomy("llama/llama-3.1-8b-8xh100-fsdp.json",
                             {{"model", R"({"preset": "gemma-2-9b", "layers": 2})"},
                              {"workload.sequence_length", "2048"},
                              {"workload.precision", precision},
                              {"strategy.zero_stage", "2"},
                              {"strategy.recompute", "none"},
                              {"kernels.table_gradient", "eager"},
                              {"interference", "false"}});
    const CostModel costs{.host = s.host, .kernels = s.kernels};
    const Layout layout = layout_of(s.strategy, s.workload);
    Bounds bounds(s, costs);
    prepare(bounds, {layout}, 1);
    EXPECT_LE(*step_of(bounds, layout), evaluate(s, costs, layout, kNoLimit)->step) << precision;
    EXPECT_LE(bounds.closer(layout), evaluate(s, costs, layout, kNoLimit)->step) << precision;
  }
}

// They are worth having: on a machine without surprises they come close.
void expect_close(const std::string& scenario, double step, double closer, double memory) {
  const Scenario s = roomy(scenario);
  const CostModel costs{.host = s.host, .kernels = s.kernels};
  Bounds bounds(s, costs);
  const Layout layout = layout_of(s.strategy, s.workload);
  prepare(bounds, {layout}, 1);
  const Evaluation exact = *evaluate(s, costs, layout, kNoLimit);
  const auto exactly = static_cast<double>(exact.step);
  EXPECT_GT(static_cast<double>(*step_of(bounds, layout)), step * exactly);
  EXPECT_GT(static_cast<double>(bounds.closer(layout)), closer * exactly);
  EXPECT_GT(static_cast<double>(memory_of(bounds, layout)->value),
            memory * static_cast<double>(exact.memory.value));
}
TEST(Bounds, AreClose) { expect_close("llama/llama-3.1-70b-64xh100.json", 0.95, 0.98, 0.8); }
TEST(Bounds, AreCloseWithStates) {
  expect_close("nemotron/nemotron-h-8b-64xh100.json", 0.95, 0.95, 0.8);
}
TEST(Bounds, AreCloseWithAdapters) {
  // Copies of the logits that PyTorch's loss holds are not in the bound.
  expect_close("llama/llama-3.1-8b-1xh100-lora.json", 0.95, 0.95, 0.69);
}

/// The bound of a layout's step, which is close to the step whether collectives slow kernels down
/// or not; by how much interference raises it.
double raised_by_interference(const Layout& l, double close, double close_without) {
  Scenario s = roomy("llama/llama-3.1-70b-64xh100.json");
  const CostModel costs{.host = s.host, .kernels = s.kernels};
  const auto bound = [&](bool interference) {
    s.interference = interference;
    Bounds bounds(s, costs);
    prepare(bounds, {l}, 1);
    const auto step = static_cast<double>(*step_of(bounds, l));
    EXPECT_GT(step, (interference ? close : close_without) *
                        static_cast<double>(evaluate(s, costs, l, kNoLimit)->step));
    return step;
  };
  return bound(true) / bound(false);
}

Layout alone(std::int32_t fsdp, std::int32_t dp, std::int32_t cp, std::int32_t tp) {
  Layout l;
  l.fsdp = fsdp, l.dp = dp, l.cp = cp, l.tp = tp, l.sequence_parallel = tp > 1;
  return l;
}

// What fully sharded data parallelism exchanges beside kernels, which it slows down.
TEST(Bounds, AreCloseBesideExchanges) {
  Layout l = alone(16, 1, 4, 1);
  l.zero_stage = 3;
  EXPECT_GT(raised_by_interference(l, 0.97, 0.9), 1.05);
}

// What tensor parallelism exchanges beside the weights' gradients.
TEST(Bounds, AreCloseBesideTheExchangesOfTheirOwnPasses) {
  EXPECT_GT(raised_by_interference(alone(1, 8, 1, 8), 0.97, 0.95), 1.01);
}

}  // namespace plait::bounds_test
