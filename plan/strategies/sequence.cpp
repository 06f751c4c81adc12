// Sequence parallelism (Korthikanti et al. 2022, section 4.2.2): between the tensor-parallel
// regions the residual stream, its norms, dropouts and their gradients are sharded over tp along
// the sequence. As a rewrite it says just that; the all_reduces then become reduce_scatter and
// all_gather.
#include "plan/refusal.h"
#include "plan/strategies/draft.h"

namespace plait {

void apply_sequence_parallel(Draft& d) {
  if (!d.strategy.sequence_parallel) return;
  const std::int64_t tp = d.mesh().size_of(kTensorAxes);
  if (tp == 1 && d.strategy.pipeline.stage_tp.empty()) {
    throw refusal("S011", "sequence_parallel needs tensor parallelism",
                  "strategy.sequence_parallel", "strategy.tp greater than 1",
                  "set strategy.sequence_parallel to false, or strategy.tp to 2 or more",
                  {"strategy.tp"});
  }
  const std::int64_t tokens = d.workload.sequence_length / d.mesh().size_of(kContextAxes);
  if (tokens % tp != 0) {
    throw refusal("S012",
                  "a sequence of " + std::to_string(tokens) +
                      " tokens on a rank cannot be split over tp = " + std::to_string(tp),
                  "workload.sequence_length", "a multiple of strategy.cp * strategy.tp",
                  "change workload.sequence_length or strategy.tp", {"strategy.cp", "strategy.tp"});
  }
  // The residual stream; everything computed from it token by token follows in insert_collectives.
  for (TensorId t : {d.x, d.dx, d.embedded, d.mtp_embedded}) {
    if (t == kNoTensor) continue;
    Dim& sequence = d.tensors[t].dims[0];
    // A stage of tp 1 shards over tp too, as its neighbours do.
    sequence.sharded = sequence.sharded | Axis::kTp | d.mesh().present(kTensorAxes);
  }
}

}  // namespace plait
