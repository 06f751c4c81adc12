#include "realrun/walk.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "realrun/issue.h"
#include "realrun/rounding.h"
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

template <class T>
Walker<T>::Walker(const Plan& plan, const Model& model, std::int64_t rank, Transport& transport,
                  const WalkOptions& options)
    : context_{plan, model, Rank(plan, rank)},
      transport_(transport),
      options_(options),
      buffers_(plan, context_.rank.stage),
      after_(communication_before(plan, context_.rank.stage)),
      compute_times_(after_.size()),
      communicator_(transport, after_.size(), options.patience_s) {
  if (options_.library_collectives) prepare_library();
  fill_tokens();
  fill_weights();
}

/// All groups, in the order in which the plan's blocks use their axes: the same on all ranks.
template <class T>
void Walker<T>::prepare_library() {
  const Plan& plan = context_.plan;
  PLAIT_CHECK(transport_.library() != nullptr, "a transport without collectives of its own");
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      const Collective* c = std::get_if<Collective>(&op.body);
      if (c == nullptr) continue;
      const std::vector<std::int64_t> group = members(plan.mesh, rank().id, c->axes, c->stages);
      const bool belongs = std::ranges::find(group, rank().id) != group.end();
      if (belongs && group.size() > 1)
        transport_.library()->prepare(static_cast<int>(op.stream), group);
    }
  }
}

template <class T>
void Walker<T>::step() {
  Issue(*this).run();
  communicator_.finish_step();
  ++context_.step;
}

template <class T>
const OpTime& Walker<T>::time(std::int64_t flat) const {
  const OpTime& own = compute_times_[static_cast<std::size_t>(flat)];
  return own.start_ns != 0 ? own : communicator_.time(flat);
}

template <class T>
void Walker<T>::fill_tokens() {
  const Plan& plan = context_.plan;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const Tensor& tensor = plan.tensors[t];
    if (tensor.name != "tokens" && tensor.name != "labels") continue;
    const kernels::Positions place = positions_of(tensor.dims[0], plan.mesh, rank());
    const std::int64_t s = tensor.dims[0].local(plan.mesh), b = tensor.dims[1].global;
    const std::int64_t ahead = tensor.name == "labels" ? 1 : 0;  // the label is the next token
    for (std::int32_t mb = 0; mb < plan.microbatches; ++mb) {
      auto* ids = reinterpret_cast<std::int64_t*>(buffers_.member(static_cast<TensorId>(t), 0, mb));
      const std::int64_t first = (rank().data_index(plan.mesh) * plan.microbatches + mb) * b;
      for (std::int64_t i = 0; i < s * b; ++i) {
        ids[i] = token_at(first + i % b, place(i / b) + ahead, context_.model.vocab);
      }
    }
  }
}

/// Whole buffers from their views; shards (ZeRO-3's weights, master copies) from their part of the
/// whole. Weights begin as what their type can hold; master copies are not rounded.
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
        if (id != unit.master) round_to(data, share.elements, t.dtype);
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
