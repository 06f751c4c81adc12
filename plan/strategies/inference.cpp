// The forward pass alone, as inference engines run it: weights that stay, possibly narrower than
// what products compute in, and at the end the choice of a token instead of a loss.
#include "plan/strategies/inference.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/quantity.h"
#include "plan/refusal.h"

namespace plait {
namespace {

/// vLLM casts to fp8 by the magnitudes of each token (--quantization fp8), to nvfp4 by those that
/// the checkpoint has of a layer's inputs (ModelOpt's input_scale).
Cast engine_cast(DType from, DType to) {
  Cast cast{0, from, to};
  cast.alone = to == DType::kFp8, cast.scaled = to == DType::kNvfp4;
  return cast;
}

/// Replaces the inputs of linear layers by narrow copies; each input is cast once to a type.
void cast_inputs(Draft& d, Block& block, const ServingPrecision& precision) {
  std::vector<Op> ops = std::move(block.ops);
  block.ops.clear();
  std::map<std::pair<TensorId, DType>, TensorId> copies;
  for (Op& op : ops) {
    MatMul* g = body_of<MatMul>(op);
    const auto& type =
        multiplies_by_experts(d, op) ? precision.expert_products : precision.products;
    if (g != nullptr && type && !is_router(d, op)) {
      g->in = *type;
      const TensorId from = op.operands[0].tensor;
      const std::pair copy(from, *type);
      if (!copies.contains(copy)) {
        Tensor t = d.tensors[from];
        t.name += "." + std::string(name_of(*type)), t.dtype = *type;
        copies[copy] = d.add(t);
        block.ops.push_back({Compute(engine_cast(d.tensors[from].dtype, *type)),
                             Stream::kCompute,
                             Phase::kForward,
                             {{from, Use::kRead, 0}, {copies[copy], Use::kWrite, 0}}});
      }
      op.operands[0].tensor = copies[copy];
      d.tensors[op.operands[1].tensor].dtype = *type;
    }
    block.ops.push_back(std::move(op));
  }
}

/// Of a layer's MLP, its shared experts or its experts.
bool is_down_projection(const Tensor& weight) {
  constexpr std::string_view kNames[] = {"layer.mlp_down.", "layer.shared_down.",
                                         "layer.experts_down."};
  return std::ranges::any_of(kNames, [&](auto name) { return weight.name.starts_with(name); });
}

/// Weights become rows of packed bytes; the products say what these stand for. Kinds of layers may
/// share a weight, experts behind attention and behind mixers with states.
class WeightPacking {
 public:
  WeightPacking(Draft& d, bool in_llama_cpp) : d_(d), in_llama_cpp_(in_llama_cpp) {}

  /// Throws InputError S060.
  void pack(Op& op, WeightFormat chosen, const char* field) {
    MatMul* g = body_of<MatMul>(op);
    if (g == nullptr || chosen == WeightFormat::kPlain) return;
    g->in_llama_cpp = in_llama_cpp_;
    const TensorId weight = op.operands[1].tensor;
    const auto found = packed_.find(weight);
    g->weights = found != packed_.end() ? found->second
                                        : packed_[weight] = made(d_.tensors[weight], chosen, field);
  }

 private:
  WeightFormat made(Tensor& w, WeightFormat chosen, const char* field) const {
    Dim& row = w.dims[static_cast<std::size_t>(w.rank - 1)];
    const WeightFormat format =
        format_of(w, row.global, is_down_projection(w) ? chosen : most_of(chosen), field);
    if (format == WeightFormat::kPlain) return format;
    // As many bytes to each rank. Those of experts may be divided over dp too (divide_experts).
    const bool of_experts = w.rank == 3 && is_down_projection(w);
    const AxisSet axes = of_experts ? AxisSet(Axis::kDp) | Axis::kTp : row.sharded;
    row.global =
        round_up(ceil_div(row.global * bytes_of_256(format), 256), d_.mesh().size_of(axes));
    w.dtype = DType::kInt8;
    return format;
  }
  static WeightFormat format_of(const Tensor& w, std::int64_t row, WeightFormat chosen,
                                const char* field) {
    if (row % block_of(chosen) == 0) return chosen;
    const WeightFormat other = fallback_of(chosen);
    if (other != chosen) return row % block_of(other) == 0 ? other : WeightFormat::kPlain;
    const bool of_llama_cpp = block_of(chosen) == 32;
    throw refusal(
        "S060",
        w.name + " has rows of " + std::to_string(row) + " weights, which " +
            std::string(name_of(chosen)) + " cannot pack",
        field, "rows of a multiple of " + std::to_string(block_of(chosen)) + " weights",
        of_llama_cpp ? "choose \"q4_k\" or another k-quant, of which llama.cpp leaves such rows in "
                       "16 bits; or \"int8\" or \"fp8_weights\""
                     : "choose \"int8\" or \"fp8_weights\", which pack rows of any length");
  }

