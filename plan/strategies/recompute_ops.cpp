// Recomputation op by op: a layer keeps what some ops write, and backward first runs the others
// again, as far as it needs them. Which ops: those that are named (JAX's save_only_these_names, of
// which MaxText's remat_policy is made: MaxText/layers/decoders.py), or else those that
// torchtitan's selective checkpoints keep (option "op",
// torchtitan/parallelisms/parallelize_llama.py: _save_list and its policy; with experts
// torchtitan/models/llama4/infra/parallelize.py: _op_sac_save_list). Eager PyTorch keeps
// them whether or not backward reads them (torch/utils/checkpoint.py, note of CheckpointPolicy),
// the output of the layer's last product too, which torch.compile leaves out.
#include <algorithm>
#include <optional>

#include "core/error.h"
#include "plan/strategies/call_copies.h"

namespace plait {
namespace {

/// Of an op's output, section by section.
using KeptOps = std::vector<bool>;
bool whole(const KeptOps& kept) { return std::find(kept.begin(), kept.end(), false) == kept.end(); }
bool none(const KeptOps& kept) { return std::find(kept.begin(), kept.end(), true) == kept.end(); }

/// Which tensors hold what is kept: an op that changes one in its place cannot run again on it.
class KeptTensors {
 public:
  explicit KeptTensors(const Draft& d) : kept_(d.tensors.size()) {}
  void note(const Op& op, bool keep) {
    for (const Operand& o : op.operands) {
      if (o.use == Use::kWrite) kept_[o.tensor] = keep;
    }
  }
  bool has(TensorId tensor) const { return kept_[tensor]; }
  bool changed_by(const Op& op) const {
    return std::ranges::any_of(
        op.operands, [&](const Operand& o) { return o.use == Use::kUpdate && has(o.tensor); });
  }

 private:
  std::vector<bool> kept_;  // by tensor
};

/// Kept: what the products named write, with what is done to it in its place and, if it is a
/// partial sum, the sum.
class NamedPolicy {
 public:
  explicit NamedPolicy(const Draft& d) : d_(d), kept_(d) {}
  /// To be asked once for each op of the forward pass, in order.
  KeptOps operator()(const Op& op) {
    const bool keep = keeps(op);
    kept_.note(op, keep);
    return {keep};
  }

 private:
  bool keeps(const Op& op) const {
    if (body_of<Attention>(op) != nullptr) return named(KeptResult::kAttention);
    if (is_router(d_, op)) return false;
    if (body_of<MatMul>(op) != nullptr) return named(result_of(op.operands[1].tensor));
    if (const Collective* c = std::get_if<Collective>(&op.body)) {
      const bool sums =
          c->kind == CollectiveKind::kReduceScatter || c->kind == CollectiveKind::kAllReduce;
      return sums && kept_.has(op.operands[0].tensor);
    }
    return kept_.changed_by(op);
  }
  KeptResult result_of(TensorId weight) const {
    const std::string_view name = d_.tensors[weight].name;
    if (name.starts_with("layer.attention_out")) return KeptResult::kOut;
    for (const std::string mlp : {"layer.mlp", "layer.experts", "layer.shared"}) {
      if (name.starts_with(mlp + "_up")) return KeptResult::kUp;
      if (name.starts_with(mlp + "_down")) return KeptResult::kDown;
    }
    return KeptResult::kQkv;
  }
  bool named(KeptResult result) const {
    const std::vector<KeptResult>& keep = d_.strategy.recompute.keep;
    return std::ranges::find(keep, result) != keep.end();
  }

  const Draft& d_;
  KeptTensors kept_;
};

/// Kept: what attention, reduce_scatter, all_to_all and every other product write, beginning with
/// the first. The router's and the grouped products of experts are neither counted nor kept.
/// torchtitan has a matrix for each of query, key and value, and of gate and up, so that sections
/// of a packed product count one by one. Of a partial sum that is added up in its place, which
/// torchtitan's tensor parallelism has not, the sum is kept.
class TorchtitanPolicy {
 public:
  explicit TorchtitanPolicy(const Draft& d) : d_(d), kept_(d) {}
  /// To be asked once for each op of the forward pass, in order.
  KeptOps operator()(const Op& op) {
    KeptOps keep = kept_.changed_by(op) ? KeptOps{true} : of_kind(op);
    kept_.note(op, whole(keep));
    return keep;
  }

 private:
  KeptOps of_kind(const Op& op) {
    if (const Collective* c = std::get_if<Collective>(&op.body)) {
      return {c->kind == CollectiveKind::kReduceScatter || c->kind == CollectiveKind::kAllToAll};
    }
    if (body_of<MatMul>(op) == nullptr) return {body_of<Attention>(op) != nullptr};
    if (is_router(d_, op) || multiplies_by_experts(d_, op)) return {false};
    KeptOps out;
    const auto& sections = d_.tensors[op.operands[2].tensor].dims[2].sections;
    for (std::size_t i = 0; i < sections.size() && (i == 0 || sections[i] > 0); ++i) {
      out.push_back(++products_ % 2 == 1);
    }
    return out;
  }

  const Draft& d_;
  KeptTensors kept_;
  int products_ = 0;
};

class OpRecompute {
 public:
  OpRecompute(Draft& d, const LayerPasses& layer)
      : d_(d),
        layer_(layer),
        made_(d.tensors.size()),
        needed_(d.tensors.size()),
        again_(layer.forward.ops.size()),
        columns_(layer.forward.ops.size()) {}

