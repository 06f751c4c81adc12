#include "sim/holdings.h"

#include <algorithm>
#include <limits>

namespace plait {
namespace {

/// How it stands at a time: SMs that are held, and when that next changes.
struct Held {
  int sms = 0;
  SimTime until = std::numeric_limits<SimTime>::max();
};

Held held_at(const std::vector<Holding>& holdings, SimTime now) {
  Held out;
  for (const Holding& h : holdings) {
    if (h.end <= now) continue;
    const bool begun = h.start <= now;
    if (begun) out.sms += h.sms;
    out.until = std::min(out.until, begun ? h.end : h.start);
  }
  return out;
}

}  // namespace

SimTime end_beside(const std::vector<Holding>& holdings, int sms, SimTime start, SimTime duration) {
  SimTime now = start, end = start + duration;
  int pace = sms;  // that `end` reckons with
  while (sms > 0) {
    const Held held = held_at(holdings, now);
    const int free = std::max(1, sms - held.sms);
    if (free != pace) end = now + ((end - now) * pace + free - 1) / free;
    if (end <= held.until) break;
    pace = free;
    now = held.until;
  }
  return end;
}

void forget_ended(std::vector<Holding>& holdings, SimTime now) {
  std::erase_if(holdings, [&](const Holding& h) { return h.end <= now; });
}

}  // namespace plait
