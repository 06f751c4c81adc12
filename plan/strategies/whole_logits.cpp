// The loss of the whole vocabulary on every tensor-parallel rank: logits are gathered over tp and
// put side by side by a copy, since a rank's columns are not contiguous in a row; of the logits'
// gradients each rank takes its own columns, by another copy, and nothing travels (Scaling,
// core/nn/linear/column_parallel_linear.py with parallel_output false, all_concat and all_shard of
// linear/utils.py; ColwiseParallel with replicated outputs in PyTorch). In elements, per
// microbatch, with n ranks: an all_gather of s b V, where a loss that is split reduces 3 s b, and
// cross-entropy of s b V on a rank instead of s b V / n.
#include <utility>

#include "plan/strategies/draft.h"

namespace plait {
namespace {

class WholeLogits {
 public:
  explicit WholeLogits(Draft& d) : d_(d), tp_(d.mesh().present(kTensorAxes)) {}

  void forward(Block& block) {
    for (Op& op : std::exchange(block.ops, {})) {
      if (!is_product(op, Pass::kForward) || !has_own_columns(op.operands[1].tensor)) {
        block.ops.push_back(std::move(op));
        continue;
      }
      const Phase phase = op.phase;
      const TensorId whole = op.operands[2].tensor, own = share_of(whole), all = shares_of(own);
      op.operands[2].tensor = own;
      block.ops.push_back(std::move(op));
      block.ops.push_back(gather(own, all, phase));
      block.ops.push_back(copy(all, whole, phase));
    }
  }
  void backward(Block& block) {
    TensorId whole = kNoTensor, own = kNoTensor;
    for (Op& op : std::exchange(block.ops, {})) {
      if (reads_own_columns(op)) {
        const TensorId gradient = op.operands[0].tensor;
        if (std::exchange(whole, gradient) != gradient) {
          own = share_of(gradient);
          block.ops.push_back(copy(gradient, own, op.phase));
        }
        op.operands[0].tensor = own;
      }
      block.ops.push_back(std::move(op));
    }
  }

 private:
  bool has_own_columns(TensorId weight) const {
    return d_.tensors[weight].dims[0].sharded.has(Axis::kTp);
  }
  /// Of the logits' gradient: the output matrix's products, and the sum that its bias gets.
  bool reads_own_columns(const Op& op) const {
    if (is_product(op, Pass::kInputGrad)) return has_own_columns(op.operands[1].tensor);
    const bool sums = is_product(op, Pass::kWeightGrad) || body_of<BiasGrad>(op) != nullptr;
    return sums && has_own_columns(op.operands.back().tensor);
  }
  /// A rank's columns, (s, b, V / n).
  TensorId share_of(TensorId whole) {
    Tensor t = d_.tensors[whole];
    t.name += ".share", t.scope = Scope::kCall;
    t.dims[2].sharded = t.dims[2].sharded | tp_;
    return d_.add(std::move(t));
  }
  /// Those of all ranks, (n, s, b, V / n).
  TensorId shares_of(TensorId own) {
    Tensor t = d_.tensors[own];
    t.name += "s";
    t.dims = {Dim{d_.mesh().size_of(tp_)}, t.dims[0], t.dims[1], Dim{t.dims[2].local(d_.mesh())}};
    t.rank = 4;
    return d_.add(std::move(t));
  }
  Op gather(TensorId own, TensorId all, Phase phase) const {
    Collective c;
    c.kind = CollectiveKind::kAllGather, c.axes = tp_;
    c.dtype = d_.tensors[all].dtype, c.elements = d_.tensors[all].elements(d_.mesh());
    return {c, Stream::kTp, phase, {{own, Use::kRead, 0}, {all, Use::kWrite, 0}}};
  }
  Op copy(TensorId from, TensorId to, Phase phase) const {
    const DType type = d_.tensors[to].dtype;
    return {Compute(Cast{0, type, type}),
            Stream::kCompute,
            phase,
            {{from, Use::kRead, 0}, {to, Use::kWrite, 0}}};
  }

  Draft& d_;
  AxisSet tp_;
};

}  // namespace

void apply_whole_logits(Draft& d) {
  if (!d.strategy.tensor.gather_logits || d.mesh().size_of(kTensorAxes) == 1) return;
  WholeLogits whole(d);
  whole.forward(d.head_forward), whole.backward(d.head_backward);
  whole.forward(d.mtp_head.forward), whole.backward(d.mtp_head.backward);
}

}  // namespace plait