  LayerPasses run() {
    choose();
    LayerPasses out;
    out.forward = forward();
    out.backward = backward();
    return out;
  }

 private:
  static bool writes(const Operand& o) { return o.use != Use::kRead; }

  /// From the last op of forward to the first: what is needed later is kept or computed again,
  /// which in turn needs what that op reads.
  void choose() {
    const std::vector<KeptOps> kept =
        d_.strategy.recompute.keep.empty() ? all(TorchtitanPolicy(d_)) : all(NamedPolicy(d_));
    for (const Op& op : layer_.forward.ops) {
      for (const Operand& o : op.operands) {
        if (writes(o) && o.tensor != d_.x) made_[o.tensor] = true;
      }
    }
    for (const Op& op : layer_.backward.ops) need(op);
    for (std::size_t i = again_.size(); i-- > 0;) {
      const Op& op = layer_.forward.ops[i];
      const bool wanted =
          std::any_of(op.operands.begin(), op.operands.end(),
                      [&](const Operand& o) { return writes(o) && needed_[o.tensor]; });
      if (!wanted) {
        if (d_.strategy.recompute.unread && whole(kept[i]) && body_of<MatMul>(op) != nullptr) {
          keep_unread(op);
        }
        continue;
      }
      again_[i] = !whole(kept[i]);
      if (!again_[i]) {
        for (const Operand& o : op.operands) keep(o);
        continue;
      }
      if (!none(kept[i])) columns_[i] = columns(op.operands[2].tensor, kept[i]);
      need(op);
    }
  }
  template <typename Policy>
  std::vector<KeptOps> all(Policy policy) const {
    std::vector<KeptOps> out;
    for (const Op& op : layer_.forward.ops) out.push_back(policy(op));
    return out;
  }
  void need(const Op& op) {
    for (const Operand& o : op.operands) {
      if (o.use != Use::kWrite && made_[o.tensor]) needed_[o.tensor] = true;
    }
  }
  void keep(const Operand& o) {
    if (!writes(o) || !needed_[o.tensor] || kept_.contains(o.tensor)) return;
    Tensor t = d_.tensors[o.tensor];
    kept_[o.tensor] = o.tensor;
    if (t.scope != Scope::kCall) return;
    t.name += ".kept", t.scope = Scope::kLayerMicrobatch;
    kept_[o.tensor] = d_.add(t);
  }
  /// A product's output that nobody reads behind the layer's forward pass, until its backward pass.
  void keep_unread(const Op& product) {
    const TensorId out = product.operands[2].tensor, weight = product.operands[1].tensor;
    needed_[out] = true;
    keep(product.operands[2]);
    unread_[weight] = kept_[out];
  }
  /// The kept sections of a packed product; the others have no columns.
  TensorId columns(TensorId packed, const KeptOps& kept) {
    Tensor t = d_.tensors[packed];
    t.name += ".kept", t.scope = Scope::kLayerMicrobatch;
    Dim& dim = t.dims[2];
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) continue;
      dim.global -= dim.sections[i], dim.sections[i] = 0;
    }
    return d_.add(t);
  }

  Operand redirected(const Operand& o, CallCopies& copies) const {
    const bool output = o.tensor == d_.x && writes(o);
    if (!output && (o.tensor >= made_.size() || !made_[o.tensor])) return o;
    const auto kept = kept_.find(o.tensor);
    return {kept != kept_.end() ? kept->second : copies.of(o.tensor), o.use, 0};
  }
  Block forward() {
    CallCopies forgotten(d_);
    Block out{layer_.forward.name + ".ops", layer_.forward.ops};
    for (std::size_t i = 0; i < out.ops.size(); ++i) {
      for (Operand& o : out.ops[i].operands) {
        if (o.tensor != d_.x) o = redirected(o, forgotten);
      }
      if (columns_[i]) out.ops[i].operands.push_back({*columns_[i], Use::kWrite, 0});
    }
    return out;
  }
  Block backward() {
    CallCopies again(d_);
    Block out{layer_.backward.name + ".ops", {}};
    for (std::size_t i = 0; i < again_.size(); ++i) {
      if (!again_[i]) continue;
      Op op = layer_.forward.ops[i];
      op.phase = Phase::kRecompute;
      for (Operand& o : op.operands) o = redirected(o, again);
      if (columns_[i]) op.operands.push_back({*columns_[i], Use::kRead, 0});
      out.ops.push_back(std::move(op));
    }
    for (Op op : layer_.backward.ops) {
      for (Operand& o : op.operands) o = redirected(o, again);
      if (is_product(op, Pass::kInputGrad)) {
        const auto unread = unread_.find(op.operands[1].tensor);
        if (unread != unread_.end()) op.operands.push_back({unread->second, Use::kRead, 0});
      }
      out.ops.push_back(std::move(op));
    }
    return out;
  }

  Draft& d_;
  const LayerPasses& layer_;
  std::vector<bool> made_, needed_;  // by tensor: written forward; and read by what runs later
  std::map<TensorId, TensorId> kept_;
  std::map<TensorId, TensorId> unread_;           // by the product's weight
  std::vector<bool> again_;                       // by op of the forward pass
  std::vector<std::optional<TensorId>> columns_;  // kept sections of its product
};

}  // namespace

LayerPasses recompute_ops(Draft& d, const LayerPasses& layer) {
  return OpRecompute(d, layer).run();
}

}  // namespace plait
