#pragma once
// How the work is split. One field per decision; every combination is either planned or refused by
// make_plan with an InputError that names the field.

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "plan/mesh.h"

namespace plait {

/// What each one is: plan/schedule.h.
enum class Schedule : std::uint8_t {
  kGpipe,
  k1f1b,
  kInterleaved,
  kZbH1,
  kZbH2,
  kZb1p,
  kZb2p,
  kZbV,
  kDualPipeV,
  kSequential
};
enum class Recompute : std::uint8_t { kNone, kSelective, kOps, kFull };
/// "1f1b", "full": as scenarios write them.
std::string_view name_of(Schedule schedule);
std::string_view name_of(Recompute recompute);

/// What an automatic schedule is laid out for, as profiled: how long the passes of a stage take and
/// a message travels, in any common unit, and what of a microbatch's activations B leaves for W.
struct PassProfile {
  double forward = 1, backward = 1, weights = 1, message = 0;
  double kept = 1;
  bool operator==(const PassProfile&) const = default;
};

struct PipelineOptions {
  Schedule schedule = Schedule::k1f1b;
  std::int64_t chunks = 1;               // model chunks ("virtual stages") per rank
  std::int64_t first_stage_layers = -1;  // layers of the first chunk; -1: an even share
  std::int64_t last_stage_layers = -1;   // layers of the last chunk; -1: an even share
  /// Layers of every piece, in the order of the model; empty: as above.
  std::vector<std::int64_t> stage_layers = {};
  PassProfile profile = {};  // of zb-1p and zb-2p
};

struct RecomputeOptions {
  Recompute kind = Recompute::kNone;
  std::int64_t layers = -1;  // full: only the first `layers` layers of each chunk; -1: all
  std::int64_t every = 1;    // full: only each `every`-th layer of a stage
};

struct DataParallelOptions {
  Bytes bucket = Bytes(25 << 20);  // gradients are reduced in pieces of about this size
  bool overlap = true;             // reduce while the backward pass goes on
};

struct FsdpOptions {
  bool reshard_after_forward = true;  // false: keep gathered weights until backward (SHARD_GRAD_OP)
  std::int64_t prefetch = 1;          // layers gathered ahead of the one that computes
};

struct Strategy {
  Mesh mesh;
  /// Axes that divide the experts of a mixture. cp and tp beside ep: the ranks along them, which
  /// share a sequence's tokens, hold different experts too (Liu et al. 2025, MoE Parallel Folding,
  /// arXiv 2504.14960; with tp this is Megatron-LM's --expert-tensor-parallel-size 1). Without tp
  /// every expert is split over tp as an MLP is.
  AxisSet expert_axes = Axis::kEp;
  bool sequence_parallel =
      false;  // Megatron SP: norms and residuals sharded over tp along the sequence
  /// What is sharded over the fsdp axis (over dp where fsdp = 1), and over cp and ep: 0 nothing, 1
  /// optimizer state, 2 and gradients, 3 and parameters.
  int zero_stage = 0;
  /// ZeRO-3 keeps a low-precision shard besides the master shard (DeepSpeed); FSDP casts the master
  /// shard each time it gathers.
  bool keep_weight_shard = false;
  PipelineOptions pipeline;
  RecomputeOptions recompute;
  DataParallelOptions data;
  FsdpOptions fsdp;

  /// The axes that zero_stage shards over: fsdp or dp, and cp and ep, whose ranks hold the same
  /// weights (Megatron-LM's distributed optimizer, torchtitan). Experts differ along expert_axes
  /// and are sharded over the others of these.
  AxisSet shard_axes() const {
    AxisSet axes;
    for (Axis a : {mesh[Axis::kFsdp] > 1 ? Axis::kFsdp : Axis::kDp, Axis::kCp, Axis::kEp}) {
      if (mesh[a] > 1) axes = axes | a;
    }
    return axes.empty() ? AxisSet(Axis::kDp) : axes;
  }
};

}  // namespace plait
