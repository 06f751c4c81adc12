// Follows the sharding of weights and residual stream through the ops of each block and inserts
// what is needed to make every operand arrive in the layout that its op needs:
//
//   partial sum  -> replicated  all_reduce        partial sum -> sequence shard  reduce_scatter
//   sequence shard -> replicated  all_gather
//
// With weights sharded as in tensor.cpp this yields Megatron's f, f-bar, g and g-bar; nothing here
// knows of layers. A collective is issued right behind the op that produces its input, so that ops
// between producer and consumer (the weight gradient) hide it; a gather of a saved activation is
// issued one op ahead of its consumer.
#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "plan/strategies/draft.h"
#include "plan/strategies/layout.h"

namespace plait {
namespace {

class Propagation {
 public:
  Propagation(Draft& d, Block& block)
      : d_(d),
        block_(block),
        axes_(d.mesh().present(kTensorAxes)),
        innermost_(axes_.has(Axis::kEtp) ? Axis::kEtp : Axis::kTp),
        of_adapters_(inputs_of_adapters(d, block)) {}

  void run() {
    for (Op& op : std::exchange(block_.ops, {})) {
      op_ = std::move(op);
      if (Compute* c = std::get_if<Compute>(&op_.body))
        std::visit([this](auto& body) { follow(body); }, *c);
      else
        follow(std::get<Collective>(op_.body));
      block_.ops.push_back(op_);
      for (Op& late : behind_) block_.ops.push_back(std::move(late));
      behind_.clear();
    }
  }

