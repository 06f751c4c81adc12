#pragma once
// Messages between two ranks, to and fro.

#include <cstdint>
#include <vector>

#include "realrun/control.h"
#include "realrun/transport.h"

namespace plait {

/// Of each message, in seconds.
struct PingPong {
  std::vector<double> one_way;                // half a round trip, wall time
  std::vector<double> send_cpu, receive_cpu;  // processor time of this rank's thread
};

/// `rounds` messages of `bytes` from the rank that begins to the other and back. Ranks 0 and 1 call
/// it, rank 0 begins.
PingPong ping_pong(Transport& transport, std::int64_t bytes, std::int64_t rounds);

/// What threads lose by sleeping, in seconds, for each repeat. As in a step, every rank computes
/// for a while before, and its communication thread sleeps: a core that has had nothing to do for
/// long needs longer to begin.
struct WakeTimes {
  /// Half of the time to hand the communication thread nothing and wait for its end, which wakes
  /// both threads once.
  std::vector<double> wake;
  /// To hand it a message to the other rank and one from it, `kExchanged` bytes each, and wait for
  /// both: two wakes, a send, the way, and a receive.
  std::vector<double> exchange;
};
inline constexpr std::int64_t kExchanged = 64;
/// All ranks call it; 0 and 1 exchange.
WakeTimes wake_times(Transport& transport, Control& control, std::int64_t repeats);

}  // namespace plait
