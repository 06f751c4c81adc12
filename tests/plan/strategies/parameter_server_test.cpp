// Parameter servers: what travels, who holds what in bytes per parameter, and in which order,
// against Li et al. 2014 and parameter_server.cpp.
#include <algorithm>

#include "core/error.h"
#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::parameter_server_test {

constexpr std::int64_t kWorkers = 4, kMicrobatches = 3;

Plan plan_of(ParameterServerOptions servers, bool overlap = true, Precision precision = {},
             bool clips = false) {
  Strategy s = split({.dp = kWorkers + (servers.dedicated ? servers.servers : 0)});
  s.parameter_server = servers, s.data.overlap = overlap;
  Workload w = tiny_workload(kWorkers * kMicrobatches);
  w.precision = precision, w.gradient_clipping = clips;
  return make_plan(tiny_llama(), w, s);
}
ParameterServerOptions serving(std::int64_t servers, bool dedicated = false,
                               std::int64_t staleness = 0) {
  return {.servers = servers, .dedicated = dedicated, .staleness = staleness};
}

/// Elements of all units, filled up to whole shares.
std::int64_t elements(const Plan& plan) {
  std::int64_t n = 0;
  for (const Tensor& t : plan.tensors) {
    if (t.is_view() || t.kind != TensorClass::kWeight || t.holders != Holders::kWorkers) continue;
    n += t.elements(plan.mesh) * (t.scope == Scope::kLayer ? plan.layers : 1);
  }
  return n;
}
/// Bytes of weights, gradients and optimizer state on ranks of a role.
std::int64_t state(const Plan& plan, Role role) {
  std::int64_t sum = 0;
  for (const Tensor& t : plan.tensors) {
    if (!t.persistent || t.is_view() || !holds(role, t.holders)) continue;
    if (t.kind != TensorClass::kWeight && t.kind != TensorClass::kGradient &&
        t.kind != TensorClass::kOptimizer)
      continue;
    sum += t.bytes(plan.mesh).value * (t.scope == Scope::kLayer ? plan.layers : 1);
  }
  return sum;
}

// bf16 weights 2, fp32 gradients 4, master and moments 12.
TEST(ParameterServer, WorkersHoldSixBytesPerParameterAndServersEighteenOfTheirShare) {
  for (const std::int64_t k : {1, 2, 4}) {
    const Plan plan = plan_of(serving(k, true));
    const std::int64_t p = elements(plan);
    EXPECT_EQ(state(plan, {.works = true, .serves = false}), 6 * p);
    EXPECT_EQ(state(plan, {.works = false, .serves = true}), 18 * p / k);
    EXPECT_EQ(state(plan, {}), 6 * p + 18 * p / k);
  }
}

TEST(ParameterServer, AServerThatDoesNotWorkHasNoActivations) {
  const Plan plan = plan_of(serving(2, true));
  const StageMemory m =
      live_memory(plan, 0, false, Place::kDevice, {.works = false, .serves = true});
  EXPECT_EQ(m.by_class[static_cast<std::size_t>(TensorClass::kActivation)], Bytes());
  EXPECT_EQ(m.peak.value, 18 * elements(plan) / 2);
}

TEST(ParameterServer, GradientsArePushedAndWeightsPulledOnceAStep) {
  for (const bool overlap : {true, false}) {
    const Plan plan = plan_of(serving(2), overlap);
    const std::int64_t units = plan.layers + 2, p = elements(plan);
    EXPECT_EQ(traffic(plan, 0, CollectiveKind::kPush, Axis::kDp), (Volume{units, 4 * p}));
    EXPECT_EQ(traffic(plan, 0, CollectiveKind::kPull, Axis::kDp), (Volume{units, 2 * p}));
    EXPECT_TRUE(validate(plan).empty());
  }
}

TEST(ParameterServer, GradientsTravelInTheTypeOfTheReduction) {
  Precision p;
  p.reduction = DType::kBf16;
  const Plan plan = plan_of(serving(2), true, p);
  EXPECT_EQ(traffic(plan, 0, CollectiveKind::kPush, Axis::kDp).bytes, 2 * elements(plan));
  EXPECT_TRUE(validate(plan).empty());
}

TEST(ParameterServer, ClippingSumsTheSquaresOfAllServers) {
  const Plan plan = plan_of(serving(2, true), true, {}, true);
  EXPECT_EQ(traffic(plan, 0, CollectiveKind::kAllReduce, Axis::kDp), (Volume{1, 4}));
  EXPECT_TRUE(validate(plan).empty());
}

/// Index of the first call of a block that is called so.
std::size_t first_call(const Plan& plan, std::string_view name) {
  const std::vector<Call>& calls = plan.programs[0].calls;
  const auto found =
      std::ranges::find_if(calls, [&](const Call& c) { return plan.blocks[c.block].name == name; });
  return static_cast<std::size_t>(found - calls.begin());
}

TEST(ParameterServer, StaleGradientsLeaveBeforeTheStepComputes) {
  const Plan fresh = plan_of(serving(2)), stale = plan_of(serving(2, false, 1));
  EXPECT_LT(first_call(fresh, "layer.backward"), first_call(fresh, "push"));
  EXPECT_LT(first_call(stale, "push"), first_call(stale, "layer.forward"));
  EXPECT_LT(first_call(stale, "pull"), first_call(stale, "optimizer"));
  EXPECT_EQ(first_call(stale, "zero_gradients"), stale.programs[0].calls.size());
  EXPECT_TRUE(validate(stale).empty());
  EXPECT_EQ(traffic(stale, 0, CollectiveKind::kPush, Axis::kDp),
            traffic(fresh, 0, CollectiveKind::kPush, Axis::kDp));
}

TEST(ParameterServer, DedicatedServersHaveNoShareOfTheBatch) {
  const Plan plan = plan_of(serving(2, true));
  EXPECT_EQ(plan.mesh.world_size(), kWorkers + 2);
  EXPECT_EQ(plan.microbatches, kMicrobatches);
  EXPECT_EQ(role_of(plan, kWorkers - 1), (Role{.works = true, .serves = false}));
  EXPECT_EQ(role_of(plan, kWorkers), (Role{.works = false, .serves = true}));
}

void expect_refused(const Strategy& s, const std::string& code) {
  try {
    make_plan(tiny_llama(), tiny_workload(24), s);
    ADD_FAILURE() << code << " is not raised";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, code) << e.what();
    EXPECT_TRUE(e.text().where.path.starts_with("strategy.parameter_server"));
  }
}

TEST(ParameterServer, RefusesWhatIsNotPlanned) {
  Strategy s = split({.dp = 4});
  s.parameter_server.staleness = 1;
  expect_refused(s, "S110");
  s = split({.dp = 2, .tp = 2});
  s.parameter_server = serving(2);
  expect_refused(s, "S111");
  s = split({.dp = 4}, 1);
  s.parameter_server = serving(2);
  expect_refused(s, "S111");
  s = split({.dp = 4});
  s.parameter_server = serving(5);
  expect_refused(s, "S112");
  s.parameter_server = serving(3, true);  // for one worker
  expect_refused(s, "S112");
  s.parameter_server = serving(2, false, 2);
  expect_refused(s, "S113");
}

}  // namespace plait::parameter_server_test
