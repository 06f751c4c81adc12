// The memory of the fullest rank, item by item.

#include "core/error.h"
#include "plan/places.h"
#include "reports/report.h"

namespace plait {

std::vector<MemoryLine> memory_items(const StageUse& use) {
  std::vector<MemoryLine> items;
  for (int c = 0; c < kTensorClasses; ++c) {
    const auto kind = static_cast<TensorClass>(c);
    const std::int64_t bytes = use.live.by_class[static_cast<std::size_t>(c)].value;
    const bool rare = kind == TensorClass::kKvCache || kind == TensorClass::kBuffer;
    if (bytes > 0 || !rare) items.push_back({std::string(name_of(kind)), bytes, ""});
  }
  for (const MemoryItem& o : use.overheads) items.push_back({o.name, o.bytes.value, o.source});
  return items;
}

std::string role_name(Role role) {
  if (role.works) return role.serves ? "worker_and_server" : "worker";
  return "server";
}

MemoryReport summarize_memory(const Plan& plan, const Cluster& cluster,
                              const std::vector<StageUse>& memory, const NodeUse& node) {
  PLAIT_CHECK(!memory.empty() && memory.size() == plan.programs.size(),
              "memory is known for every stage of the plan");
  MemoryReport m;
  for (const StageUse& use : memory) m.stage_bytes.push_back(use.bytes().value);
  const auto capacity = [&](std::size_t stage) {
    return cluster.kind(memory[stage].kind).device.memory.value;
  };
  std::size_t stage = 0;  // with the least room left
  for (std::size_t s = 1; s < memory.size(); ++s) {
    if (capacity(s) - m.stage_bytes[s] < capacity(stage) - m.stage_bytes[stage]) stage = s;
  }
  m.stage = static_cast<std::int64_t>(stage);
  m.rank = rank_at(plan, m.stage * plan.places_per_stage() + memory[stage].position);
  m.peak_memory_bytes = m.stage_bytes[stage];
  m.capacity_bytes = capacity(stage);
  if (cluster.kinds() > 1) m.device = cluster.kind(memory[stage].kind).device.name;
  m.host_bytes = node.memory.value, m.host_capacity_bytes = node.capacity.value;
  m.storage_bytes = node.storage.value;
  m.fits = m.peak_memory_bytes <= m.capacity_bytes && m.host_fits();
  m.items = memory_items(memory[stage]);
  for (const RoleUse& r : memory[stage].roles)
    m.roles.emplace_back(role_name(r.role), r.live.value);
  for (const LiveTensor& t : memory[stage].live.at_peak) {
    const Tensor& tensor = plan.tensors[t.tensor];
    m.largest.push_back({tensor.name, std::string(name_of(tensor.kind)), t.count, t.bytes.value});
  }
  return m;
}

}  // namespace plait
