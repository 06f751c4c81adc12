// Weights of linear layers that are kept, or kept and gathered, as their products read them, in 8
// bits (Precision::narrow_weights). Without it narrow copies are cast from weights that a rank has,
// or has gathered, in 16 bits (narrow.cpp).
//
// Gathered, zero_stage 0 to 2, Megatron-LM's --fp8-param-gather: parameters of linear layers are
// Transformer Engine's Float8Tensors, in buffers of their own (megatron/core/distributed/
// param_and_grad_buffer.py: of uint8). Behind Adam each rank finds the largest magnitudes of its
// share of the master, one message has those of all weights, and the share is cast into the buffer,
// in place (transformer_engine/pytorch/tensor/utils.py, cast_master_weights_to_fp8, which
// megatron/core/fp8_utils.py, quantize_param_shard, calls). Of what is gathered products want a
// transpose, which is made once a step (transformer_engine/pytorch/tensor/float8_tensor.py,
// update_usage). Bytes per parameter on each of n ranks, gradients and state as in units.cpp:
//   stage 0: 4 + 12 + 1      stage 1: 4 + 12/n + 1     stage 2: 16/n + 1     and 1 of the transpose
// instead of 2 and 2 of the narrow copies.
//
// Kept, zero_stage 0 to 2, the same with mxfp8: blocks lie along rows or along columns, and neither
// form can be made of the other. When a step begins the share of the master is cast to the weights'
// type and gathered so, both forms are made of what has come, layer by layer, and that goes then
// (_post_param_sync in param_and_grad_buffer.py, with reuse_grad_buf_for_mxfp8_param_ag).
//
// Gathered, zero_stage 3, torchao's enable_fsdp_float8_all_gather: the shard of the master is cast
// in front of each gather (torchao/float8/fsdp_utils.py, WeightWithDynamicFloat8CastTensor.
// fsdp_pre_all_gather), by magnitudes that are found there, with a message for each weight, or,
// with FsdpOptions::early_scales, behind the optimizer, with one message for all
// (precompute_float8_dynamic_scale_for_fsdp). A transpose is made wherever it is used.
//
// Frozen weights, beside adapters (lora.cpp), have no master that they could be cast from: they are
// narrow when training begins, and FSDP gathers shards in 8 bits, without messages for magnitudes.
// Bytes per frozen parameter: 1, or 2 with both forms of mxfp8; stage 3: 1/n.
//
// Delayed scaling casts by the magnitudes of steps before and finds new ones on the way, so that
// the reading by itself is current scaling's; the message is that of both.
#include <algorithm>
#include <string>

#include "plan/refusal.h"
#include "plan/strategies/data_parallel.h"
#include "plan/unit_names.h"

