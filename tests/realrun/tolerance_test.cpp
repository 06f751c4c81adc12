// What verification allows is what rounding makes, and less than what a wrong plan is off by.
#include "realrun/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "realrun/launch/one_core.h"
#include "realrun/matrix/matrix.h"
#include "realrun/verify.h"
#include "tests/realrun/mutations.h"
#include "tests/realrun/verify_models.h"

namespace plait::tolerance_test {

constexpr RunPrecision kAll[] = {RunPrecision::kFp64, RunPrecision::kFp32, RunPrecision::kBf16};

Plan whole_llama(RunPrecision precision, std::int64_t batch = 8) {
  Workload w = small_workload();
  w.global_batch = batch;
  return make_plan(small_llama(), in_precision(w, precision), Strategy{});
}

// Each token's loss of ln V is off by e; of T tokens their mean is by e / sqrt(T), twice of which
// is allowed, and e^2 / 2 of all of them.
TEST(Tolerance, OfALossIsThatOfAMeanOverTokens) {
  const auto loss = [](std::int64_t batch) {
    return tolerance_of(RunPrecision::kBf16, small_llama(), whole_llama(RunPrecision::kBf16, batch),
                        1)
        .loss;
  };
  const double e = 0.03;
  EXPECT_NEAR(loss(8), (2 * e / std::sqrt(64.0) + e * e / 2) / std::log(32.0), 1e-6);
  EXPECT_NEAR(loss(128), (2 * e / std::sqrt(1024.0) + e * e / 2) / std::log(32.0), 1e-6);
}

TEST(Tolerance, NeverAllowsWhatHalfAGradientIsOffBy) {
  Model m = small_llama();
  m.layers = 64, m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 8;
  Workload w = small_workload();
  Strategy s;
  s.mesh[Axis::kDp] = 2, s.zero_stage = 3;
  s.zero_plus_plus.quantized_weights = s.zero_plus_plus.quantized_gradients = true;
  for (const RunPrecision precision : kAll) {
    const Plan plan = make_plan(m, in_precision(w, precision), s);
    const Tolerance allowed = tolerance_of(precision, m, plan, 5);
    EXPECT_TRUE(allowed.vague);
    ModelState expected, half;
    expected.gradients["a"] = {{3, 4}, {true, true}},
    half.gradients["a"] = {{1.5, 2}, {true, true}};
    expected.losses = half.losses = {3.5};
    EXPECT_FALSE(passes(compare(half, expected), allowed));
    // Of one tensor among larger ones, too.
    expected.gradients["b"] = half.gradients["b"] = {{300, 400}, {true, true}};
    const Verification v = compare(half, expected);
    EXPECT_LT(v.whole_error, allowed.whole);
    EXPECT_FALSE(passes(v, allowed));
  }
}

/// What `change` makes of every loss and its gradient.
template <class F>
Plan with_losses(Plan plan, F&& change) {
  for (Block& block : plan.blocks) {
    for (Op& op : block.ops) {
      if (auto* c = std::get_if<Compute>(&op.body)) {
        if (auto* loss = std::get_if<CrossEntropy>(c)) change(*loss);
      }
    }
  }
  return plan;
}

bool same(RunPrecision precision, const Plan& plan) {
  const Verification v = verify(small_llama(), plan, whole_llama(precision), precision);
  return passes(v, tolerance_of(precision, small_llama(), plan, 1));
}

// The gradients are right. A mean over 63 tokens instead of 64 is 1 / 64 off, which was within what
// bf16 allowed of gradients.
TEST(Tolerance, ALossThatForgetsATokenIsCaughtInEachPrecision) {
  for (const RunPrecision precision : kAll) {
    Strategy s;
    s.mesh[Axis::kDp] = 2, s.mesh[Axis::kTp] = 2;
    const Plan plan = make_plan(small_llama(), in_precision(small_workload(), precision), s);
    EXPECT_TRUE(same(precision, plan));
    EXPECT_FALSE(same(precision, with_losses(plan, [](CrossEntropy& loss) {
                        if (loss.step == CrossEntropy::Step::kLoss) loss.weight *= 63.0 / 64.0;
                      })));
  }
}

TEST(Tolerance, AWrongMeanIsCaughtInEachPrecision) {
  for (const RunPrecision precision : kAll) {
    Strategy s;
    s.mesh[Axis::kDp] = 8;
    const Plan plan = make_plan(small_llama(), in_precision(small_workload(), precision), s);
    for (const double times : {1.0 / 8, 0.5, 1.125, 2.0, 8.0}) {
      EXPECT_FALSE(
          same(precision, with_losses(plan, [&](CrossEntropy& loss) { loss.weight *= times; })));
    }
  }
}

bool goes_through(const MatrixCase& c, const Mutation& m, RunPrecision precision,
                  const ModelState& expected) {
  const OneCore core;
  const RunOptions soon{.patience_s = m.sound ? 60 : 0.05};
  try {
    return passes(compare(run_steps(c.model, m.plan, precision, soon), expected),
                  tolerance_of(precision, c.model, m.plan, 1));
  } catch (const EnvironmentError&) {
    return false;  // ranks waited for one another
  } catch (const InternalError&) {
    return false;  // two ends of a transfer meant different things
  }
}

/// In fp64 mutation_test.cpp does that to more cases, and over a second step, in which a gather of
/// weights that is missing behind the first one shows.
TEST(Tolerance, MissingReductionsAreCaughtInFp32AndBf16) {
  const std::vector<MatrixCase> cases = matrix_cases();
  std::size_t n = 0;
  for (const RunPrecision precision : {RunPrecision::kFp32, RunPrecision::kBf16}) {
    for (std::size_t i = 5; i < cases.size(); i += 72) {
      const MatrixCase& c = cases[i];
      const Plan plan = make_plan(c.model, in_precision(c.workload, precision), c.strategy);
      const ModelState expected = run_steps(c.model, plan, precision);
      for (const Mutation& m : dropped(plan)) {
        if (m.sound || m.what.find("reduce") == std::string::npos) continue;
        EXPECT_FALSE(goes_through(c, m, precision, expected))
            << name_of(precision) << " " << c.name << ": " << m.what;
        ++n;
      }
    }
  }
  EXPECT_GT(n, 60U);
}

/// Sixteen layers whose states pass over 512 tokens.
Model deep_states(char letter) {
  Model m = small_llama();
  m.layer_pattern = std::string(16, letter), m.layers = 16, m.positions = PositionKind::kNone;
  m.hidden = 64, m.ffn_hidden = 128, m.head_dim = 16, m.max_positions = 512;
  m.state_size = m.state_head_dim = 32, m.state_heads = 4, m.state_groups = 2;
  m.conv_width = 4, m.scan_chunk = 64;
  return m;
}

// Errors of rounding grow with these layers, not with the tokens; missing sums are still others.
TEST(Tolerance, OfDeepStatesIsWhatRoundingMakesOfThem) {
  for (const char letter : {'g', 'm'}) {
    const Model model = deep_states(letter);
    for (const RunPrecision precision : {RunPrecision::kFp32, RunPrecision::kBf16}) {
      SCOPED_TRACE(letter + std::string(name_of(precision)));
      Workload w = in_precision(small_workload(), precision);
      w.sequence_length = 512, w.global_batch = 2;
      Strategy s;
      s.mesh[Axis::kTp] = 2;
      const Plan plan = make_plan(model, w, s);
      const ModelState expected = run_steps(model, make_plan(model, w, Strategy{}), precision);
      const Tolerance allowed = tolerance_of(precision, model, plan, 1);
      const Verification v = compare(run_steps(model, plan, precision), expected);
      EXPECT_TRUE(passes(v, allowed))
          << v.whole_error << " of " << allowed.whole << ", " << v.worst_tensor << " "
          << v.worst_error << " of " << allowed.error << ", " << v.worst_along << ", "
          << v.loss_error << " of " << allowed.loss;
      const std::vector<Mutation> faults = dropped(plan);
      const auto fault = std::ranges::find_if(faults, [](const Mutation& m) {
        return m.what.find("layer.forward: all_reduce") != std::string::npos;
      });
      ASSERT_NE(fault, faults.end());
      EXPECT_FALSE(passes(compare(run_steps(model, fault->plan, precision), expected), allowed));
    }
  }
}

}  // namespace plait::tolerance_test
