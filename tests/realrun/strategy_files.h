#pragma once
// Which files of plan/strategies a case of the matrix uses.

#include <string>
#include <utility>
#include <vector>

#include "plan/schedule.h"
#include "realrun/matrix/matrix.h"

namespace plait {

/// Those whose rewrites change this case's plan: "tensor.cpp", ...
// NOLINTNEXTLINE(readability-function-size): a table
inline std::vector<std::string> strategy_files(const MatrixCase& c) {
  const Strategy& s = c.strategy;
  const bool tp = s.mesh.size_of(kTensorAxes) > 1;
  const bool data = s.mesh.size_of(AxisSet(Axis::kDp) | Axis::kFsdp | kContextAxes | Axis::kEp) > 1;
  const std::pair<const char*, bool> files[] = {
      {"layers.cpp", true},
      {"embedding_writer.cpp", true},
      {"head_writer.cpp", true},
      {"fit_sizes.cpp", true},
      {"units.cpp", true},
      {"require_sharding.cpp", true},
      {"optimizer.cpp", true},
      {"autocast.cpp", c.workload.precision.autocast.has_value()},
      {"tensor.cpp", tp},
      {"latent.cpp", c.model.latent_attention()},
      {"state_space.cpp", c.model.state_space_layers() > 0},
      {"delta_net.cpp", c.model.delta_net_layers() > 0},
      {"mixture.cpp", c.model.experts > 0},
      {"prediction_writer.cpp", c.model.mtp_layers > 0},
      {"windows.cpp", c.model.windowed_layers() > 0},
      {"lora.cpp", c.workload.lora.any()},
      {"nf4_weights.cpp", c.workload.lora.quantizes()},
      {"expert.cpp", c.model.experts > 0 && s.mesh.size_of(s.axes_of_experts()) > 1},
      {"expert_gather.cpp", c.model.experts > 0 && s.mesh.size_of(s.axes_of_experts()) > 1 &&
                                s.experts.dispatch == ExpertDispatch::kAllGather},
      {"copied_inputs.cpp", tp && s.tensor.copied_inputs && !s.sequence_parallel},
      {"whole_logits.cpp", tp && s.tensor.gather_logits},
      {"insert_collectives.cpp", tp},
      {"tensor_overlap.cpp", tp && s.tensor.overlap != TensorOverlap::kWeightGrad},
      {"zero_bubble.cpp", splits_backward(s.pipeline.schedule)},
      {"pass_parts.cpp",
       c.model.experts > 0 && s.mesh.size_of(s.axes_of_experts()) > 1 && s.pipeline.pairs_passes()},
      {"context.cpp", s.mesh.size_of(kContextAxes) > 1},
      {"context_gather.cpp", s.mesh[Axis::kCp] > 1 && !s.context.rings()},
      {"context_ring.cpp", s.mesh[Axis::kCp] > 1 && s.context.rings()},
      {"context_ulysses.cpp", s.mesh[Axis::kUlysses] > 1},
      {"sequence.cpp", s.sequence_parallel},
      {"recompute.cpp", s.recompute.kind != Recompute::kNone},
      {"recompute_modules.cpp", s.recompute.kind == Recompute::kModules},
      {"recompute_ops.cpp", s.recompute.kind == Recompute::kOps},
      {"pipeline.cpp", s.mesh[Axis::kPp] > 1},
      {"pieces.cpp", s.mesh[Axis::kPp] > 1},
      {"stage_exchange.cpp", s.mesh[Axis::kPp] > 1},
      {"blocking_sends.cpp", s.pipeline.blocking_sends != BlockingSends::kNone},
      {"stage_tp.cpp", !s.pipeline.stage_tp.empty()},
      {"data.cpp", data},
      {"reduce.cpp", data},
      {"completions.cpp", data},
      {"gather.cpp", s.zero_stage > 0 || s.parameter_server.any()},
      {"fsdp_copies.cpp", s.copies_gradients()},
      {"meet_alone.cpp", s.fetches_shards()},
      {"parameter_server.cpp", s.parameter_server.any()},
      {"offload.cpp", s.offload.any()},
      {"offload_state.cpp", s.offload.state()},
      {"offload_activations.cpp", s.offload.activations != Offload::kNone},
      {"quantized.cpp", s.zero_plus_plus.quantized_weights || s.zero_plus_plus.quantized_gradients},
  };
  std::vector<std::string> used;
  for (const auto& [file, uses] : files) {
    if (uses) used.emplace_back(file);
  }
  return used;
}

}  // namespace plait