  Draft& d_;
  bool in_llama_cpp_;
  std::map<TensorId, WeightFormat> packed_;
};

}  // namespace

void keep_forward(Draft& d) {
  for (LayerKind& kind : d.layers) kind.kept.backward.ops.clear();
  d.head_backward.ops.clear(), d.embed_backward.ops.clear();
  for (Tensor& t : d.tensors) {
    if (t.kind == TensorClass::kWeight) t.persistent = true;
    if (t.kind == TensorClass::kActivation && t.scope != Scope::kRole) t.scope = Scope::kCall;
  }
  d.tensors[d.x].scope = Scope::kLayerMicrobatch;
  d.tensors[d.labels].persistent = d.tensors[d.loss].persistent = false;
}

void apply_weight_formats(Draft& d, const ServingPrecision& precision) {
  WeightPacking packing(d, !precision.fused_experts);
  for (LayerKind& kind : d.layers) {
    Block& block = kind.kept.forward;
    cast_inputs(d, block, precision);
    for (Op& op : block.ops) {
      if (is_router(d, op)) continue;
      const bool experts = multiplies_by_experts(d, op);
      if (!experts) {
        packing.pack(op, precision.weights, "serving.weights");
        continue;
      }
      packing.pack(op, precision.experts, "serving.expert_weights");
      body_of<MatMul>(op)->served = precision.fused_experts;
    }
  }
  for (Op& op : d.head_forward.ops) packing.pack(op, precision.head, "serving.head_weights");
}

void sample_tokens(Draft& d, const Step& step) {
  std::vector<Op>& ops = d.head_forward.ops;
  const auto product =
      std::find_if(ops.begin(), ops.end(), [](Op& op) { return body_of<MatMul>(op) != nullptr; });
  PLAIT_CHECK(product != ops.end(), "a head without an output matrix");
  ops.erase(product + 1, ops.end());
  const TensorId all = ops.back().operands[0].tensor, logits = ops.back().operands[2].tensor;
  const Dim rows{step.sampled};
  Tensor last = d.tensors[all];
  last.name = "last_hidden", last.dims[0] = rows;
  const TensorId chosen = d.add(last);
  ops.back().operands[0].tensor = chosen;
  d.tensors[logits].dims[0] = rows;
  ops.insert(ops.end() - 1, {Compute(Cast{0, last.dtype, last.dtype}),
                             Stream::kCompute,
                             Phase::kForward,
                             {{all, Use::kRead, 0}, {chosen, Use::kWrite, 0}}});
}

void gather_logits(Draft& d) {
  std::vector<Op>& ops = d.head_forward.ops;
  const TensorId part = ops.back().operands[2].tensor;
  Tensor t = d.tensors[part];
  TensorId whole = part;
  const auto shared = [](const Dim& dim) { return dim.sharded.has(Axis::kTp); };
  if (std::ranges::any_of(t.dims, shared)) {
    t.name = "logits_gathered";
    for (Dim& dim : t.dims) dim.sharded = dim.sharded - AxisSet(Axis::kTp);
    whole = d.add(t);
    Collective c;
    c.kind = CollectiveKind::kAllGather, c.axes = Axis::kTp;
    c.dtype = t.dtype, c.elements = t.elements(d.mesh());
    ops.push_back(
        {c, Stream::kTp, Phase::kForward, {{part, Use::kRead, 0}, {whole, Use::kWrite, 0}}});
  }
  Tensor wide = t;
  wide.name = "logits_wide", wide.dtype = DType::kFp32;
  const TensorId scores = d.add(wide);
  ops.push_back({Compute(Cast{0, t.dtype, DType::kFp32}),
                 Stream::kCompute,
                 Phase::kForward,
                 {{whole, Use::kRead, 0}, {scores, Use::kWrite, 0}}});
  Tensor token = t;
  token.name = "next_tokens", token.dtype = DType::kInt64, token.dims[2] = Dim{1};
  token.kind = TensorClass::kBuffer;
  const CrossEntropy largest{CrossEntropy::Step::kRowMax, 0, 0, DType::kFp32};
  ops.push_back({Compute(largest),
                 Stream::kCompute,
                 Phase::kForward,
                 {{scores, Use::kRead, 0}, {d.add(token), Use::kWrite, 0}}});
}

}  // namespace plait
