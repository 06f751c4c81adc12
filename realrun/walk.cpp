#include "realrun/walk.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "realrun/collective.h"
#include "realrun/start_values.h"

namespace plait {

std::vector<std::int32_t> layers_of(const Plan& plan, std::size_t stage, TensorId root) {
  std::set<std::int32_t> layers;
  for (const Stay& s : stays(plan, stage)) {
    if (s.tensor == root) layers.insert(s.layer);
  }
  return {layers.begin(), layers.end()};
}

ShareOfBuffer share_of_buffer(const Plan& plan, const Rank& rank, const Tensor& whole,
                              AxisSet axes) {
  const std::int64_t n = whole.elements(plan.mesh) / plan.mesh.size_of(axes);
  return {n * rank.share(plan.mesh, axes), n};
}

/// The ops of one step.
template <class T>
class Walker<T>::Execution {
 public:
  explicit Execution(Walker& w) : w_(w), plan_(w.context_.plan) {}

  void run() {
    std::int64_t flat = 0;
    for (const Call& call : plan_.programs[w_.rank().stage].calls) {
      for (const Op& op : plan_.blocks[call.block].ops) {
        execute(op, call);
        w_.buffers_.release_after(flat++);
      }
    }
  }

 private:
  void execute(const Op& op, const Call& call) {
    if (!std::holds_alternative<Collective>(op.body)) scattered_ = 0;
    if (std::holds_alternative<Compute>(op.body))
      return compute(w_.context_, w_.buffers_, op, call);
    if (const Collective* c = std::get_if<Collective>(&op.body)) return collective(*c, op, call);
    const Operand& o = op.operands.at(0);
    const Piece<T> piece{w_.buffers_.template at<T>(o, call),
                         plan_.tensors[o.tensor].elements(plan_.mesh)};
    const std::string what = plan_.tensors[o.tensor].name + " of layer " +
                             std::to_string(call.layer + o.shift) + ", microbatch " +
                             std::to_string(call.microbatch);
    const auto bytes = static_cast<std::size_t>(piece.elements) * sizeof(T);
    if (const Send* s = std::get_if<Send>(&op.body)) {
      const auto* data = reinterpret_cast<const std::byte*>(piece.data);
      return w_.transport_.send(plan_.mesh.neighbour(w_.rank().id, s->axis, s->offset),
                                what + " from " + std::to_string(w_.rank().id), {data, bytes});
    }
    const Recv& r = std::get<Recv>(op.body);
    const std::int64_t from = plan_.mesh.neighbour(w_.rank().id, r.axis, r.offset);
    const auto got = w_.transport_.receive(from, what + " from " + std::to_string(from));
    PLAIT_CHECK(got.size() == bytes, "a message of another size than its receiver's tensor");
    std::copy(got.begin(), got.end(), reinterpret_cast<std::byte*>(piece.data));
  }

  void collective(const Collective& c, const Op& op, const Call& call) {
    const std::vector<std::int64_t> group = members(plan_.mesh, w_.rank().id, c.axes, c.stages);
    const auto index = static_cast<std::size_t>(
        std::find(group.begin(), group.end(), w_.rank().id) - group.begin());
    std::string what = std::string(name_of(op)) + " in " + plan_.blocks[call.block].name +
                       " over " + name_of(c.axes) + ", group of rank " + std::to_string(group[0]);
    // Stages meet in the order of issue, each with layers of its own.
    if (!c.axes.has(Axis::kPp)) {
      what += ", layer " + std::to_string(call.layer) + ", microbatch " +
              std::to_string(call.microbatch);
    }
    const bool in_place = op.operands[0].use == Use::kUpdate;
    if (in_place && c.kind == CollectiveKind::kAllGather)
      return gather_in_place(op, call, group, index, what);
    // A reduce_scatter in place leaves each rank's share right; here the others' shares are right
    // too.
    if (in_place) {
      return all_reduce(w_.transport_, group, what, pieces(c, op, call), c.reduction);
    }
    const Piece<T> in = whole(op.operands.at(0), call), out = whole(op.operands.at(1), call);
    switch (c.kind) {
      case CollectiveKind::kReduceScatter:
        return reduce_scatter(w_.transport_, group, index, what, in, out);
      case CollectiveKind::kAllGather: return all_gather(w_.transport_, group, what, in, out);
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kBroadcast: break;
    }
    PLAIT_CHECK(false, "a collective that no strategy plans out of place");
  }
  Piece<T> whole(const Operand& o, const Call& call) {
    return {w_.buffers_.template at<T>(o, call), plan_.tensors[o.tensor].elements(plan_.mesh)};
  }
  /// The part of the operands, one behind the other, that travels. An all_reduce of shares right
  /// behind a reduce_scatter in place deals with what was scattered.
  std::vector<Piece<T>> pieces(const Collective& c, const Op& op, const Call& call) {
    const bool scatters = c.kind == CollectiveKind::kReduceScatter;
    std::int64_t begin = c.first, left = c.elements;
    if (!scatters) left = std::max(left, scattered_);
    scattered_ = scatters ? c.elements : 0;
    std::vector<Piece<T>> out;
    for (const Operand& o : op.operands) {
      Piece<T> p = whole(o, call);
      const std::int64_t skip = std::min(begin, p.elements);
      begin -= skip;
      p.data += skip, p.elements = std::min(p.elements - skip, left);
      left -= p.elements;
      if (p.elements > 0) out.push_back(p);
    }
    return out;
  }
  void gather_in_place(const Op& op, const Call& call, const std::vector<std::int64_t>& group,
                       std::size_t index, const std::string& what) {
    const Piece<T> all = whole(op.operands.at(0), call);
    const std::int64_t share = all.elements / static_cast<std::int64_t>(group.size());
    std::vector<T> mine(all.data + static_cast<std::int64_t>(index) * share,
                        all.data + static_cast<std::int64_t>(index + 1) * share);
    all_gather(w_.transport_, group, what, Piece<T>{mine.data(), share}, all);
  }

