// Low-rank adapters beside frozen matrices in nf4, run for real: what is trained is what would be
// trained beside plain matrices of the same numbers, and every sharding trains the same.
#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/nf4.h"
#include "realrun/compute/host_device.h"
#include "realrun/launch/rank_threads.h"
#include "realrun/start_nf4.h"
#include "realrun/verify.h"
#include "tests/realrun/given_weights.h"
#include "tests/realrun/matrices_by_name.h"
#include "tests/realrun/verify_models.h"

namespace plait::lora_nf4_test {

using T = AdapterTarget;

/// Matrices of which one has more than 256 blocks, and one ends within a block.
Model wide() {
  Model m = small_llama();
  m.hidden = 64, m.head_dim = 16, m.ffn_hidden = 131;
  return m;
}
Workload quantized(bool nested = true) {
  Workload w = small_workload();
  w.lora = {3, 6, {T::kQkv, T::kOut, T::kUp, T::kDown}};
  w.lora.frozen = FrozenWeights::kNf4, w.lora.double_quantized = nested;
  return w;
}

struct Ran {
  Matrices gradients, start;
  double loss = 0;
};
template <class Prepare>
Ran run(const Model& m, const Workload& workload, Prepare&& prepare) {
  const Plan plan = make_plan(m, in_precision(workload, RunPrecision::kFp64), Strategy{});
  Ran out;
  run_threads(1, [&](Transport& transport) {
    Walker walker(plan, m, transport, host_device<double>());
    out.start = by_name(state_of(walker, plan, m).weights);
    prepare(walker, plan);
    walker.step();
    out.loss = loss_of(walker, plan);
    out.gradients = by_name(state_of(walker, plan, m).gradients);
    return 0;
  });
  return out;
}

/// What a matrix is when it has been stored and restored.
std::vector<double> restored(const std::vector<double>& weights, bool nested) {
  const StoredMatrix stored = stored_matrix(weights, nested);
  std::vector<double> scales = stored.absmax, out(weights.size());
  if (nested)
    kernels::dequantize_scales(scales.data(), stored.absmax.data(), stored.scales.data(),
                               std::ssize(scales));
  kernels::dequantize_nf4(out.data(), stored.codes.data(), scales.data(), std::ssize(out));
  return out;
}

bool is_frozen_matrix(const std::string& name) {
  const bool of_linear =
      name.starts_with("layer.qkv.weight") || name.starts_with("layer.attention_out.weight") ||
      name.starts_with("layer.mlp_up.weight") || name.starts_with("layer.mlp_down.weight");
  return of_linear;
}

TEST(LoraNf4, GradientsAreThoseBesidePlainMatricesOfTheRestoredNumbers) {
  const Model m = wide();
  for (const bool nested : {false, true}) {
    const Ran stored = run(m, quantized(nested), [](Walker&, const Plan&) {});
    Workload plain = quantized();
    plain.lora.frozen = FrozenWeights::kPlain;
    Matrices weights = run(m, plain, [](Walker&, const Plan&) {}).start;
    double changed = 0;
    for (auto& [name, matrix] : weights) {
      if (!is_frozen_matrix(name)) continue;
      const std::vector<double> before = matrix;
      matrix = restored(matrix, nested);
      for (std::size_t i = 0; i < matrix.size(); ++i)
        changed = std::max(changed, std::abs(matrix[i] - before[i]));
    }
    EXPECT_GT(changed, 1e-3);
    const Ran given = run(m, plain, [&](Walker& walker, const Plan& plan) {
      give_weights(
          walker, plan,
          m, [&](const std::string& name) -> const auto& { return weights.at(name); });
    });
    EXPECT_NEAR(stored.loss, given.loss, 1e-12);
    ASSERT_EQ(stored.gradients.size(), given.gradients.size());
    for (const auto& [name, gradient] : given.gradients) {
      const std::vector<double>& got = stored.gradients.at(name);
      for (std::size_t i = 0; i < gradient.size(); ++i)
        ASSERT_NEAR(got[i], gradient[i], 1e-12) << name;
    }
  }
}

TEST(LoraNf4, EveryShardingTrainsTheSameAndHoldsWhatIsPlanned) {
  struct Case {
    std::int64_t pp, dp, fsdp, cp;
    int stage;
    Recompute recompute;
  };
  using R = Recompute;
  for (const Case& c :
       {Case{1, 2, 1, 1, 0, R::kNone}, Case{1, 2, 1, 1, 1, R::kFull},
        Case{1, 4, 1, 1, 2, R::kSelective}, Case{1, 1, 2, 1, 3, R::kNone},
        Case{1, 1, 4, 1, 3, R::kFull}, Case{1, 2, 2, 1, 3, R::kNone}, Case{2, 1, 2, 1, 3, R::kFull},
        Case{2, 2, 1, 1, 1, R::kNone}, Case{1, 1, 1, 2, 0, R::kNone}}) {
    Strategy s;
    s.mesh[Axis::kPp] = c.pp, s.mesh[Axis::kDp] = c.dp, s.mesh[Axis::kFsdp] = c.fsdp;
    s.mesh[Axis::kCp] = c.cp;
    s.zero_stage = c.stage, s.recompute.kind = c.recompute;
    for (const FsdpCopies copies : {FsdpCopies::kNone, FsdpCopies::kFsdp2}) {
      if (copies != FsdpCopies::kNone && c.stage < 3) continue;
      s.fsdp.copies = copies;
      for (const bool gpt : {false, true}) {
        const Model model = gpt ? small_gpt() : wide();
        for (const RunPrecision precision : {RunPrecision::kFp64, RunPrecision::kBf16}) {
          const Workload w = in_precision(quantized(!gpt), precision);
          const Plan whole = make_plan(model, w, Strategy{}), plan = make_plan(model, w, s);
          const Verification v = verify(model, plan, whole, precision);
          EXPECT_TRUE(passes(v, tolerance_of(precision)))
              << model.name << c.pp << c.dp << c.fsdp << c.stage << " " << v.worst_tensor << " "
              << v.worst_error << " " << v.loss_error;
          EXPECT_EQ(v.held, v.planned);
        }
      }
    }
  }
}

}  // namespace plait::lora_nf4_test
