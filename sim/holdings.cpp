#include "sim/holdings.h"

#include <algorithm>
#include <limits>

#include "sim/lane_clocks.h"

namespace plait {
namespace {

/// From one change of what is held to the next. `held_at`: at a time, no earlier than before.
template <class HeldAt>
SimTime paced_end(int sms, SimTime start, SimTime duration, HeldAt&& held_at) {
  SimTime now = start, end = counted_sum(start, duration);
  int pace = sms;  // that `end` reckons with
  if (sms <= 0) return end;
  while (true) {
    const auto& held = held_at(now);
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
  Held held;
  return paced_end(sms, start, duration, [&](SimTime now) -> const Held& {
    held = {.from = now};
    for (const Holding& h : holdings) {
      if (h.end > now) held.add(h);
    }
    return held;
  });
}

StageHoldings::StageHoldings(const Durations& durations, std::size_t stage, std::size_t lanes)
    : durations_(durations), stage_(stage), lanes_(lanes), held_(lanes) {}

void StageHoldings::drop_ended(Queue& q) const {
  if (q.cells.size() + lanes_ <= q.cells.capacity()) return;
  const std::size_t ended = *std::min_element(q.next.begin(), q.next.end());
  if (2 * ended * lanes_ < q.cells.size()) return;
  const auto first = q.cells.begin();
  q.cells.erase(first, first + static_cast<std::ptrdiff_t>(ended * lanes_));
  for (std::size_t& next : q.next) next -= ended;
}

void StageHoldings::begin(std::size_t op, std::size_t stream, const SimTime* start,
                          const DurationRow& row) {
  if (!durations_.holds(stage_, op)) return;
  Queue& q = queues_[stream];
  busy_ |= 1U << stream;
  q.next.resize(lanes_);
  drop_ended(q);
  for (std::size_t l = 0; l < lanes_; ++l) {
    const Holding h = {start[l], start[l] + row.at(l), durations_.held(stage_, l, op)};
    q.cells.push_back(h);
    if (h.end > held_[l].from) held_[l].add(h);
    until_ = std::max(until_, h.end);
  }
}

void StageHoldings::forget(SimTime now) {
  if (until_ == 0 || until_ > now) return;
  for_each_busy([&](std::size_t s) { queues_[s].cells.clear(), queues_[s].next.clear(); });
  busy_ = 0, until_ = 0;
  std::ranges::fill(held_, Held{.from = now});
}

bool StageHoldings::as_before(std::size_t lane, SimTime start, SimTime end) const {
  bool alike = true;
  for_each_busy([&](std::size_t s) {
    const Queue& q = queues_[s];
    const auto before = [&](std::size_t i) { return q.cells[i * lanes_ + lane - 1]; };
    const auto own = [&](std::size_t i) { return q.cells[i * lanes_ + lane]; };
    std::size_t i = std::min(q.next[lane], q.next[lane - 1]);
    while (i > 0 && (before(i - 1).end > start || own(i - 1).end > start)) --i;
    for (const std::size_t size = q.cells.size() / lanes_; i < size && alike; ++i) {
      if (before(i).start >= end && own(i).start >= end) break;
      alike = before(i) == own(i);
    }
  });
  return alike;
}

void StageHoldings::pass_as_before(std::size_t lane) {
  for_each_busy([&](std::size_t s) {
    std::vector<std::size_t>& next = queues_[s].next;
    next[lane] = std::max(next[lane], next[lane - 1]);
  });
}

const Held& StageHoldings::held(std::size_t lane, SimTime now) {
  Held& held = held_[lane];
  if (now < held.until) return held;
  held = {.from = now};
  for_each_busy([&](std::size_t s) {
    Queue& q = queues_[s];
    const std::size_t size = q.cells.size() / lanes_;
    std::size_t& next = q.next[lane];
    while (next < size && q.cells[next * lanes_ + lane].end <= now) ++next;
    if (next < size) held.add(q.cells[next * lanes_ + lane]);
  });
  return held;
}

void StageHoldings::advance(SimTime* clock, const DurationRow& row) {
  if (until_ > 0) forget(*std::min_element(clock, clock + lanes_));
  if (until_ == 0) return plait::advance(clock, row, lanes_);
  SimTime start_before = 0;
  for (std::size_t l = 0; l < lanes_; ++l) {
    const SimTime start = clock[l];
    const int sms = durations_.multiprocessors(stage_, l);
    const bool alike = l > 0 && start == start_before && row.at(l) == row.at(l - 1) &&
                       sms == durations_.multiprocessors(stage_, l - 1) &&
                       as_before(l, start, clock[l - 1]);
    const auto held_at = [&](SimTime now) -> const Held& { return held(l, now); };
    clock[l] = alike ? clock[l - 1] : paced_end(sms, start, row.at(l), held_at);
    if (alike) pass_as_before(l);
    start_before = start;
  }
}

}  // namespace plait
