#include "sim/event/machine.h"

#include <algorithm>

namespace plait {
namespace {

std::vector<SharedLink> ways_out_and_in(const HostSystem& system) {
  if (system.hosts < 2) return {};
  return std::vector<SharedLink>(static_cast<std::size_t>(2 * system.hosts), system.link);
}

// Threads by number: a rank's compute thread, then its communication thread.
std::uint32_t compute_thread(std::uint32_t rank) { return 2 * rank; }
std::uint32_t communication_thread(std::uint32_t rank) { return 2 * rank + 1; }

}  // namespace

EventMachine::EventMachine(const HostSystem& system, const std::vector<std::int64_t>& host_of_rank)
    : links_(ways_out_and_in(system)), threads_(host_of_rank.size()) {
  const std::int64_t hosts_per_machine = ceil_div(system.hosts, system.machines);
  for (std::int64_t host : host_of_rank) {
    host_.push_back(static_cast<std::uint32_t>(host));
    cores_of_.push_back(static_cast<std::uint32_t>(host / hosts_per_machine));
  }
  cores_.assign(static_cast<std::size_t>(system.machines), Cores(system.cores));
}

void EventMachine::compute(std::uint32_t rank, SimTime work) {
  cores_[cores_of_[rank]].start(now_, compute_thread(rank), work);
}

void EventMachine::work(std::uint32_t rank, Stream stream, SimTime work, EventKind kind,
                        std::uint32_t id) {
  threads_[rank].pieces.push({now_, stream, pieces_++, work, kind, id});
  woken_.push_back(rank);
}

void EventMachine::flow(std::uint32_t from, std::uint32_t to, Bytes bytes, std::uint32_t id) {
  if (flow_from_.size() <= id) flow_from_.resize(2 * std::size_t{id} + 1);
  flow_from_[id] = from;
  const std::uint32_t a = host_[from], b = host_[to];
  links_.start(now_, id, {2 * a, 2 * b + 1}, {2 * b, 2 * a + 1}, bytes);
}

void EventMachine::after(SimTime delay, std::uint32_t rank, EventKind kind, std::uint32_t id) {
  timers_.push({now_ + delay, rank, kind, id});
}

void EventMachine::start_pieces() {
  std::ranges::sort(woken_);
  for (std::uint32_t rank : woken_) {
    Thread& thread = threads_[rank];
    if (thread.busy || thread.pieces.empty()) continue;
    const Piece& piece = thread.pieces.top();
    thread.busy = true, thread.kind = piece.kind, thread.id = piece.id;
    cores_[cores_of_[rank]].start(now_, communication_thread(rank), piece.work);
    thread.pieces.pop();
  }
  woken_.clear();
}

/// All events of the next time at which something happens.
bool EventMachine::collect() {
  start_pieces();
  SimTime soonest = std::min(links_.next(), timers_.empty() ? kNever : timers_.top().time);
  for (const Cores& c : cores_) soonest = std::min(soonest, c.next());
  if (soonest == kNever) return false;
  now_ = soonest;
  ended_.clear();
  for (Cores& c : cores_) c.advance(now_, ended_);
  for (std::uint32_t thread : ended_) {
    const std::uint32_t rank = thread / 2;
    if (thread == compute_thread(rank)) {
      due_.push_back({now_, rank, EventKind::kComputed, 0});
      continue;
    }
    due_.push_back({now_, rank, threads_[rank].kind, threads_[rank].id});
    threads_[rank].busy = false;
    woken_.push_back(rank);
  }
  ended_.clear();
  links_.advance(now_, ended_);
  for (std::uint32_t id : ended_) due_.push_back({now_, flow_from_[id], EventKind::kFlowed, id});
  for (; !timers_.empty() && timers_.top().time == now_; timers_.pop()) {
    due_.push_back(timers_.top());
  }
  std::ranges::sort(due_, std::greater<>());
  return true;
}

bool EventMachine::next(HostEvent& event) {
  while (due_.empty()) {
    if (!collect()) return false;
  }
  event = due_.back();
  due_.pop_back();
  return true;
}

}  // namespace plait
