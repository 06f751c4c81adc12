#include "topologies/cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "core/error.h"
#include "topologies/graph.h"

namespace plait {
namespace {

FlopsPerSecond listed_peak(const Device& d, DType dtype) {
  switch (dtype) {
    case DType::kFp64: return d.peak_fp64;
    case DType::kFp32: return d.peak_fp32;
    case DType::kBf16: return d.peak_bf16;
    case DType::kFp16: return d.peak_fp16;
    case DType::kFp8: return d.peak_fp8;
    case DType::kNvfp4: return d.peak_fp4;
    case DType::kInt64:
    case DType::kInt32:
    case DType::kInt8:
    case DType::kNf4: return d.vector_fp32;  // no product of integers in a plan: vector units
  }
  return {};
}

/// Of its products.
std::vector<std::string_view> formats(const Device& d) {
  std::vector<std::string_view> out;
  for (DType t :
       {DType::kFp64, DType::kFp32, DType::kBf16, DType::kFp16, DType::kFp8, DType::kNvfp4}) {
    if (listed_peak(d, t).value > 0) out.push_back(name_of(t));
  }
  return out;
}

}  // namespace

const NodeKind& Cluster::kind(std::size_t k) const {
  if (k == 0) return *this;
  return others[k - 1];
}

std::size_t Cluster::kind_of(std::int64_t device_index) const {
  const std::int64_t node = device_index / devices_per_node;
  for (std::size_t k = 0; k < others.size(); ++k) {
    if (others[k].first <= node && node <= others[k].last) return k + 1;
  }
  return 0;
}

bool Cluster::shares_memory() const {
  return graph != nullptr && graph->kinds[0].island.shared_memory.value > 0;
}

std::int64_t Cluster::hosts() const {
  std::int64_t out = nodes * hosts_per_node;
  for (const OtherKind& o : others)
    out += (o.last - o.first + 1) * (o.hosts_per_node - hosts_per_node);
  return out;
}

double Cluster::share(std::size_t k) const {
  const auto share_of = [this](const OtherKind& o) {
    return static_cast<double>(o.last - o.first + 1) / static_cast<double>(nodes);
  };
  if (k > 0) return share_of(others[k - 1]);
  double rest = 1;
  for (const OtherKind& o : others) rest -= share_of(o);
  return rest;
}

Watts Cluster::rated_power() const {
  Watts mean;
  for (std::size_t k = 0; k < kinds(); ++k) {
    const Watts power = kind(k).device.power;
    if (!(power.value > 0)) return {};
    mean += share(k) * power;
  }
  return mean;
}

double Cluster::rated_energy_kwh(Seconds time) const {
  constexpr double kJoulesPerKwh = 3.6e6;
  return static_cast<double>(world_size()) * rated_power().value * time.value / kJoulesPerKwh;
}

std::string_view name_of(LinkClass c) {
  switch (c) {
    case LinkClass::kNvlink: return "nvlink";
    case LinkClass::kPcie: return "pcie";
    case LinkClass::kInfiniband: return "infiniband";
    case LinkClass::kEthernet: return "ethernet";
    case LinkClass::kC2c: return "c2c";
    case LinkClass::kDeviceMemory: return "memory";
  }
  return "?";
}

FlopsPerSecond Device::peak(DType dtype) const {
  const FlopsPerSecond rate = listed_peak(*this, dtype);
  if (rate.value > 0) return rate;
  InputError::Text text;
  text.code = "C005";
  text.problem = fmt::format("{} has no {} matrix units", name, name_of(dtype));
  text.where.path = "cluster";
  text.expected = fmt::format("a number format of the device: {}", fmt::join(formats(*this), ", "));
  const bool narrow = dtype == DType::kFp8 || dtype == DType::kNvfp4;
  text.cure = narrow ? "choose such a one in workload.precision.matmul, or serving.products=plain "
                       "with narrow serving.weights, such as fp8_weights, which are multiplied in "
                       "serving.dtype; or a cluster of other devices"
                     : "choose such a one in workload.precision, or serving.dtype; or a cluster of "
                       "other devices";
  throw InputError(std::move(text));
}

Path route(const Cluster& cluster, std::int64_t from, std::int64_t to) {
  PLAIT_CHECK(from >= 0 && to >= 0 && from < cluster.world_size() && to < cluster.world_size(),
              "device index outside of the cluster");
  return cluster.graph->distance(from, to).path();
}

std::int64_t symmetry_period(const Cluster& cluster) {
  const Graph& g = *cluster.graph;
  if (g.uneven()) return cluster.world_size();
  return g.cabling ? g.size() * g.cabling->period() : g.size();
}

}  // namespace plait
