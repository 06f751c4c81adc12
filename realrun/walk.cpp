#include "realrun/walk.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "plan/places.h"
#include "realrun/issue.h"
#include "realrun/start_values.h"

namespace plait {

std::vector<std::int32_t> layers_of(const Plan& plan, std::size_t stage, TensorId root) {
  std::set<std::int32_t> layers;
  for (const Stay& s : stays(plan, stage, plan.tensors[root].place)) {
    if (s.tensor == root) layers.insert(s.layer);
  }
  return {layers.begin(), layers.end()};
}

std::int64_t trained_tokens(const Plan& plan, const Model& model) {
  if (model.causal) return plan.tokens_per_step;
  const std::int64_t s = plan.tensors[0].dims[0].global;  // of the tokens
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < plan.tokens_per_step; ++i) n += masked_at(i / s, i % s) ? 1 : 0;
  return std::max<std::int64_t>(1, n);
}

namespace {

/// What an encoder reads, or as label is to tell.
std::int64_t masked_id(const Model& model, bool label, std::int64_t sample, std::int64_t position) {
  const bool masked = masked_at(sample, position);
  if (label != masked) return label ? kNoLabel : token_at(sample, position, model.vocab);
  return label ? token_at(sample, position, model.vocab) : model.vocab - 1;
}

}  // namespace

Walker::Walker(const Plan& plan, const Model& model, Transport& transport,
               const MakeDevice& make_device, const WalkOptions& options)
    : context_{plan, model, Rank(plan, transport.rank()), unit_buffers(plan),
               trained_tokens(plan, model)},
      transport_(transport),
      options_(options),
      device_(make_device(plan, context_.rank, transport)),
      after_(communication_before(plan, context_.rank.stage)),
      timed_(after_.size()),
      communicator_(transport, after_.size(), options.patience_s) {
  if (options_.library_collectives) prepare_library();
  fill_tokens();
  fill_weights();
  fill_scales();
}

/// All groups, in the order in which the plan's blocks use their axes: the same on all ranks.
void Walker::prepare_library() {
  const Plan& plan = context_.plan;
  PLAIT_CHECK(transport_.library() != nullptr, "a transport without collectives of its own");
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      const Collective* c = std::get_if<Collective>(&op.body);
      if (c == nullptr) continue;
      const std::vector<std::int64_t> group = members(plan, rank().id, c->axes, c->stages);
      const bool belongs = std::ranges::find(group, rank().id) != group.end();
      if (belongs && group.size() > 1)
        transport_.library()->prepare(static_cast<int>(op.stream), group);
    }
  }
}

void Walker::step() {
  ++context_.step;
  if (device_->repeat_step()) return;
  device_->begin_step();
  Issue(*this).run();
  communicator_.finish_step();
  device_->end_step();
}

OpTime Walker::time(std::int64_t flat) const {
  const OpTime& slept = timed_[static_cast<std::size_t>(flat)];
  if (slept.start_ns != 0) return slept;
  const OpTime computed = device_->time(flat);
  return computed.start_ns != 0 ? computed : communicator_.time(flat);
}

void Walker::fill_tokens() {
  if (!rank().role.works) return;
  const Plan& plan = context_.plan;
  const Model& model = context_.model;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const Tensor& tensor = plan.tensors[t];
    const bool further = tensor.name == "mtp.tokens";
    if (tensor.name != "tokens" && tensor.name != "labels" && !further) continue;
    const kernels::Positions place = positions_of(tensor.dims[0], plan.mesh, rank());
    const std::int64_t s = tensor.dims[0].local(plan.mesh), b = tensor.dims[1].global;
    std::vector<std::int64_t> ids(static_cast<std::size_t>(s * b));
    const auto fill = [&](std::int32_t layer, std::int64_t ahead) {
      for (std::int32_t mb = 0; mb < plan.microbatches; ++mb) {
        const std::int64_t first = (rank().data_index(plan.mesh) * plan.microbatches + mb) * b;
        for (std::int64_t i = 0; i < s * b; ++i) {
          const std::int64_t sample = first + i % b, position = place(i / b);
          const bool has_label = position < plan.documents.end_of(sample, tensor.dims[0].global);
          std::int64_t& id = ids[static_cast<std::size_t>(i)];
          id = ahead > 0 && !has_label ? kNoLabel : token_at(sample, position + ahead, model.vocab);
          if (!model.causal) id = masked_id(model, ahead > 0, sample, position);
        }
        device_->write({static_cast<TensorId>(t), layer, mb}, ids);
      }
    };
    if (!further) {
      fill(0, tensor.name == "labels" ? 1 : 0);  // the label is the next token
      continue;
    }
    for (const std::int32_t layer : layers_of(plan, rank().stage, static_cast<TensorId>(t))) {
      fill(layer, 1 + (layer - model.layers) / 2);  // plan/strategies/prediction_writer.h
    }
  }
}

