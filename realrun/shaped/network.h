#pragma once
// Computers on a switch, as network namespaces of this one: each host has one link, limited in both
// directions by a token bucket (tc-tbf), and ranks on the same host meet over its loopback, which
// is not limited. Nothing has a name outside, so nothing is left when the process ends or is
// killed. docs/models/shaped.md has the picture and the equations.

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "realrun/shaped/namespaces.h"
#include "realrun/shaped/not_permitted.h"

namespace plait {

/// What a full frame on Ethernet counts for in a token bucket: 1500 bytes of IP and 14 of header.
inline constexpr Bytes kFrame{1514};
/// What TCP carries in it: without 20 bytes of IPv4, 20 of TCP and 12 of its time stamp (RFC 7323).
inline constexpr Bytes kFramePayload{1448};
/// What fits into 10.77.0.0/24.
inline constexpr std::int64_t kMostHosts = 254;

/// Each host's link. Rate and burst count frames: what TCP gets is kFramePayload / kFrame of them.
struct ShapedLinks {
  std::int64_t hosts = 2;
  BytesPerSecond rate = {};  // each direction; 0: not shaped
  Bytes burst = {};          // depth of each bucket; 0: default_burst(rate)
};

/// 2 ms at `rate`, and 2 frames at least: deep enough that a timer that is late by a scheduler tick
/// or a busy core loses nothing.
Bytes default_burst(BytesPerSecond rate);

class ShapedNetwork {
 public:
  /// The calling thread is in the switch's namespace afterwards; see run_in_own_network. Throws
  /// NotPermitted, and EnvironmentError for what should have worked.
  explicit ShapedNetwork(const ShapedLinks& links);

  /// Moves the calling thread, and what it forks or starts afterwards, into the host.
  void enter(std::int64_t host) const;
  /// IPv4 address of a host: "10.77.0.1" is host 0's.
  std::string address(std::int64_t host) const;

 private:
  const Descriptor& at(std::int64_t host) const;

  std::vector<Descriptor> hosts_;
};

}  // namespace plait
