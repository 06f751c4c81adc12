#include "realrun/verify_state.h"

#include <algorithm>
#include <set>

#include "plan/memory.h"
#include "realrun/pack.h"

namespace plait {
namespace {

/// Reads one rank's buffers unit by unit.
class Collector {
 public:
  Collector(Walker& walker, const Plan& plan, const Model& model)
      : walker_(walker), plan_(plan), model_(model) {}

  StateShard collect() {
    const Rank& rank = walker_.rank();
    out_.planned = live_memory(plan_, rank.stage, false, Place::kDevice, rank.role).peak;
    out_.held = walker_.device().peak();
    for (const UnitBuffers& unit : unit_buffers(plan_)) {
      if (!holds(rank.role, plan_.tensors[unit.anchor()].holders)) continue;
      for (std::int32_t layer : layers_of(plan_, rank.stage, unit.anchor())) {
        collect(unit, layer);
      }
    }
    return std::move(out_);
  }

 private:
  void collect(const UnitBuffers& unit, std::int32_t layer) {
    TensorId gradient = unit.gradient_host;
    if (gradient == kNoTensor) gradient = unit.gradient_shard;
    if (gradient == kNoTensor) gradient = unit.gradients;
    TensorId weight = unit.master;
    if (weight == kNoTensor) weight = unit.weight_shard;
    if (weight == kNoTensor) weight = unit.weights;
    if (!unit.frozen()) {
      read(unit, gradient, layer, out_.gradients);
      read(unit, unit.moment, layer, out_.moments);
    }
    read(unit, weight, layer, out_.weights);
  }
  /// The rank's share of the unit out of `held`, which is the whole unit or that share.
  void read(const UnitBuffers& unit, TensorId held, std::int32_t layer,
            std::vector<TensorPart>& out) {
    const Rank& rank = walker_.rank();
    const Tensor& all = plan_.tensors[unit.weights];
    const ShareOfBuffer share = share_of_buffer(plan_, rank, all, plan_.tensors[unit.anchor()]);
    const std::vector<double> values = walker_.device().read({held, layer, 0});
    const bool whole = plan_.tensors[held].elements(plan_.mesh) == all.elements(plan_.mesh);
    const double* data = values.data() + (whole ? share.first : 0);
    for (TensorId id : unit.weight_views) {
      const Tensor& t = plan_.tensors[id];
      TensorPart part{
          canonical_weight(t.name, model_) + " of layer " + std::to_string(layer), 1, {}, {}};
      for (int d = 0; d < t.rank; ++d) part.size *= t.dims[static_cast<std::size_t>(d)].global;
      const std::int64_t n = t.elements(plan_.mesh);
      const GlobalIndex global(t, plan_.mesh, rank);
      for (std::int64_t i = std::max<std::int64_t>(0, share.first - t.offset);
           i < std::min(n, share.first + share.elements - t.offset); ++i) {
        part.index.push_back(global(i));
        part.value.push_back(data[t.offset + i - share.first]);
      }
      out.push_back(std::move(part));
    }
  }

  Walker& walker_;
  const Plan& plan_;
  const Model& model_;
  StateShard out_;
};

/// False where an element is there already with another value.
bool put(std::map<std::string, Values>& tensors, const std::vector<TensorPart>& parts) {
  bool agree = true;
  for (const TensorPart& part : parts) {
    Values& whole = tensors[part.name];
    whole.value.resize(static_cast<std::size_t>(part.size));
    whole.filled.resize(static_cast<std::size_t>(part.size));
    for (std::size_t i = 0; i < part.index.size(); ++i) {
      const auto at = static_cast<std::size_t>(part.index[i]);
      if (whole.filled[at] && whole.value[at] != part.value[i]) agree = false;
      whole.value[at] = part.value[i], whole.filled[at] = true;
    }
  }
  return agree;
}

void put_parts(Packer& out, const std::vector<TensorPart>& parts) {
  out.put(parts.size());
  for (const TensorPart& p : parts)
    out.put(p.name), out.put(p.size), out.put(p.index), out.put(p.value);
}
void take_parts(Unpacker& in, std::vector<TensorPart>& parts) {
  std::size_t size = 0;
  in.take(size);
  parts.resize(size);
  for (TensorPart& p : parts) in.take(p.name), in.take(p.size), in.take(p.index), in.take(p.value);
}

/// Layers and microbatches of the tensor's members on the stage.
std::set<std::pair<std::int32_t, std::int32_t>> members_of(const Plan& plan, std::size_t stage,
                                                           TensorId tensor) {
  std::set<std::pair<std::int32_t, std::int32_t>> out;
  for (const Stay& s : stays(plan, stage)) {
    if (s.tensor == tensor) out.insert({s.layer, s.microbatch});
  }
  return out;
}

}  // namespace

std::vector<std::byte> packed(const StateShard& state) {
  Packer out;
  out.put(state.losses), out.put(state.planned), out.put(state.held);
  for (const auto* parts : {&state.gradients, &state.moments, &state.weights})
    put_parts(out, *parts);
  return out.bytes();
}

StateShard state_shard(const std::vector<std::byte>& packed) {
  Unpacker in(packed);
  StateShard out;
  in.take(out.losses), in.take(out.planned), in.take(out.held);
  for (auto* parts : {&out.gradients, &out.moments, &out.weights}) take_parts(in, *parts);
  return out;
}

StateShard state_of(Walker& walker, const Plan& plan, const Model& model) {
  return Collector(walker, plan, model).collect();
}

double loss_of(Walker& walker, const Plan& plan) {
  const Rank& rank = walker.rank();
  // The ranks along tp hold the same loss.
  if (rank.share(plan.mesh, kTensorAxes) != 0 || !rank.role.works) return 0;
  double loss = 0;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    if (plan.tensors[t].name != "loss" && plan.tensors[t].name != "mtp.loss") continue;
    const auto id = static_cast<TensorId>(t);
    for (const auto& [layer, mb] : members_of(plan, rank.stage, id)) {
      loss += walker.device().read({id, layer, mb}).at(0);
    }
  }
  return loss;
}

ModelState gathered(const std::vector<StateShard>& ranks) {
  ModelState out;
  for (const StateShard& r : ranks) {
    out.losses.resize(r.losses.size());
    for (std::size_t i = 0; i < r.losses.size(); ++i) out.losses[i] += r.losses[i];
    for (const bool agree : {put(out.gradients, r.gradients), put(out.moments, r.moments),
                             put(out.weights, r.weights)}) {
      out.replicas_agree = out.replicas_agree && agree;
    }
    out.planned.push_back(r.planned), out.held.push_back(r.held);
  }
  return out;
}

}  // namespace plait
