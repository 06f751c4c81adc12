// Expert parallelism (Lepikhin et al. 2020, GShard, arXiv 2006.16668, section 3.2; inside of data
// parallelism as in Megatron-LM): ranks along ep work on different sequences and hold all weights
// alike but the experts, of which each has E / ep. Tokens in their slots travel to the ranks of
// their experts by an all_to_all, and the results back by a second one, forward and again backward:
// four times (ep - 1) / ep of k s b h elements per layer and microbatch, without dropped tokens and
// empty slots.
//
// Strategy::experts.axes may name the axes of context and tp too (MoE Parallel Folding, Liu et al.
// 2025, arXiv 2504.14960), whose ranks hold different tokens of a sequence then. Where experts are
// split over tp, or over the E of its ranks that Strategy::experts.tp says, and tokens are
// sequence-parallel, these gather the slots of all their tokens behind the first all_to_all and
// reduce and scatter the results before the second (Megatron-LM, MoEAlltoAllTokenDispatcher):
//
//   tp = 4, E = 2    rank 0      rank 1      rank 2      rank 3
//   tokens             A           B           C           D
//   experts          e0 left     e0 right    e1 left     e1 right
//   all_to_all       between 0 and 2, and between 1 and 3: ranks of the same part
//   all_gather       between 0 and 1, and between 2 and 3: each multiplies the slots of A to D
//
// Slots lie by expert, (E, slots, h), where tokens are, and by expert and sender, (E / ep, ep
// slots, h), where experts are; between the two they are put in order by a copy, as Megatron-LM
// does. Strategy::experts.dispatch may gather all ranks' tokens instead: expert_gather.cpp.
#include <algorithm>
#include <map>
#include <string>

#include "plan/refusal.h"
#include "plan/strategies/expert_parallel.h"

namespace plait {
namespace {

const Compute* compute_of(const Op& op) { return std::get_if<Compute>(&op.body); }

/// Which operand holds slots, written for the experts or read from them.
std::optional<std::size_t> slots_of(const Op& op, bool written) {
  const Compute* c = compute_of(op);
  if (c == nullptr) return std::nullopt;
  if (const Dispatch* x = std::get_if<Dispatch>(c)) {
    if ((x->pass == Pass::kForward) == written) return written ? 2 : 0;
  }
  if (const Combine* x = std::get_if<Combine>(c)) {
    const std::size_t filled = x->weighted ? 4 : 2;
    if ((x->pass != Pass::kForward) == written) return written ? filled : 0;
  }
  return std::nullopt;
}

class ExpertRewrite {
 public:
  /// `dealt`: along which ranks have other experts; `split`: other parts of one, and other tokens.
  ExpertRewrite(Draft& d, AxisSet dealt, AxisSet split)
      : d_(d),
        axes_(dealt),
        split_(split),
        ranks_(d.mesh().size_of(dealt)),
        tp_(d.mesh().size_of(split)),
        own_(d.model.experts / ranks_),
        at_experts_(d, dealt, ranks_ * tp_) {}

  void run(LayerPasses& layer) {
    rewrite(layer.forward);
    rewrite(layer.backward);
  }

 private:
  void rewrite(Block& block) {
    std::vector<Op> ops = std::move(block.ops);
    block.ops.clear();
    block_ = &block;
    const std::map<TensorId, TensorId> returned = results(ops);
    for (Op& op : ops) {
      for (Operand& o : op.operands) {
        const auto found = returned.find(o.tensor);
        if (found != returned.end() && o.use == Use::kWrite) o.tensor = found->second;
      }
      if (const auto slots = slots_of(op, false)) {
        const TensorId here = op.operands[*slots].tensor;
        bring_back(returned.at(here), here, op.phase);
      }
      at_experts_.follow(op);
      const auto slots = slots_of(op, true);
      const TensorId there = slots ? op.operands[*slots].tensor : kNoTensor;
      const TensorId here = slots ? copy_of(there, ".sent", Scope::kCall) : kNoTensor;
      if (slots) op.operands[*slots].tensor = here;
      const Phase phase = op.phase;
      block_->ops.push_back(std::move(op));
      if (!slots) continue;
      at_experts_.add(there);
      send(here, there, phase);
    }
  }
  /// What experts write for tokens, and a tensor of its own for it where the experts are.
  std::map<TensorId, TensorId> results(const std::vector<Op>& ops) {
    std::map<TensorId, TensorId> out;
    for (const Op& op : ops) {
      const auto slots = slots_of(op, false);
      if (!slots) continue;
      const TensorId t = op.operands[*slots].tensor;
      out[t] = copy_of(t, ".at_experts", Scope::kCall);
    }
    return out;
  }

