#pragma once
// What a route costs so far, in the order in which routes are preferred. NVLink comes before
// whatever else is there, as with drivers and NCCL; then the least latency; among equals the
// widest, then the one of fewest hops. Latency is in whole picoseconds: ties are exact, and both
// directions of a route agree.

#include <limits>
#include <tuple>
#include <utility>

#include "core/time.h"
#include "topologies/cluster.h"

namespace plait {

struct Distance {
  bool beyond_nvlink = false;
  SimTime latency = 0;
  double bandwidth = std::numeric_limits<double>::infinity();  // of the narrowest link
  int hops = 0;
  LinkClass link = LinkClass::kNvlink;   // of the narrowest link
  std::optional<LinkClass> fabric = {};  // that it crosses

  friend bool operator<(const Distance& a, const Distance& b) {
    return std::tuple(a.beyond_nvlink, a.latency, -a.bandwidth, a.hops, a.link) <
           std::tuple(b.beyond_nvlink, b.latency, -b.bandwidth, b.hops, b.link);
  }
  /// As a NIC's rate. PCIe wins no tie, which rounding could decide.
  double carried() const {
    constexpr double kAbove = 1 + 1e-9;
    return link == LinkClass::kPcie ? bandwidth * (kNicForPcie * kAbove) : bandwidth;
  }
  /// First this, then `next`. Of two links that carry as much the outer one (fabric before PCIe)
  /// names the route.
  Distance then(const Distance& next) const {
    Distance out = *this;
    out.beyond_nvlink |= next.beyond_nvlink;
    out.latency += next.latency;
    out.hops += next.hops;
    if (next.fabric) out.fabric = next.fabric;
    if (std::pair(next.carried(), -int(next.link)) < std::pair(carried(), -int(link))) {
      out.bandwidth = next.bandwidth;
      out.link = next.link;
    }
    return out;
  }
  bool reached() const { return hops != std::numeric_limits<int>::max(); }
  Path path() const {
    Path out = {link, BytesPerSecond(bandwidth), to_seconds(latency), hops};
    if (fabric && *fabric != link) out.beyond = fabric;
    return out;
  }
};

inline constexpr Distance kUnreachable = {true, std::numeric_limits<SimTime>::max(), 0,
                                          std::numeric_limits<int>::max(), LinkClass::kNvlink};

inline Distance over(LinkClass link, BytesPerSecond bandwidth, Seconds latency) {
  Distance out = {link != LinkClass::kNvlink, to_sim_time(latency), bandwidth.value, 1, link};
  if (link == LinkClass::kInfiniband || link == LinkClass::kEthernet) out.fabric = link;
  return out;
}

}  // namespace plait
