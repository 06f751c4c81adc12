// Linear layers in fp8, as NVIDIA's Transformer Engine runs them (Micikevicius et al. 2022, FP8
// Formats for Deep Learning, arXiv 2209.05433; Transformer Engine's user guide, "Using FP8"): the
// products of the four linear layers of a transformer layer read fp8 and write the weights' type,
// forward, for the gradient of the input and for that of the weight, as does the projection of a
// module that predicts a further token. Embedding, attention and the output matrix stay as they
// are.
//
// A cast per linear layer and pass, which finds the largest magnitude on its way, makes the fp8
// copies: of the input, which is kept for the weight gradient instead of the input itself, and of
// the output's gradient. Tensor parallelism with sequence parallelism gathers these copies. Weights
// are cast once a step, before their layer's first forward pass, into two copies, since tensor
// cores want them transposed for the input's gradient; with gathered weights (zero_stage 3)
// wherever they are used, in one.
#include <algorithm>
#include <map>

#include "plan/strategies/draft.h"

namespace plait {
namespace {

class Fp8Rewrite {
 public:
  Fp8Rewrite(Draft& d, LayerKind& layer, std::string name)
      : d_(d), layer_(layer), name_(std::move(name)), once_a_step_(d.strategy.zero_stage < 3) {}

  void run() {
    if (once_a_step_) layer_.once.name = name_ + ".cast_weights";
    rewrite(layer_.kept.forward);
    rewrite(layer_.kept.backward);
  }

 private:
  void rewrite(Block& block) {
    std::vector<Op> ops = std::move(block.ops);
    block.ops.clear();
    block_ = &block, local_.clear();
    for (Op& op : ops) {
      // Transformer Engine knows the linear layers alone, not the router.
      MatMul* g = body_of<MatMul>(op);
      if (g != nullptr && !is_router(d_, op)) read_fp8(*g, op);
      block.ops.push_back(std::move(op));
    }
  }
  /// {x, w, y}, {dy, w, dx} and {dy, x, dw}: the first two operands are read in fp8.
  void read_fp8(MatMul& g, Op& op) {
    g.in = DType::kFp8;
    Operand& first = op.operands[0];
    Operand& second = op.operands[1];
    if (g.pass == Pass::kForward) {
      first = saved_[first.tensor] = narrowed(first, Scope::kLayerMicrobatch, op.phase);
    } else {
      first = narrowed(first, Scope::kCall, op.phase);
    }
    second = g.pass == Pass::kWeightGrad ? saved_.at(second.tensor) : weight(second, g.pass, op);
  }
  Operand narrowed(const Operand& from, Scope scope, Phase phase) {
    const auto key = std::pair(from.tensor, from.shift);
    const auto found = local_.find(key);
    if (found != local_.end()) return found->second;
    const TensorId copy = copy_of(from.tensor, ".fp8", scope);
    block_->ops.push_back(cast(from, {copy}, phase));
    return local_[key] = {copy, Use::kRead, 0};
  }
  Operand weight(const Operand& w, Pass pass, const Op& op) {
    if (!once_a_step_) return narrowed(w, Scope::kCall, op.phase);
    auto found = weights_.find(w.tensor);
    if (found == weights_.end()) {
      const WeightCopies made = {copy_of(w.tensor, ".fp8", Scope::kLayer),
                                 copy_of(w.tensor, ".fp8_transposed", Scope::kLayer)};
      layer_.once.ops.push_back(cast(w, {made.plain, made.transposed}, Phase::kForward));
      found = weights_.emplace(w.tensor, made).first;
    }
    return {pass == Pass::kForward ? found->second.plain : found->second.transposed, Use::kRead, 0};
  }
  TensorId copy_of(TensorId of, const char* suffix, Scope scope) {
    Tensor t = d_.tensors[of];
    t.name += suffix, t.dtype = DType::kFp8, t.scope = scope;
    return d_.add(t);
  }
  Op cast(const Operand& from, std::vector<TensorId> to, Phase phase) {
    const Cast body{0, d_.tensors[from.tensor].dtype, DType::kFp8};
    std::vector<Operand> operands = {from};
    for (TensorId t : to) operands.push_back({t, Use::kWrite, 0});
    return {Compute(body), Stream::kCompute, phase, std::move(operands)};
  }

  struct WeightCopies {
    TensorId plain, transposed;
  };
  Draft& d_;
  LayerKind& layer_;
  std::string name_;
  bool once_a_step_;
  Block* block_ = nullptr;
  std::map<std::pair<TensorId, std::int16_t>, Operand> local_;  // casts of this block
  std::map<TensorId, Operand> saved_;  // inputs of linear layers, kept in fp8
  std::map<TensorId, WeightCopies> weights_;
};

}  // namespace

void apply_fp8(Draft& d) {
  if (d.workload.precision.products() != DType::kFp8) return;
  for (LayerKind& layer : d.layers) Fp8Rewrite(d, layer, "layer").run();
  if (d.model.mtp_layers > 0) Fp8Rewrite(d, d.mtp, "mtp").run();
}

}  // namespace plait
