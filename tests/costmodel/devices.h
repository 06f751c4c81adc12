#pragma once
// Devices and groups for tests, from data sheets: only the numbers that the cost model reads.

#include <initializer_list>
#include <string>

#include "costmodel/costmodel.h"

namespace plait {

inline Device gpu(const char* name, int capability, double bf16, double memory, double l2_mib,
                  double launch, int sms = 0) {
  Device d;
  d.name = name;
  d.compute_capability = capability;
  d.peak_bf16 = d.peak_fp16 = FlopsPerSecond(bf16);
  d.peak_fp32 = d.vector_fp32 = FlopsPerSecond(bf16 / 16);
  d.memory_bandwidth = BytesPerSecond(memory);
  d.l2_cache = Bytes(static_cast<std::int64_t>(l2_mib * (1 << 20)));
  d.launch_overhead = Seconds(launch);
  d.sms = sms;
  if (capability >= 90) d.peak_fp8 = FlopsPerSecond(2 * bf16);
  if (capability >= 100) d.peak_fp4 = FlopsPerSecond(4 * bf16);
  return d;
}
inline Device a100() { return gpu("a100-80-sxm", 80, 312e12, 2.039e12, 40, 1.9e-6, 108); }
inline Device h100() { return gpu("h100-sxm", 90, 989.4e12, 3.35e12, 50, 1.3e-6, 132); }
inline Device b200() { return gpu("b200", 100, 2250e12, 8e12, 126, 1.3e-6, 148); }
inline Device cpu() { return gpu("cpu-host", 0, 3e12, 200e9, 32, 1e-6); }

inline Path nvlink(double bandwidth) {
  return {LinkClass::kNvlink, BytesPerSecond(bandwidth), Seconds(0.936e-6), 2};
}
inline Path infiniband(double bandwidth) {
  return {LinkClass::kInfiniband, BytesPerSecond(bandwidth), Seconds(2.5e-6), 6};
}
inline double nvlink_rate(const Device& d) {
  return d.compute_capability >= 100 ? 900e9 : d.compute_capability >= 90 ? 450e9 : 300e9;
}

inline Cluster cluster_of(const Device& device) {
  Cluster c;
  c.device = device;
  c.devices_per_node = 8;
  c.host = {LinkClass::kPcie, BytesPerSecond(63e9), Seconds(0.8e-6), 2};
  return c;
}

/// n GPUs behind NVSwitches.
inline GroupPlacement island(const Device& device, std::int64_t n) {
  GroupPlacement g;
  g.ranks = g.ranks_per_node = g.fewest_per_node = n;
  g.intra = g.intra_exchange = nvlink(nvlink_rate(device));
  g.in_switch_reduction = device.compute_capability >= 90 && n > 1;
  return g;
}
/// `nodes` islands of `per_node` GPUs with a 400 Gbit/s NIC each.
inline GroupPlacement islands(const Device& device, std::int64_t nodes, std::int64_t per_node,
                              double nic = 50e9) {
  GroupPlacement g = island(device, per_node);
  g.ranks = nodes * per_node;
  g.nodes = nodes;
  if (nodes > 1) g.inter = g.exchange = infiniband(nic);
  return g;
}

inline Collective collective(CollectiveKind kind, std::int64_t bytes) {
  Collective c;
  c.kind = kind;
  c.dtype = DType::kInt8;
  c.elements = bytes;
  return c;
}
inline CollectiveCost cost_of(CollectiveKind kind, std::int64_t bytes, const GroupPlacement& group,
                              const Device& device, Selection selection = Selection::kNccl) {
  return CostModel{selection}.collective(collective(kind, bytes), group, cluster_of(device));
}

inline constexpr std::int64_t kMiB = 1 << 20;
inline constexpr std::int64_t kGiB = 1 << 30;

}  // namespace plait
