#include "costmodel/cost.h"

#include <algorithm>
#include <array>

namespace plait {

std::string_view name_of(Provenance p) {
  switch (p) {
    case Provenance::kMeasured: return "measured";
    case Provenance::kFitted: return "fitted";
    case Provenance::kDatasheet: return "datasheet";
    case Provenance::kExtrapolated: return "extrapolated";
  }
  return "?";
}

std::string_view resource_name(Resource r) {
  static constexpr std::array<std::string_view, kResources> kNames = {
      "peak_flops",         "memory_bandwidth",        "launch_overhead",
      "nvlink_bandwidth",   "nvlink_latency",          "pcie_bandwidth",
      "pcie_latency",       "infiniband_bandwidth",    "infiniband_latency",
      "ethernet_bandwidth", "ethernet_latency",        "c2c_bandwidth",
      "c2c_latency",        "device_memory_bandwidth", "device_memory_latency",
      "host_issue",         "host_peak_flops",         "host_memory_bandwidth",
      "storage_bandwidth"};
  static_assert(!kNames.back().empty());
  return r < kNames.size() ? kNames[r] : "?";
}

Cost operator+(const Cost& a, const Cost& b) {
  const double ta = a.total().value, tb = b.total().value;
  if (tb == 0) return a;
  if (ta == 0) return b;
  Cost sum;
  for (std::size_t r = 0; r < sum.share.size(); ++r) sum.share[r] = a.share[r] + b.share[r];
  sum.provenance = std::max(a.provenance, b.provenance);
  sum.band = (a.band * ta + b.band * tb) / (ta + tb);
  return sum;
}

Cost operator*(double times, Cost cost) {
  for (Seconds& share : cost.share) share *= times;
  return cost;
}

}  // namespace plait