  Walker& w_;
  const Plan& plan_;
  std::int64_t scattered_ = 0;  // elements of the reduce_scatter in place just done
};

template <class T>
Walker<T>::Walker(const Plan& plan, const Model& model, std::int64_t rank, Transport& transport)
    : context_{plan, model, Rank(plan, rank)},
      transport_(transport),
      buffers_(plan, Rank(plan, rank).stage) {
  fill_tokens();
  fill_weights();
}

template <class T>
void Walker<T>::step() {
  Execution(*this).run();
  ++context_.step;
}

template <class T>
void Walker<T>::fill_tokens() {
  const Plan& plan = context_.plan;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const Tensor& tensor = plan.tensors[t];
    if (tensor.name != "tokens" && tensor.name != "labels") continue;
    const std::int64_t s = tensor.dims[0].global, b = tensor.dims[1].global;
    const std::int64_t ahead = tensor.name == "labels" ? 1 : 0;  // the label is the next token
    for (std::int32_t mb = 0; mb < plan.microbatches; ++mb) {
      auto* ids = reinterpret_cast<std::int64_t*>(buffers_.member(static_cast<TensorId>(t), 0, mb));
      const std::int64_t first = (rank().data_index(plan.mesh) * plan.microbatches + mb) * b;
      for (std::int64_t i = 0; i < s * b; ++i) {
        ids[i] = token_at(first + i % b, i / b + ahead, context_.model.vocab);
      }
    }
  }
}

/// Whole buffers from their views; shards (ZeRO-3's weights, master copies) from their part of the
/// whole.
template <class T>
void Walker<T>::fill_weights() {
  const Plan& plan = context_.plan;
  for (const UnitBuffers& unit : unit_buffers(plan)) {
    for (std::int32_t layer : layers_of(plan, rank().stage, unit.anchor())) {
      const std::vector<T> values = whole_unit(unit, layer);
      for (TensorId id : {unit.weights, unit.weight_shard, unit.master}) {
        if (id == kNoTensor || !plan.tensors[id].persistent) continue;
        const Tensor& t = plan.tensors[id];
        const ShareOfBuffer share =
            share_of_buffer(plan, rank(), plan.tensors[unit.weights], t.dims[0].sharded);
        T* data = reinterpret_cast<T*>(buffers_.member(id, layer, 0));
        std::copy(values.begin() + share.first, values.begin() + share.first + share.elements,
                  data);
      }
    }
  }
}

template <class T>
std::vector<T> Walker<T>::whole_unit(const UnitBuffers& unit, std::int32_t layer) const {
  const Plan& plan = context_.plan;
  std::vector<T> out(static_cast<std::size_t>(plan.tensors[unit.weights].elements(plan.mesh)),
                     T{0});
  for (TensorId id : unit.weight_views) {
    const Tensor& t = plan.tensors[id];
    const std::string name = canonical_weight(t.name, context_.model);
    const std::int64_t inputs = t.rank > 1 ? t.dims[1].global : 1;
    for (std::int64_t i = 0; i < t.elements(plan.mesh); ++i) {
      const std::int64_t g = global_index(t, plan.mesh, rank(), i);
      out[static_cast<std::size_t>(t.offset + i)] =
          static_cast<T>(initial_weight(name, layer, g, inputs));
    }
  }
  return out;
}

template class Walker<float>;
template class Walker<double>;

}  // namespace plait