 private:
  // ---- what each op needs and yields
  void follow(Norm& n) {
    if (n.pass == Pass::kForward) {
      if (layout(0) == Sharding::kPartial) take_rows(0);
      yield(op_.operands.size() - 2, layout(0)), yield(op_.operands.size() - 1, layout(0));
      return;
    }
    need(0, layout(1));
    yield(4, layout(1));
    for (std::size_t i = 5; i < op_.operands.size(); ++i) owe_if_sharded(1, i);
  }
  /// Of a partial sum, laid out as the residual stream is. What is kept backward reads again.
  void take_rows(std::size_t operand) {
    const bool kept = tensor(operand).scope == Scope::kLayerMicrobatch;
    if (!kept || layout_of(d_.x) != Sharding::kSequence) return need(operand, layout_of(d_.x));
    scatter_at_producer(op_.operands[operand]);
  }
  /// Each rank has its heads, and all have the same gammas.
  void follow(HeadNorm& n) {
    if (n.pass == Pass::kForward) return yield(3, layout(0)), yield(4, layout(0));
    if (layout(1) != Sharding::kFeature) return;
    for (std::size_t gradient = 5; gradient < op_.operands.size(); ++gradient) {
      set_layout(op_.operands[gradient].tensor, Sharding::kPartial);
    }
  }
  void follow(MatMul& g) {
    const Tensor& weight = tensor(g.pass == Pass::kWeightGrad ? 2 : 1);
    const auto columns = static_cast<std::size_t>(weight.rank - 1);  // before them, experts
    const AxisSet over_out = weight.dims[columns - 1].sharded,
                  over_in = weight.dims[columns].sharded;
    const bool split_out = over_out.has(innermost_), split_in = over_in.has(innermost_);
    switch (g.pass) {
      case Pass::kWeightGrad:
        if (split_out || split_in) {
          need(0, split_out ? Sharding::kFeature : Sharding::kReplicated);
          need(1, split_in ? Sharding::kFeature : Sharding::kReplicated);
        } else if (is_adapter(d_, op_)) {
          owe_of_factor();
        } else if (layout(2) == Sharding::kReplicated) {
          owe_if_sharded(0, 2);
          if (g.bias) owe_if_sharded(0, 3);
        }
        return;
      case Pass::kInputGrad:
        if (split_out)
          need(0, Sharding::kFeature), yield(2, Sharding::kPartial, over_out);
        else if (split_in)
          need(0, Sharding::kReplicated), yield(2, Sharding::kFeature, over_in);
        else
          yield(2, layout(0));
        return;
      default:
        if (is_adapter(d_, op_)) take_gathered(0);
        if (split_out)
          need(0, Sharding::kReplicated), yield(2, Sharding::kFeature, over_out);
        else if (split_in)
          need(0, Sharding::kFeature), yield(2, Sharding::kPartial, over_in);
        else
          yield(2, of_own_experts(weight) ? Sharding::kPartial : layout(0));
    }
  }
  /// Of an adapter's factor that is whole: products with the other one, which is split, are partial
  /// sums, and so is its gradient.
  void owe_of_factor() {
    if (layout(0) == Sharding::kPartial) need(1, Sharding::kReplicated);
    if (layout(0) == Sharding::kPartial || layout(1) == Sharding::kPartial)
      set_layout(op_.operands[2].tensor, Sharding::kPartial);
    else if (layout(2) == Sharding::kReplicated)
      owe_if_sharded(0, 2);
  }
  /// What the linear layer itself has gathered, its adapter reads too.
  void take_gathered(std::size_t operand) {
    const Operand& o = op_.operands[operand];
    if (versions_.contains({{o.tensor, o.shift}, Sharding::kReplicated}))
      need(operand, Sharding::kReplicated);
  }
  /// Of experts dealt over tp and tokens that all of its ranks have: each adds its own experts'.
  bool of_own_experts(const Tensor& weight) {
    return weight.rank == 3 && weight.dims[0].sharded.has(Axis::kTp) &&
           layout(0) == Sharding::kReplicated;
  }
  void follow(Route& r) {
    if (r.pass == Pass::kForward) return yield(1, layout(0)), yield(2, layout(0));
    need(0, layout(1)), yield(3, layout(1));
  }
  // Slots are laid out by expert.cpp; here they are whole, or all are partial sums.
  void follow(Dispatch& x) {
    if (x.pass != Pass::kForward) yield(2, of_slots(0, 1));
  }
  void follow(Combine& x) {
    if (!x.weighted)
      return x.pass == Pass::kForward ? yield(2, of_slots(0, 1)) : need(0, layout(1));
    if (x.pass == Pass::kForward) return yield(3, of_slots(0, 1));
    need(0, layout(2));
    yield(5, of_slots(1, 2));
  }
  void follow(Collective& c) {  // of expert.cpp and expert_gather.cpp
    const bool stays = layout(0) == Sharding::kPartial && !c.axes.has(innermost_);
    if (stays && op_.stream == Stream::kEp) yield(1, Sharding::kPartial);
  }
  /// Of tokens made of slots: operand `tokens` has their layout.
  Sharding of_slots(std::size_t slots, std::size_t tokens) {
    return layout(slots) == Sharding::kPartial ? Sharding::kPartial : layout(tokens);
  }
  void follow(Attention& a) {
    if (a.pass == Pass::kForward) {
      for (std::size_t i = 1; i < op_.operands.size(); ++i) yield(i, layout(0));
    } else {
      need(0, layout(1)), yield(op_.operands.size() - 1, layout(1));
    }
  }
  /// Each rank has its heads; what all heads share is whole, its gradient a sum over them.
  void follow(LatentHeads& x) {
    if (x.pass == Pass::kForward) return need(2, Sharding::kReplicated), yield(3, layout(0));
    const Sharding heads = layout(0);
    yield(1, heads), yield(2, heads);
    yield(3, heads == Sharding::kFeature ? Sharding::kPartial : heads);
  }
  // Each rank has its heads and the groups of these.
  void follow(CausalConv& c) {
    if (c.pass == Pass::kForward) yield(c.bias ? 3 : 2, layout(0));
  }
  void follow(DeltaRule& r) { follow_states(r.pass, 4, 7); }
  void follow(Scan& s) { follow_states(s.pass, 5, 6); }
  /// What is made stands from `results` on, backward `rows` and what stands behind parameters.
  void follow_states(Pass pass, std::size_t results, std::size_t rows) {
    const bool forward = pass == Pass::kForward;
    const Sharding heads = layout(forward ? 0 : 1);
    if (!forward) need(0, heads), yield(rows, heads);
    for (std::size_t i = forward ? results : 11; i < op_.operands.size(); ++i) yield(i, heads);
  }
  void follow(GatedNorm& n) {
    if (n.pass == Pass::kForward) return yield(3, layout(0)), yield(4, layout(0));
    need(0, layout(1)), yield(5, layout(1)), yield(6, layout(1));
    if (!n.gate_last) return yield(8, layout(1));
    if (layout(1) == Sharding::kFeature) set_layout(op_.operands[7].tensor, Sharding::kPartial);
  }
  /// What a row's gate multiplies is whole, and kept where the row is.
  void follow(Gate& g) {
    if (g.pass == Pass::kForward) {
      if (layout(0) == Sharding::kPartial && layout(1) == Sharding::kSequence)
        scatter_at_producer(op_.operands[0]);
      return need(0, layout(1)), yield(2, layout(1));
    }
    need(0, layout(2)), yield(3, layout(2)), yield(4, layout(2));
  }
  void follow(Activation& a) {
    if (a.pass == Pass::kForward) return yield(1, layout(0), axes(0));
    need(0, layout(1)), yield(2, layout(1), axes(1));
    if (!a.weighted) return;  // a gate's gradient is a sum over columns
    yield(4, layout(1) == Sharding::kFeature ? Sharding::kPartial : layout(3), axes(1));
  }
  void follow(Add& a) {
    if (a.pass != Pass::kForward) {
      if (a.scaled) take_gathered(0);
      return yield(a.scaled ? 1 : 2, layout(0));
    }
    if (a.alone) return take_gathered(0), yield(1, layout(0)), yield(2, layout(0));
    if (op_.operands.size() == 2) return need(0, layout(1));
    const bool both_partial = layout(0) == Sharding::kPartial && layout(1) == Sharding::kPartial;
    if (!both_partial) {
      if (layout(0) == Sharding::kPartial) need(0, layout(1));
      need(1, layout(0));
    }
    yield(2, layout(0));
    if (a.dropout) yield(op_.operands.size() - 1, layout(0));
  }
  void follow(BiasGrad&) { owe_if_sharded(0, 1); }
  void follow(Cast& c) {
    if (tensor(0).kind == TensorClass::kWeight) return;  // stays as it is
    if (c.accumulate && layout(0) == Sharding::kPartial)
      return set_layout(op_.operands[1].tensor, Sharding::kPartial);
    if (op_.operands[1].use == Use::kUpdate) return need(0, layout(1));
    if (layout(0) == Sharding::kReplicated && layout(1) == Sharding::kFeature)
      return;  // own columns
    const bool whole = casts_rows(d_, c) || of_adapters_.contains(op_.operands[0].tensor);
    if (whole && layout(0) == Sharding::kSequence) need(0, Sharding::kReplicated);
    const bool orders_slots = tensor(0).rank != tensor(1).rank;
    if (orders_slots && layout(0) != Sharding::kPartial) return;
    for (std::size_t i = 1; i < op_.operands.size(); ++i) yield(i, layout(0), axes(0));
  }
  void follow(Embedding& e) {
    const std::size_t table = e.pass == Pass::kForward ? 1 : op_.operands.size() - 1;
    const bool split = !tensor(table).dims[0].sharded.empty();
    if (e.pass == Pass::kForward) {
      if (e.learned_positions) {  // on the tokens of the residual stream
        yield(2, layout_of(d_.x));
        return need(0, layout(2));
      }
      if (split) reduce_output(2);
      return;
    }
    if (split) return need(table - 1, Sharding::kReplicated);
    owe_if_sharded(table - 1, table);
  }
  void follow(CrossEntropy& c) {
    c.split = layout(0) == Sharding::kFeature;
    if (!c.split || c.step == CrossEntropy::Step::kGradient) return;
    const bool max = c.step == CrossEntropy::Step::kRowMax;
    behind_.push_back(all_reduce(op_.operands.back(), max ? Reduction::kMax : Reduction::kSum));
  }
  void follow(Rope&) {}
  void follow(Fill&) {}
  void follow(SquaredNorm&) {}
  void follow(Amax&) {}
  void follow(Adam&) {}

