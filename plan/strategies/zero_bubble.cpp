// Backward in two passes, for the schedules that put the weights' gradients where a stage would
// wait (Qi et al. 2023, Zero Bubble Pipeline Parallelism, arXiv 2401.10241). B is what the stage
// before waits for, W the products that yield weights' gradients, with what only they need (gathers
// of their inputs from sequence shards). Gradients of norms, biases and the embedding come with B,
// as in the authors' change to Megatron-LM. What B leaves for W is kept until then.
#include <algorithm>

#include "plan/schedule.h"
#include "plan/strategies/draft.h"

namespace plait {
namespace {

bool writes(const Operand& o) { return o.use != Use::kRead; }

class Split {
 public:
  Split(Draft& d, Block& backward)
      : d_(d),
        backward_(backward),
        late_(backward.ops.size()),
        read_by_b_(d.tensors.size()),
        read_by_w_(d.tensors.size()) {}

  /// Leaves B in the block and returns W.
  Block run() {
    choose();
    Block b{backward_.name, {}}, w{backward_.name + ".weights", {}};
    for (std::size_t i = 0; i < late_.size(); ++i) {
      (late_[i] ? w : b).ops.push_back(std::move(backward_.ops[i]));
    }
    for (const Op& op : b.ops) keep_for_later(op);
    backward_ = std::move(b);
    return w;
  }

 private:
  /// From the last op on: weight gradients, and what nobody but ops of W reads.
  void choose() {
    for (std::size_t i = late_.size(); i-- > 0;) {
      const Op& op = backward_.ops[i];
      late_[i] = is_product(op, Pass::kWeightGrad) || serves_only_weight_grads(op);
      for (const Operand& o : op.operands) {
        if (o.use != Use::kWrite) (late_[i] ? read_by_w_ : read_by_b_)[o.tensor] = true;
      }
    }
  }
  bool serves_only_weight_grads(const Op& op) const {
    return std::all_of(op.operands.begin(), op.operands.end(), [this](const Operand& o) {
      if (!writes(o)) return true;
      return o.use == Use::kWrite && d_.tensors[o.tensor].scope == Scope::kCall &&
             read_by_w_[o.tensor] && !read_by_b_[o.tensor];
    });
  }
  void keep_for_later(const Op& op) {
    for (const Operand& o : op.operands) {
      Tensor& t = d_.tensors[o.tensor];
      if (!writes(o) || t.scope != Scope::kCall || !read_by_w_[o.tensor]) continue;
      t.scope = Scope::kLayerMicrobatch;
    }
  }

  Draft& d_;
  Block& backward_;
  std::vector<bool> late_, read_by_b_, read_by_w_;
};

}  // namespace

void split_backward(Draft& d) {
  if (!splits_backward(d.strategy.pipeline.schedule)) return;
  const auto split = [&](LayerPasses& layer) {
    if (d.strategy.pipeline.pairs_passes()) layer.backward_parts = {layer.backward};
    layer.weight_grads = Split(d, layer.backward).run();
  };
  for (LayerKind& k : d.layers) {
    split(k.kept);
    if (k.recomputed) split(*k.recomputed);
  }
  d.head_weight_grads = Split(d, d.head_backward).run();
  d.mtp.kept.weight_grads = Split(d, d.mtp.kept.backward).run();
  d.mtp_head.weight_grads = Split(d, d.mtp_head.backward).run();
}

}  // namespace plait