  // ---- the way there and back
  void send(TensorId here, TensorId there, Phase phase) {
    const bool ordered = own_ == 1;  // one expert: its slots already lie by sender
    TensorId at = here;
    if (ranks_ > 1) {
      const bool last = ordered && tp_ == 1;
      const TensorId to = last ? there : by_rank(here, ".received", ranks_, true);
      exchange(CollectiveKind::kAllToAll, axes_, at, to, here, phase);
      at = to;
    }
    if (tp_ > 1) {
      const TensorId to = ordered ? there : by_rank(here, ".gathered", ranks_ * tp_, false);
      exchange(CollectiveKind::kAllGather, split_, at, to, to, phase);
      at = to;
    }
    if (at != there) copy(at, there, phase);
  }
  void bring_back(TensorId there, TensorId here, Phase phase) {
    TensorId at = there;
    if (own_ > 1) {
      at = by_rank(here, ".by_rank", ranks_ * tp_, false);
      copy(there, at, phase);
    }
    if (tp_ > 1) {
      const TensorId to = ranks_ > 1 ? by_rank(here, ".scattered", ranks_, true) : here;
      exchange(CollectiveKind::kReduceScatter, split_, at, to, at, phase);
      at = to;
    }
    if (ranks_ > 1) exchange(CollectiveKind::kAllToAll, axes_, at, here, here, phase);
  }
  TensorId copy_of(TensorId of, const char* suffix, Scope scope) {
    Tensor t = d_.tensors[of];
    t.name += suffix, t.scope = scope;
    return d_.add(t);
  }
  /// Slots as they travel: (senders, own experts, slots, h); `own`: of this rank's tokens, else of
  /// all ranks that split an expert.
  TensorId by_rank(TensorId of, const char* suffix, std::int64_t senders, bool own) {
    const TensorId id = copy_of(of, suffix, Scope::kCall);
    Tensor& t = d_.tensors[id];
    const Dim rows = own ? t.dims[1] : Dim{t.dims[1].local(d_.mesh())};
    t.dims = {Dim{senders}, Dim{own_}, rows, t.dims[2]};
    t.rank = 4;
    return id;
  }
  void copy(TensorId from, TensorId to, Phase phase) {
    const DType type = d_.tensors[to].dtype;
    Cast body{0, type, type};
    body.chunks = ranks_ * tp_ * own_;
    block_->ops.push_back(
        {Compute(body), Stream::kCompute, phase, {{from, Use::kRead, 0}, {to, Use::kWrite, 0}}});
  }
  void exchange(CollectiveKind kind, AxisSet axes, TensorId from, TensorId to, TensorId whole,
                Phase phase) {
    Collective c;
    c.kind = kind, c.axes = axes;
    c.dtype = d_.tensors[whole].dtype, c.elements = d_.tensors[whole].elements(d_.mesh());
    const bool to_experts = kind == CollectiveKind::kAllToAll;
    const Tensor& t = d_.tensors[whole];
    const std::int64_t width = t.dims[static_cast<std::size_t>(t.rank - 1)].global;
    if (to_experts) c.tokens = {d_.model.experts_per_token, d_.model.experts, width};
    const Stream stream = to_experts ? Stream::kEp : Stream::kTp;
    block_->ops.push_back({c, stream, phase, {{from, Use::kRead, 0}, {to, Use::kWrite, 0}}});
  }