  // ---- layouts
  Tensor& tensor(std::size_t operand) { return d_.tensors[op_.operands[operand].tensor]; }
  Sharding layout(std::size_t operand) { return layout_of(op_.operands[operand].tensor); }
  Sharding layout_of(TensorId id) const { return layout_over(d_.tensors[id], innermost_); }
  /// What the operand's layout is over: tp, or those of its ranks that split an expert.
  AxisSet axes(std::size_t operand) {
    const Tensor& t = tensor(operand);
    if (const AxisSet partial = t.partial & kTensorAxes; !partial.empty()) return partial;
    return t.dims[0].sharded.has(innermost_) ? axes_ : axes_ - t.dims[0].sharded;
  }
  void set_layout(TensorId id, Sharding l) { set_layout(id, l, axes_); }
  void set_layout(TensorId id, Sharding l, AxisSet tp) { lay_out(d_.tensors[id], l, tp); }
  void yield(std::size_t operand, Sharding l) { yield(operand, l, axes_); }
  void yield(std::size_t operand, Sharding l, AxisSet over) {
    const TensorId id = op_.operands[operand].tensor;
    if (id == d_.x || id == d_.dx) {
      PLAIT_CHECK(layout_of(id) == l,
                  "the residual stream arrives in a layout that it does not have");
      return;
    }
    set_layout(id, l, over & kTensorAxes);
  }
  /// Gradients of replicated weights from sharded tokens are partial sums.
  void owe_if_sharded(std::size_t tokens, std::size_t gradient) {
    if (layout(tokens) == Sharding::kSequence)
      set_layout(op_.operands[gradient].tensor, Sharding::kPartial);
  }

