#pragma once
// Whether wall time on this machine can be believed: what other machines on the same host steal,
// how fast two cores hand a word to each other, and how late a thread is woken.

#include <cstdint>
#include <string>

namespace plait {

/// Processor time of the whole machine since it started, as /proc/stat counts it.
struct MachineTime {
  std::int64_t stolen = 0, busy = 0, total = 0;  // ticks, over all processors
};
/// All zero where there is no /proc/stat.
MachineTime machine_time();

struct Quietness {
  double stolen = 0;           // share of the processors' time that the host gave to others
  double busy = 0;             // share that they worked, for whomever
  double core_to_core_ns = 0;  // one way, median; 0 on one core
  double core_to_core_p90 = 0;
  double jitter = 0;  // how much longer a fixed piece of work took, 90th percentile
};

/// Takes about `seconds`.
Quietness probe_quietness(double seconds = 0.3);

/// Since `before`: only what was stolen and busy.
Quietness quietness_since(const MachineTime& before);

/// "quiet", or "noisy: 12 % stolen, ...": what is beyond the limits in quiet.cpp.
std::string words_for(const Quietness& q);

}  // namespace plait