  Draft& d_;
  AxisSet axes_, split_;
  std::int64_t ranks_, tp_, own_;  // along axes_; that gather tokens; experts of a rank
  AtExperts at_experts_;
  Block* block_ = nullptr;
};

void shard_experts(Draft& d, AxisSet dealt) {
  const Unit& unit = d.unit(UnitKind::kExperts);
  for (const auto* tensors : {&unit.weights, &unit.gradients}) {
    for (TensorId t : *tensors) d.tensors[t].dims[0].sharded = dealt;
  }
}

/// Experts differ along them.
AxisSet dealing_axes(const Draft& d) {
  return d.mesh().present(d.strategy.axes_of_experts() & (kContextAxes | Axis::kEp | Axis::kTp));
}

/// Tensor parallelism lies on two axes of the mesh where it splits experts less than the rest.
void require_split(const Draft& d) {
  const std::int64_t tp = d.mesh().size_of(kTensorAxes);
  const std::int64_t of_expert = d.strategy.experts.ranks_of_one(tp);
  if (d.mesh()[Axis::kEtp] == (of_expert < tp ? of_expert : 1)) return;
  throw refusal("S095",
                "experts are split over " + std::to_string(of_expert) +
                    " ranks, and the mesh has tp = " + std::to_string(d.mesh()[Axis::kTp]) +
                    " and etp = " + std::to_string(d.mesh()[Axis::kEtp]),
                "strategy.expert_tp", "as many ranks along etp",
                "lay layers out with Strategy::split_layers");
}

void require_no_experts(const Draft& d) {
  if (d.mesh()[Axis::kEp] > 1) {
    throw refusal("S044", "the axis ep divides experts, and the model has none", "strategy.ep", "1",
                  "set strategy.ep to 1 and use dp or fsdp, or choose a model with experts",
                  {"model.experts"});
  }
  if (d.mesh()[Axis::kEtp] > 1) {
    throw refusal("S044", "the axis etp splits experts, and the model has none",
                  "strategy.expert_tp", "1", "remove strategy.expert_tp", {"model.experts"});
  }
}

void require_axes(const Draft& d) {
  const AxisSet axes = dealing_axes(d);
  const std::int64_t ranks = d.mesh().size_of(axes);
  if (d.model.moe_layers() == 0) return require_no_experts(d);
  require_split(d);
  if (d.model.experts % ranks != 0) {
    throw refusal("S092",
                  std::to_string(d.model.experts) + " experts cannot be shared evenly by " +
                      std::to_string(ranks) + " ranks along " + name_of(axes),
                  "strategy.ep", "a number of ranks that divides model.experts",
                  "change strategy.ep", {"model.experts"});
  }
  if (axes.has(Axis::kTp) && !d.strategy.sequence_parallel) {
    throw refusal("S093", "ranks along tp hold the same tokens, and each has other experts",
                  "strategy.expert_axes", "strategy.sequence_parallel = true with tp in it",
                  "set strategy.sequence_parallel to true, or take tp out",
                  {"strategy.sequence_parallel", "strategy.tp"});
  }
}

}  // namespace

void apply_expert_parallel(Draft& d) {
  require_axes(d);
  if (d.model.moe_layers() == 0) return;
  const AxisSet dealt = dealing_axes(d);
  AxisSet split = d.mesh().present(kTensorAxes - dealt);
  if (!d.strategy.sequence_parallel) split = {};  // all have the same tokens
  if (dealt.empty() && split.empty()) return;
  shard_experts(d, dealt);
  const bool gathers = d.strategy.experts.dispatch == ExpertDispatch::kAllGather;
  for (LayerKind& layer : d.layers) {
    if (!layer.has_experts()) continue;
    if (gathers)
      gather_tokens(d, dealt, split, layer.kept);
    else
      ExpertRewrite(d, dealt, split).run(layer.kept);
  }
}

}  // namespace plait
