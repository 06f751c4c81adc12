#include "serving/layer_maps.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/refusal.h"
#include "serving/capacity.h"

namespace plait {
namespace {

constexpr LayerPlace at(std::int64_t stage, Residence residence) {
  return {static_cast<std::int32_t>(stage), residence};
}

/// Weights as stored, of each part of the model.
struct PartBytes {
  std::int64_t embedding = 0, layer = 0, head = 0;
};

PartBytes part_bytes(const ServedModel& s) {
  ServingLayout one;
  one.map = even_layers(s.model.layers, 1);
  const Plan plan = make_serving_plan(s.model, {{}, {1, 1, 1}, 1}, s.precision, one, 1);
  PartBytes out;
  for (const Tensor& t : plan.tensors) {
    if (t.kind != TensorClass::kWeight || !t.persistent) continue;
    const bool table = t.name.starts_with("embedding") || t.name.starts_with("position");
    std::int64_t& part = t.scope == Scope::kLayer ? out.layer : table ? out.embedding : out.head;
    part += t.bytes(plan.mesh).value;
  }
  return out;
}

// ---- llama.cpp

bool has_processor(const ServedModel& s) { return !s.costs.machine.processor.name.empty(); }

/// The head counts as one layer more, behind the others. `described`: a processor is; where none is
/// and all layers are on devices, the embedding is there too, since that is no more than a look-up.
LayerMap gpu_layers(std::int64_t layers, std::int64_t stages, std::int64_t n, bool described) {
  const std::int64_t dealt = std::min(n, layers + 1), first = layers + 1 - dealt;
  const std::int64_t used = std::min(stages, std::max<std::int64_t>(dealt, 1));
  const auto place_of = [&](std::int64_t i) {
    return i < first ? at(0, Residence::kProcessor)
                     : at((i - first) * used / dealt, Residence::kDevice);
  };
  LayerMap map;
  const bool alone = first == 0 && !described;
  map.embedding = at(0, alone ? Residence::kDevice : Residence::kProcessor);
  for (std::int64_t i = 0; i < layers; ++i) map.layers.push_back(place_of(i));
  map.head = place_of(layers);
  return map;
}

/// Room on every device for its weights and for the cache of as many sequences as there may be, or
/// for the pool that they share.
bool fits(ServedModel s, const LayerMap& map, const EngineLimits& limits,
          const FrameworkMemory& framework) {
  s.layout.map = map;
  s.costs.machine.processor.memory = Bytes(0);  // devices are asked: host memory takes the rest
  const CacheCapacity c = cache_capacity(s, limits, framework);
  const auto full = [](const StageRoom& room) { return room.cache.value <= 0; };
  return std::ranges::none_of(c.stages, full) && c.holds(limits, limits.max_sequences);
}

std::int64_t most_gpu_layers(const ServedModel& s, const LayerRule& rule,
                             const EngineLimits& limits, const FrameworkMemory& framework) {
  const std::int64_t stages = s.layout.mesh[Axis::kPp];
  std::int64_t low = 0, high = s.model.layers + 1;  // low fits, or nothing does
  while (low < high) {
    const std::int64_t n = (low + high + 1) / 2;
    LayerMap map = gpu_layers(s.model.layers, stages, n, has_processor(s));
    map.cache_on_host = rule.cache_on_host;
    map.host_experts = rule.host_experts < 0 ? s.model.layers : rule.host_experts;
    fits(s, map, limits, framework) ? void(low = n) : void(high = n - 1);
  }
  return low;
}

/// Layers whose experts leave the devices: as the rule says, or as few as must.
std::int64_t host_experts(const ServedModel& s, const LayerMap& map, const LayerRule& rule,
                          const EngineLimits& limits, const FrameworkMemory& framework) {
  if (rule.host_experts >= 0) return std::min(rule.host_experts, s.model.layers);
  LayerMap tried = map;
  std::int64_t low = 0, high = s.model.layers;  // high fits, or nothing does
  while (low < high) {
    tried.host_experts = (low + high) / 2;
    fits(s, tried, limits, framework) ? void(high = tried.host_experts)
                                      : void(low = tried.host_experts + 1);
  }
  return high;
}

// ---- Accelerate

/// What devices may hold of weights, in order, as the rule has it.
std::vector<std::int64_t> allowances(const ServedModel& s, const LayerRule& rule,
                                     const EngineLimits& limits, const PartBytes& bytes) {
  const std::int64_t stages = s.layout.mesh[Axis::kPp];
  const auto memory = static_cast<double>(s.cluster.device.memory.value);
  const auto usable = static_cast<std::int64_t>(memory * limits.memory_utilization);
  const std::int64_t most = rule.device_memory.value_or(Bytes(usable)).value;
  std::vector<std::int64_t> out(static_cast<std::size_t>(stages), most);
  if (rule.dealing == Dealing::kSequential || stages == 1) return out;
  const std::int64_t total = bytes.embedding + s.model.layers * bytes.layer + bytes.head;
  const bool low = rule.dealing == Dealing::kBalancedLow0;
  const std::int64_t room = bytes.layer * 5 / 4;  // 1.25 of the largest part that is not split
  const std::int64_t each = total / (low ? stages - 1 : stages) + room;
  for (std::size_t i = low ? 1 : 0; i + 1 < out.size(); ++i) out[i] = std::min(most, each);
  if (low) {
    std::int64_t others = 0;
    for (std::size_t i = 1; i < out.size(); ++i) others += out[i];
    out[0] = std::min(most, std::max<std::int64_t>(0, total - others));
  }
  return out;
}

/// Fills places in order: devices, host memory, storage.
class Filling {
 public:
  Filling(std::vector<std::int64_t> rooms, std::int64_t host, std::int64_t largest)
      : rooms_(std::move(rooms)), stages_(rooms_.size()) {
    // The first device and host memory keep room for the largest part that is copied.
    rooms_[0] = std::max<std::int64_t>(0, rooms_[0] - largest);
    rooms_.push_back(std::max<std::int64_t>(0, host - largest));
  }
  LayerPlace place(std::int64_t bytes) {
    while (now_ < rooms_.size() && rooms_[now_] < bytes) ++now_;
    if (now_ < rooms_.size()) rooms_[now_] -= bytes;
    if (now_ < stages_) return at(static_cast<std::int64_t>(now_), Residence::kDevice);
    return at(0, now_ == stages_ ? Residence::kHost : Residence::kStorage);
  }