  // ---- conversions
  void need(std::size_t operand, Sharding want) {
    Operand& o = op_.operands[operand];
    const Sharding have = layout_of(o.tensor);
    if (have == want) return;
    const auto key = std::pair(std::pair(o.tensor, o.shift), want);
    auto found = versions_.find(key);
    if (found == versions_.end()) found = versions_.emplace(key, convert(o, have, want)).first;
    o = {found->second, o.use, found->second == o.tensor ? o.shift : std::int16_t{0}};
  }
  TensorId convert(const Operand& from, Sharding have, Sharding want) {
    if (have == Sharding::kPartial && want == Sharding::kReplicated) {
      Op sum = all_reduce(from, Reduction::kSum);
      std::get<Collective>(sum.body).projections = projections_behind(from);
      insert(std::move(sum), from);
      set_layout(from.tensor, Sharding::kReplicated);
      return from.tensor;
    }
    const bool scatter = have == Sharding::kPartial && want == Sharding::kSequence;
    const bool gather = have == Sharding::kSequence && want == Sharding::kReplicated;
    PLAIT_CHECK(scatter || gather, "no conversion for " + d_.tensors[from.tensor].name);
    Tensor t = d_.tensors[from.tensor];
    t.name += scatter ? ".scattered" : ".gathered";
    t.scope = Scope::kCall;
    const TensorId to = d_.add(t);
    set_layout(to, want);
    const auto kind = scatter ? CollectiveKind::kReduceScatter : CollectiveKind::kAllGather;
    insert(collective(kind, scatter ? from.tensor : to,
                      {{from.tensor, Use::kRead, from.shift}, {to, Use::kWrite, 0}}),
           from);
    return to;
  }
  /// Over tp, of the elements of `whole`.
  Op collective(CollectiveKind kind, TensorId whole, std::vector<Operand> operands) {
    const Tensor& t = d_.tensors[whole];
    Collective c;
    c.kind = kind, c.axes = axes_, c.dtype = t.dtype, c.elements = t.elements(d_.mesh());
    return {c, Stream::kTp, op_.phase, std::move(operands)};
  }
  Op all_reduce(const Operand& o, Reduction reduction) {
    Op out = collective(CollectiveKind::kAllReduce, o.tensor, {{o.tensor, Use::kUpdate, o.shift}});
    std::get<Collective>(out.body).reduction = reduction;
    return out;
  }
  /// The ops before, of adapters too, add up a partial sum of what is kept as a sequence shard.
  void scatter_at_producer(const Operand& kept) {
    const auto producer = producer_of(kept);
    Op reduce = reduce_scatter(kept);
    for (Op& op : block_.ops)
      for (Operand& o : op.operands)
        if (o.tensor == kept.tensor) o.tensor = reduce.operands[0].tensor;
    set_layout(kept.tensor, Sharding::kSequence);
    block_.ops.insert(producer.base(), std::move(reduce));
  }
  /// Of a partial sum, a tensor of its own that is laid out as `whole` is, into `whole`.
  Op reduce_scatter(const Operand& whole) {
    Tensor t = d_.tensors[whole.tensor];
    t.name += ".partial";
    t.scope = Scope::kCall;
    const TensorId partial = d_.add(t);
    set_layout(partial, Sharding::kPartial);
    return collective(CollectiveKind::kReduceScatter, partial,
                      {{partial, Use::kRead, 0}, {whole.tensor, Use::kWrite, whole.shift}});
  }
  /// The op writes a partial sum where a tensor of fixed layout is wanted.
  void reduce_output(std::size_t operand) {
    const Operand out = op_.operands[operand];
    const bool whole = layout_of(out.tensor) == Sharding::kReplicated;
    const bool kept = tensor(operand).scope != Scope::kCall;
    if (whole && kept) return behind_.push_back(all_reduce(out, Reduction::kSum));
    if (whole) return set_layout(out.tensor, Sharding::kPartial);
    behind_.push_back(reduce_scatter(out));
    op_.operands[operand].tensor = behind_.back().operands[0].tensor;
  }
  /// The last op so far that writes it.
  std::vector<Op>::reverse_iterator producer_of(const Operand& source) {
    return std::find_if(block_.ops.rbegin(), block_.ops.rend(), [&](const Op& op) {
      return std::ranges::any_of(op.operands, [&](const Operand& o) {
        return o.tensor == source.tensor && o.shift == source.shift && o.use != Use::kRead;
      });
    });
  }
  /// Of the packed product that yields the gradient of their input; else 1.
  std::int64_t projections_behind(const Operand& gradient) {
    const auto producer = producer_of(gradient);
    if (producer == block_.ops.rend() || !is_product(*producer, Pass::kInputGrad)) return 1;
    return projections_of(d_.tensors[producer->operands[1].tensor]);
  }
  void insert(Op collective, const Operand& source) {
    auto& ops = block_.ops;
    const auto producer = producer_of(source);
    const bool made_before = producer == ops.rend() && !ops.empty();
    ops.insert(made_before ? ops.end() - 1 : producer.base(), std::move(collective));
  }

  Draft& d_;
  Block& block_;
  AxisSet axes_;  // of tensor parallelism
  /// What experts are dealt over has none of it; all else that is split over tp is split over it.
  Axis innermost_;
  std::set<TensorId> of_adapters_;
  Op op_;
  std::vector<Op> behind_;
  std::map<std::pair<std::pair<TensorId, std::int16_t>, Sharding>, TensorId> versions_;
};

}  // namespace

void insert_collectives(Draft& draft) {
  if (draft.mesh().size_of(kTensorAxes) == 1) return;
  const auto run = [&](Block& block) { Propagation(draft, block).run(); };
  run(draft.embed_forward);
  for (LayerKind& layer : draft.layers) run(layer.kept.forward);
  run(draft.mtp.kept.forward), run(draft.mtp_head.forward);
  run(draft.head_forward), run(draft.head_backward), run(draft.mtp_head.backward);
  for (LayerKind& layer : draft.layers) run(layer.kept.backward);
  run(draft.mtp.kept.backward);
  run(draft.embed_backward);
}

}  // namespace plait
