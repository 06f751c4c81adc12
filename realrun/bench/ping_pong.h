#pragma once
// Messages between two ranks, to and fro.

#include <cstdint>
#include <vector>

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

/// Handing work that is nothing to the rank's communication thread (realrun/communicator.h) and
/// waiting for its end wakes both threads once; half of that time, for each repeat, in seconds.
std::vector<double> wake_times(Transport& transport, std::int64_t repeats);

}  // namespace plait
