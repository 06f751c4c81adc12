// Backward in two passes, for the schedules that put the weights' gradients where a stage would
// wait (Qi et al. 2023, Zero Bubble Pipeline Parallelism, arXiv 2401.10241). B is what the stage
// before waits for, W the products that yield weights' gradients, with what only they need (gathers
// of their inputs from sequence shards). What is computed again is so in B, as by a checkpoint that
// a gradient's arrival opens. Gradients of norms, biases and the embedding come with B, as in the
// authors' change to Megatron-LM. What B leaves for W is kept until then.
//
// Where gradients are sharded each microbatch has a buffer for those of a whole unit, which W
// fills. What B has of the unit, vectors, it writes aside, and W copies that into the buffer, which
// so begins with W: else one would stand for each microbatch between its B and its W.
#include <algorithm>
#include <map>
#include <set>

#include "plan/schedule.h"
#include "plan/strategies/draft.h"

namespace plait {
namespace {

bool writes(const Operand& o) { return o.use != Use::kRead; }

TensorId storage_of(const Draft& d, TensorId t) {
  return d.tensors[t].is_view() ? d.tensors[t].storage : t;
}

/// Each microbatch has its own.
bool is_fresh(const Tensor& gradient) {
  return gradient.kind == TensorClass::kGradient &&
         (gradient.scope == Scope::kMicrobatch || gradient.scope == Scope::kLayerMicrobatch);
}

/// Buffers of fresh gradients that some W writes.
std::set<TensorId> filled_late(Draft& d) {
  std::set<TensorId> out;
  d.for_each_block([&](const Block& block) {
    for (const Op& op : block.ops) {
      if (!is_product(op, Pass::kWeightGrad)) continue;
      for (const Operand& o : op.operands) {
        const Tensor& t = d.tensors[o.tensor];
        if (writes(o) && t.is_view() && is_fresh(t)) out.insert(t.storage);
      }
    }
  });
  return out;
}

/// Gradients that B writes aside for W.
class Aside {
 public:
  Aside(Draft& d, const std::set<TensorId>& buffers) : d_(d), buffers_(buffers) {}

  void move(Block& b, Block& w) {
    if (w.ops.empty()) return;
    std::set<TensorId> begun;  // by B all the same: zeros that rows are added to
    for (const Op& op : b.ops) {
      if (body_of<Fill>(op) == nullptr) continue;
      for (const Operand& o : op.operands) begun.insert(storage_of(d_, o.tensor));
    }
    std::vector<Op> copies;
    for (Op& op : b.ops) {
      for (Operand& o : op.operands) {
        if (!writes(o) || !buffers_.contains(storage_of(d_, o.tensor))) continue;
        if (begun.contains(storage_of(d_, o.tensor))) continue;
        const bool known = aside_.contains(o.tensor);
        if (!known && o.use == Use::kUpdate) continue;  // of what another block has written
        const TensorId gradient = o.tensor;
        o.tensor = aside(gradient);
        if (!known) copies.push_back(copy(o.tensor, gradient));
      }
    }
    w.ops.insert(w.ops.begin(), copies.begin(), copies.end());
  }

 private:
  TensorId aside(TensorId gradient) {
    const auto found = aside_.find(gradient);
    if (found != aside_.end()) return found->second;
    const Tensor& like = d_.tensors[gradient];
    Tensor t;
    t.name = like.name + ".aside";
    t.dims = like.dims, t.rank = like.rank, t.dtype = like.dtype, t.scope = like.scope;
    t.kind = TensorClass::kBuffer;
    return aside_[gradient] = d_.add(t);
  }
  Op copy(TensorId from, TensorId to) const {
    const Cast body{0, d_.tensors[from].dtype, d_.tensors[to].dtype};
    return {Compute(body),
            Stream::kCompute,
            Phase::kWeightGrad,
            {{from, Use::kRead, 0}, {to, Use::kWrite, 0}}};
  }

  Draft& d_;
  const std::set<TensorId>& buffers_;
  std::map<TensorId, TensorId> aside_;
};

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
      late_[i] = is_product(op, Pass::kWeightGrad) || serves_only_weight_grads(op) ||
                 begins_weight_grads(op);
      for (const Operand& o : op.operands) {
        if (o.use != Use::kWrite) (late_[i] ? read_by_w_ : read_by_b_)[o.tensor] = true;
      }
    }
  }
  bool serves_only_weight_grads(const Op& op) const {
    // A checkpoint computes again all that it left out, once a gradient arrives.
    if (op.phase == Phase::kRecompute) return false;
    return std::all_of(op.operands.begin(), op.operands.end(), [this](const Operand& o) {
      if (!writes(o)) return true;
      return o.use == Use::kWrite && d_.tensors[o.tensor].scope == Scope::kCall &&
             read_by_w_[o.tensor] && !read_by_b_[o.tensor];
    });
  }
  /// Zeros that products of W alone are added to: of a table that is the output matrix too, where
  /// no module behind the head looks up tokens.
  bool begins_weight_grads(const Op& op) const {
    if (body_of<Fill>(op) == nullptr || d_.model.mtp_layers > 0) return false;
    bool of_w = false;
    for (std::size_t i = 0; i < late_.size(); ++i) {
      const bool writes_too = &backward_.ops[i] != &op && writes_storage(backward_.ops[i], op);
      if (writes_too && !late_[i]) return false;
      of_w = of_w || writes_too;
    }
    return of_w;
  }
  bool writes_storage(const Op& op, const Op& fill) const {
    return std::ranges::any_of(op.operands, [&](const Operand& o) {
      return writes(o) && std::ranges::any_of(fill.operands, [&](const Operand& f) {
               return storage_of(d_, f.tensor) == storage_of(d_, o.tensor);
             });
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
  const std::set<TensorId> late = filled_late(d);
  const auto weight_grads = [&](Block& backward) {
    Block w = Split(d, backward).run();
    Aside(d, late).move(backward, w);
    return w;
  };
  const auto split = [&](LayerPasses& layer) {
    if (d.strategy.pipeline.pairs_passes()) layer.backward_parts = {layer.backward};
    layer.weight_grads = weight_grads(layer.backward);
  };
  for (LayerKind& k : d.layers) {
    split(k.kept);
    if (k.recomputed) split(*k.recomputed);
  }
  d.head_weight_grads = weight_grads(d.head_backward);
  d.mtp.kept.weight_grads = weight_grads(d.mtp.kept.backward);
  d.mtp_head.weight_grads = weight_grads(d.mtp_head.backward);
}

}  // namespace plait