 private:
  std::vector<std::int64_t> rooms_;
  std::size_t stages_, now_ = 0;
};

LayerMap filled(const ServedModel& s, const LayerRule& rule, const EngineLimits& limits) {
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;
  const PartBytes bytes = part_bytes(s);
  const std::int64_t host = rule.host_memory.value_or(Bytes(kUnlimited)).value;
  Filling filling(allowances(s, rule, limits, bytes), host,
                  std::max({bytes.embedding, bytes.layer, bytes.head}));
  LayerMap map;
  map.embedding = filling.place(bytes.embedding);
  for (std::int64_t i = 0; i < s.model.layers; ++i) {
    map.layers.push_back(filling.place(bytes.layer));
  }
  map.head = filling.place(bytes.head);
  // A tied output matrix is where the table is; device 0 also computes what no device holds.
  if (s.model.tied_embeddings && map.head.residence != Residence::kDevice) map.head = map.embedding;
  return map;
}

/// Layers by their bytes, or one by one to a processor, are layers alike.
void require_even(const Model& m, const LayerRule& rule) {
  if (m.layer_pattern.empty() || !rule.leaves_devices()) return;
  throw refusal("S158", "layers of a pattern are dealt evenly to devices, their caches too",
                rule.dealing != Dealing::kEven ? "serving.layers.deal"
                : rule.cache_on_host           ? "serving.layers.cache_on_host"
                                               : "serving.layers.host_experts",
                "\"even\", cache_on_host = false and host_experts = 0 with model.layer_pattern",
                "remove serving.layers, or serve a model without a pattern");
}

}  // namespace

void copy_pageable(Cluster& cluster) {
  constexpr double kOfPinned = 0.43;
  const auto slow_down = [](Path& host) {
    if (host.link != LinkClass::kC2c) host.bandwidth = host.bandwidth * kOfPinned;
  };
  slow_down(cluster.host);
  for (NodeKind& kind : cluster.others) slow_down(kind.host);
}

LayerMap deal_layers(const ServedModel& s, const LayerRule& rule, const EngineLimits& limits,
                     const FrameworkMemory& framework) {
  require_even(s.model, rule);
  const std::int64_t stages = s.layout.mesh[Axis::kPp];
  LayerMap map;
  switch (rule.dealing) {
    case Dealing::kEven: map = even_layers(s.model.layers, stages); break;
    case Dealing::kGpuLayers:
      map = gpu_layers(
          s.model.layers, stages,
          rule.gpu_layers >= 0 ? rule.gpu_layers : most_gpu_layers(s, rule, limits, framework),
          has_processor(s));
      break;
    case Dealing::kSequential:
    case Dealing::kBalanced:
    case Dealing::kBalancedLow0: map = filled(s, rule, limits); break;
  }
  map.cache_on_host = rule.cache_on_host;
  map.host_experts = host_experts(s, map, rule, limits, framework);
  return map;
}

std::string words_of(const ServingLayout& layout) {
  const LayerMap& map = layout.map;
  std::string out = layout.row_split ? ", matrices by rows" : "";
  for (const auto& [residence, where] : {std::pair(Residence::kProcessor, "on the processor"),
                                         std::pair(Residence::kHost, "in host memory"),
                                         std::pair(Residence::kStorage, "on drives")}) {
    const auto count = std::ranges::count(map.layers, residence, &LayerPlace::residence);
    if (count > 0) out += fmt::format(", {} of {} layers {}", count, map.layers.size(), where);
  }
  if (map.host_experts > 0)
    out += fmt::format(", experts of {} layers in host memory", map.host_experts);
  if (map.cache_on_host) out += ", the cache in host memory";
  return out;
}

}  // namespace plait