namespace plait {
namespace {

void require_fp8(const Precision& p) {
  if (p.matmul != DType::kFp8) {
    throw refusal("S137", "weights are kept narrow in fp8 alone",
                  "workload.precision.narrow_weights", "workload.precision.matmul = \"fp8\"",
                  "remove workload.precision.narrow_weights: weights are gathered in 16 bits and "
                  "cast behind the gather",
                  {"workload.precision.matmul"});
  }
  if (p.plain_first + p.plain_last > 0) {
    throw refusal("S137", "layers that are not narrowed share their weights' buffers with others",
                  "workload.precision.narrow_weights",
                  "workload.precision.plain_first and plain_last 0",
                  "remove workload.precision.narrow_weights, or plain_first and plain_last",
                  {"workload.precision.plain_first", "workload.precision.plain_last"});
  }
}

void require_place(const Strategy& s) {
  const char* const other = s.parameter_server.any()                   ? "parameter_server"
                            : s.offload.state()                        ? "offload"
                            : s.keep_weight_shard && s.zero_stage == 3 ? "keep_weight_shard"
                            : s.zero_plus_plus.secondary_shard || s.zero_plus_plus.quantized_weights
                                ? "zero_plus_plus"
                                : nullptr;
  if (other == nullptr) return;
  const std::string path = "strategy." + std::string(other);
  throw refusal("S138", "narrow weights are made of a master shard on the device, and nothing else",
                "workload.precision.narrow_weights", "no " + path,
                "remove " + path + ", or workload.precision.narrow_weights", {path});
}

/// The unit of a unit's narrow weights, by its name: experts have no others.
UnitKind matrices_of(UnitKind kind) {
  const std::string name(kUnitNames[static_cast<std::size_t>(kind)]);
  const auto* const at = std::ranges::find(kUnitNames, name + "_matrices");
  return at == kUnitNames.end() ? kind
                                : kAllUnits[static_cast<std::size_t>(at - kUnitNames.begin())];
}

/// Experts are scaled one by one.
std::int64_t scales_of(const Tensor& weight, const Mesh& mesh) {
  return weight.rank == 3 ? weight.dims[0].local(mesh) : 1;
}

}  // namespace

bool scales_early(const Draft& d) { return d.strategy.fsdp.early_scales; }

void part_narrow_weights(Draft& d) {
  const Precision& p = d.workload.precision;
  if (!p.keeps_narrow()) return;
  require_fp8(p);
  require_place(d.strategy);
  if (!p.gathers_narrow() && d.strategy.zero_stage == 3) return;  // which keeps none anyhow
  for (const UnitKind kind : kAllUnits) {
    Unit& whole = d.unit(kind);
    const bool frozen = !whole.trained();
    std::vector<TensorId> weights, gradients;
    for (std::size_t i = 0; i < whole.weights.size(); ++i) {
      const bool narrow = std::ranges::find(d.narrowed, whole.weights[i]) != d.narrowed.end();
      Unit& part = narrow ? d.unit(matrices_of(kind)) : whole;
      part.narrow = narrow && (p.gathers_narrow() || frozen);
      part.passes = narrow && !part.narrow;
      const bool stays = &part == &whole;
      (stays ? weights : part.weights).push_back(whole.weights[i]);
      if (!frozen) (stays ? gradients : part.gradients).push_back(whole.gradients[i]);
    }
    whole.weights = std::move(weights), whole.gradients = std::move(gradients);
  }
}

void add_magnitudes(Draft& d, Unit& unit) {
  Tensor t = d.tensors[unit.weight_buffer];
  std::int64_t n = 0;
  for (TensorId w : unit.weights) n += scales_of(d.tensors[w], d.mesh());
  t.name.replace(t.name.rfind('.'), std::string::npos, ".magnitudes");
  t.dims[0] = Dim{n}, t.dtype = DType::kFp32, t.kind = TensorClass::kBuffer;
  const bool of_gather = unit.zero_stage == 3 && !scales_early(d);
  if (of_gather) t.scope = Scope::kCall;
  t.persistent = unit.zero_stage == 3 && !of_gather;  // for the gathers of the next step
  unit.magnitudes = d.add(t);
}

Op find_magnitudes(const Unit& unit, Stream stream, Phase phase) {
  return {Compute(Amax{}),
          stream,
          phase,
          {{unit.master, Use::kRead, 0}, {unit.magnitudes, Use::kWrite, 0}}};
}

void meet_one_by_one(const Draft& d, Block& block, const Unit& unit) {
  std::int64_t first = 0;
  for (TensorId w : unit.weights) {
    Collective c;
    c.axes = unit.shard_axes, c.reduction = Reduction::kMax, c.dtype = DType::kFp32;
    c.first = first, c.elements = scales_of(d.tensors[w], d.mesh());
    first += c.elements;
    block.ops.push_back(
        {c, Stream::kParamGather, Phase::kParamGather, {{unit.magnitudes, Use::kUpdate, 0}}});
  }
}

Op cast_master(const Draft& d, const Unit& unit, Operand into, Stream stream, Phase phase) {
  Cast body{0, d.workload.precision.master, d.tensors[into.tensor].dtype};
  body.scaled = unit.narrow;
  std::vector<Operand> operands = {{unit.master, Use::kRead, 0}, into};
  if (unit.narrow) operands.push_back({unit.magnitudes, Use::kRead, 0});
  return {Compute(body), stream, phase, std::move(operands)};
}

}  // namespace plait
