#include "sim/holdings.h"

#include <algorithm>
#include <limits>

#include "sim/lane_clocks.h"

namespace plait {
namespace {

/// How it stands at a time: SMs that are held, and when that next changes.
struct Held {
  int sms = 0;
  SimTime until = std::numeric_limits<SimTime>::max();
  /// One that has not ended by `now`.
  void add(SimTime start, SimTime end, int its, SimTime now) {
    const bool begun = start <= now;
    if (begun) sms += its;
    until = std::min(until, begun ? end : start);
  }
};

/// From one change of what is held to the next. `held_at`: at a time, no earlier than before.
template <class HeldAt>
SimTime paced_end(int sms, SimTime start, SimTime duration, HeldAt&& held_at) {
  SimTime now = start, end = counted_sum(start, duration);
  int pace = sms;  // that `end` reckons with
  while (sms > 0) {
    const Held held = held_at(now);
    const int free = std::max(1, sms - held.sms);
    if (free != pace) end = counted_sum(now, scaled_up(end - now, pace, free));
    if (end <= held.until) break;
    pace = free;
    now = held.until;
  }
  return end;
}

}  // namespace

SimTime end_beside(std::span<const Holding> holdings, int sms, SimTime start, SimTime duration) {
  return paced_end(sms, start, duration, [&](SimTime now) {
    Held out;
    for (const Holding& h : holdings) {
      if (h.end > now) out.add(h.start, h.end, h.sms, now);
    }
    return out;
  });
}

StageHoldings::StageHoldings(const Durations& durations, std::size_t stage, std::size_t lanes)
    : durations_(durations), stage_(stage), lanes_(lanes) {}

StageHoldings::Collective& StageHoldings::next(std::size_t stream) {
  Queue& q = queues_[stream];
  busy_ |= 1U << stream;
  if (q.first == q.size) {
    q.first = q.size = 0;
    q.next.clear();
  }
  if (q.size == q.items.size() && 2 * q.first >= q.size) {
    std::rotate(q.items.begin(), q.items.begin() + static_cast<std::ptrdiff_t>(q.first),
                q.items.end());
    for (std::size_t& at : q.next) at = std::max(at, q.first) - q.first;
    q.size -= q.first, q.first = 0;
  }
  if (q.size == q.items.size()) q.items.emplace_back();
  Collective& c = q.items[q.size++];
  c.start.resize(lanes_), c.end.resize(lanes_), c.sms.resize(lanes_);
  return c;
}

void StageHoldings::begin(std::size_t op, std::size_t stream, const SimTime* start,
                          const DurationRow& row) {
  if (!durations_.holds(stage_, op)) return;
  Collective& c = next(stream);
  set(c.start.data(), start, lanes_);
  set(c.end.data(), start, lanes_);
  plait::advance(c.end.data(), row, lanes_);
  for (std::size_t l = 0; l < lanes_; ++l) c.sms[l] = durations_.held(stage_, l, op);
  c.until = *std::max_element(c.end.begin(), c.end.end());
  until_ = std::max(until_, c.until);
}

void StageHoldings::forget(SimTime now) {
  if (until_ <= now) until_ = 0;
  for_each_busy([&](std::size_t s) {
    Queue& q = queues_[s];
    while (q.first < q.size && q.items[q.first].until <= now) ++q.first;
    if (q.first == q.size) busy_ &= ~(1U << s);
  });
}

bool StageHoldings::has_long_queues() const {
  constexpr std::size_t kLong = 8;
  bool out = false;
  for_each_busy([&](std::size_t s) { out = out || queues_[s].size - queues_[s].first > kLong; });
  return out;
}

void StageHoldings::pass(std::size_t lane, SimTime now) {
  for_each_busy([&](std::size_t s) {
    Queue& q = queues_[s];
    q.next.resize(lanes_);
    std::size_t at = q.next_on(lane);
    while (at < q.size && q.items[at].end[lane] <= now) ++at;
    q.next[lane] = at;
  });
}

bool StageHoldings::as_before(std::size_t lane, SimTime end) const {
  bool alike = true;
  for_each_busy([&](std::size_t s) {
    const Queue& q = queues_[s];
    for (std::size_t i = std::min(q.next_on(lane), q.next_on(lane - 1)); i < q.size && alike; ++i) {
      const Collective& c = q.items[i];
      if (c.start[lane] >= end && c.start[lane - 1] >= end) break;
      alike = c.start[lane] == c.start[lane - 1] && c.end[lane] == c.end[lane - 1] &&
              c.sms[lane] == c.sms[lane - 1];
    }
  });
  return alike;
}

SimTime StageHoldings::end_on(std::size_t lane, SimTime start, SimTime duration) {
  for_each_busy([&](std::size_t s) { at_[s] = queues_[s].next_on(lane); });
  const int sms = durations_.multiprocessors(stage_, lane);
  return paced_end(sms, start, duration, [&](SimTime now) {
    Held out;
    for_each_busy([&](std::size_t s) {
      const Queue& q = queues_[s];
      while (at_[s] < q.size && q.items[at_[s]].end[lane] <= now) ++at_[s];
      if (at_[s] == q.size) return;
      const Collective& c = q.items[at_[s]];
      out.add(c.start[lane], c.end[lane], c.sms[lane], now);
    });
    return out;
  });
}

void StageHoldings::advance(SimTime* clock, const DurationRow& row) {
  if (until_ > 0) forget(*std::min_element(clock, clock + lanes_));
  if (until_ == 0) return plait::advance(clock, row, lanes_);
  const bool many = has_long_queues();
  SimTime start_before = 0;
  for (std::size_t l = 0; l < lanes_; ++l) {
    const SimTime start = clock[l];
    if (many) pass(l, start);
    const bool alike =
        l > 0 && start == start_before && row.at(l) == row.at(l - 1) &&
        durations_.multiprocessors(stage_, l) == durations_.multiprocessors(stage_, l - 1) &&
        as_before(l, clock[l - 1]);
    clock[l] = alike ? clock[l - 1] : end_on(l, start, row.at(l));
    start_before = start;
  }
}

}  // namespace plait