void Walker::fill_weights() {
  const Plan& plan = context_.plan;
  for (const UnitBuffers& unit : context_.units) {
    for (std::int32_t layer : layers_of(plan, rank().stage, unit.anchor())) {
      for (TensorId id : {unit.weights, unit.weight_shard, unit.master, unit.weight_host}) {
        if (id == kNoTensor || !plan.tensors[id].persistent) continue;
        if (holds(rank().role, plan.tensors[id].holders)) fill_unit(unit, id, layer);
      }
    }
  }
}

/// Buffers from the unit's tensors: whole ones, and shards (ZeRO-3's weights, master copies) from
/// their part of each.
void Walker::fill_unit(const UnitBuffers& unit, TensorId id, std::int32_t layer) {
  const Plan& plan = context_.plan;
  const ShareOfBuffer share =
      share_of_buffer(plan, rank(), plan.tensors[unit.weights], plan.tensors[id]);
  for (TensorId view : unit.weight_views) {
    const Tensor& t = plan.tensors[view];
    const std::int64_t begin = std::max(t.offset, share.first);
    const std::int64_t end =
        std::min(t.offset + t.elements(plan.mesh), share.first + share.elements);
    if (begin >= end) continue;
    device_->write({id, layer, 0}, begin - share.first, end - begin,
                   start_of(t, layer, begin - t.offset, end - begin));
  }
}

/// Of matrices in nf4 their codes.
std::vector<double> Walker::start_of(const Tensor& t, std::int32_t layer, std::int64_t first,
                                     std::int64_t elements) const {
  if (t.dtype != DType::kNf4) return weights_of(t, layer, first, elements);
  std::vector<double> codes = stored_of(t, layer, false).codes;
  const std::int64_t last = std::min(first + elements, std::ssize(codes));
  if (options_.weights_repeat > 0) return codes;
  return {codes.begin() + first, codes.begin() + last};
}

StoredMatrix Walker::stored_of(const Tensor& t, std::int32_t layer, bool nested) const {
  return stored_matrix(weights_of(t, layer, 0, t.elements(context_.plan.mesh)), nested);
}

void Walker::fill_scales() {
  for (const Nf4Tensors& matrix : nf4_tensors(context_.plan)) {
    for (const std::int32_t layer : layers_of(context_.plan, rank().stage, matrix.absmax)) {
      const auto& tensors = context_.plan.tensors;
      const StoredMatrix stored = stored_of(tensors[matrix.weight], layer, matrix.nested());
      const auto fill = [&](TensorId id, const std::vector<double>& values) {
        const std::int64_t n = tensors[id].elements(context_.plan.mesh);
        device_->write({id, layer, 0}, 0, n, values);
      };
      fill(matrix.absmax, stored.absmax);
      if (matrix.nested()) fill(matrix.scales, stored.scales);
    }
  }
}

/// Elements of a rank's part of a weight, or, where they repeat, the first of them.
std::vector<double> Walker::weights_of(const Tensor& t, std::int32_t layer, std::int64_t first,
                                       std::int64_t elements) const {
  const std::string name = canonical_weight(t.name, context_.model);
  const auto last = static_cast<std::size_t>(t.rank - 1);
  const std::int64_t inputs = t.rank > 1 ? t.dims[last].global : 1;
  if (options_.weights_repeat > 0) elements = std::min(elements, options_.weights_repeat);
  std::vector<double> out(static_cast<std::size_t>(elements));
  const GlobalIndex global(t, context_.plan.mesh, rank());
  const InitialWeight value(name, layer, inputs);
  for (std::int64_t i = 0; i < elements; ++i) {
    out[static_cast<std::size_t>(i)] = value(global(first + i));
  }
  return out;
}

}  // namespace plait
