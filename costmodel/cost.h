#pragma once
// A predicted duration that knows where it comes from: which hardware number it is spent on,
// whether it was measured, fitted or read off a data sheet, and how far it may be off.

#include <array>
#include <cstdint>
#include <string_view>

#include "core/quantity.h"
#include "topologies/cluster.h"

namespace plait {

enum class Provenance : std::uint8_t { kMeasured, kFitted, kDatasheet, kExtrapolated };
std::string_view name_of(Provenance p);

/// The hardware numbers that durations depend on: three of the device, then bandwidth and latency
/// of each link class; the host's issue time, which no duration has a share of: it decides when
/// an op may start; and the host's processor, its memory and the node's drives.
using Resource = std::uint8_t;
inline constexpr Resource kPeakFlops = 0, kMemoryBandwidth = 1, kLaunchOverhead = 2;
inline constexpr Resource kFirstLink = 3;
inline constexpr Resource kHostIssue = kFirstLink + 2 * kLinkClasses;
inline constexpr Resource kHostFlops = kHostIssue + 1, kHostMemory = kHostIssue + 2;
inline constexpr Resource kStorageBandwidth = kHostIssue + 3;
inline constexpr int kResources = kStorageBandwidth + 1;
constexpr Resource bandwidth_of(LinkClass c) {
  return static_cast<Resource>(kFirstLink + 2 * static_cast<int>(c));
}
constexpr Resource latency_of(LinkClass c) { return static_cast<Resource>(bandwidth_of(c) + 1); }
/// "peak_flops", "memory_bandwidth", "launch_overhead", "nvlink_bandwidth", "nvlink_latency", ...
std::string_view resource_name(Resource r);

/// Seconds by the resource they are spent on; they add up to the duration. To first order, a
/// resource better by a small fraction shortens the duration by that fraction of its share.
struct Cost {
  std::array<Seconds, kResources> share = {};
  Provenance provenance = Provenance::kDatasheet;
  double band = 0;  // half-width of the relative error band: 0.1 means +-10 %

  Seconds total() const {
    Seconds t;
    for (Seconds s : share) t += s;
    return t;
  }
};

/// Adds the shares; the worse provenance and the weighted mean of the bands remain.
Cost operator+(const Cost& a, const Cost& b);
/// `times` such ops, one after the other.
Cost operator*(double times, Cost cost);

}  // namespace plait
