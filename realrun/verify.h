#pragma once
// Does the plan train? Runs it and the unsharded plan of the same model and batch on real numbers,
// and compares the losses, all gradients and Adam's first moments, gathered by global element index
// (in fp64 the weights too). A plan that misses a collective, groups it wrongly or mixes up
// microbatches computes another gradient. docs/models/realrun.md derives the tolerances.

#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "plan/plan.h"
#include "realrun/tolerance.h"
#include "realrun/verify_state.h"

namespace plait {

/// Whether GPUs have a kernel for every op of the model: not for those of state-space
/// mixers, gated delta nets and gates of attention and shared experts, dropout of adapters and
/// matrices in nf4, sums of two types (autocast) and a loss in 16 bits.
bool has_gpu_kernels(const Model& model);
bool has_gpu_kernels(const LowRankAdapters& adapters);
bool has_gpu_kernels(const Precision& precision);

/// What a run in `precision` plans with: fp64 and fp32 one type throughout, bf16 the workload's own
/// mix of bf16 and fp32; experts that drop no tokens have slots for all. Throws InputError where
/// bf16 is asked of a workload in other types.
Workload in_precision(const Workload& workload, RunPrecision precision);

/// What the plan of a strategy is compared with: one rank, and where parameter servers apply
/// gradients late, one beside it that does.
Strategy unsharded(const Strategy& strategy);

struct RunOptions {
  int steps = 1;
  double patience_s = 60;  // waiting longer than this for a peer is an error
  MakeDevice device = {};  // empty: the processor, in numbers of the precision
};
/// Runs optimizer steps on this rank; every rank of the plan calls it. Rank 0 gets the state of the
/// whole model, the others nothing. Throws EnvironmentError when a rank waits in vain.
std::optional<ModelState> run_steps(const Model& model, const Plan& plan, RunPrecision precision,
                                    Transport& transport, const RunOptions& options = {});
/// The same, each rank a thread of this process.
ModelState run_steps(const Model& model, const Plan& plan, RunPrecision precision,
                     const RunOptions& options = {});

struct Verification {
  std::int64_t ranks = 0;
  std::vector<double> losses, reference_losses;  // of each step
  double loss_error = 0;                         // largest relative difference of these
  /// Relative L2 error of all gradients as one vector, or of all first moments if that is larger.
  double whole_error = 0;
  /// Largest relative L2 error and smallest cosine of a gradient or first moment, and which tensor
  /// has that error.
  double worst_error = 0, worst_cosine = 1;
  std::string worst_tensor;  // "layer.qkv.weight of layer 1"
  /// Of tensor x that should be y, the largest |x y / y^2 - 1|.
  double worst_along = 0;
  double weight_error = 0;   // largest relative L2 error of a weight after the last step
  double gradient_norm = 0;  // of the unsharded plan's last step
  bool replicas_agree = true;
  std::vector<Bytes> planned, held;  // peak memory of each rank
  bool memory_as_planned() const { return planned == held; }
};
Verification compare(const ModelState& got, const ModelState& expected);
/// Within the tolerance, replicas equal, memory as planned.
bool passes(const Verification& v, const Tolerance& allowed);

/// Both plans start from the same numbers, their ranks threads of this process. `model` has the
/// plans' shapes.
Verification verify(const Model& model, const Plan& plan, const Plan& unsharded,
                    RunPrecision precision, const RunOptions& options = {});

}  // namespace plait
