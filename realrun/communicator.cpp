#include "realrun/communicator.h"

#include <algorithm>

#include "core/error.h"
#include "realrun/patience.h"

namespace plait {
namespace {

constexpr double kLongestPause = 0.1;  // seconds between looks at the watchdog

}  // namespace

Communicator::Communicator(Transport& transport, std::size_t ops, double patience_s)
    : transport_(transport), patience_s_(patience_s), times_(ops), done_(ops, 0) {
  thread_ = std::thread([this] { run(); });
}

Communicator::~Communicator() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  handed_over_.notify_one();
  transport_.wake();
  thread_.join();
}

void Communicator::hand_over(Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    inbox_.push_back(std::move(work));
    ++open_;
  }
  handed_over_.notify_one();
  transport_.wake();
}

void Communicator::wait(std::int64_t op) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return failure_ || done_[static_cast<std::size_t>(op)] != 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void Communicator::finish_step() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return failure_ || open_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
  std::ranges::fill(done_, 0);
}

void Communicator::run() {
  try {
    serve();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    ended_.notify_all();
  }
}

void Communicator::serve() {
  while (true) {
    take_over();
    if (idle()) {
      const std::lock_guard lock(mutex_);
      if (stopping_ && inbox_.empty()) return;
      continue;
    }
    if (advance_all()) {
      last_progress_ns_ = now_ns();
      continue;
    }
    if (progress()) last_progress_ns_ = now_ns();
    give_up_if_stuck();
    const std::lock_guard lock(mutex_);
    if (stopping_) return;  // the rank has failed
  }
}

/// A transfer that fails says what it was for.
bool Communicator::progress() {
  try {
    return transport_.progress(std::min(kLongestPause, patience_s_ / 2));
  } catch (const EnvironmentError& e) {
    const std::string where = waiting();
    throw EnvironmentError(e.what() + (where.empty() ? "" : ", " + where));
  }
}

/// Moves what was handed over into the queues; waits for it when there is nothing to do.
void Communicator::take_over() {
  std::unique_lock lock(mutex_);
  if (idle()) {
    handed_over_.wait(lock, [&] { return stopping_ || !inbox_.empty(); });
    last_progress_ns_ = now_ns();
  }
  for (Work& w : inbox_) queues_[static_cast<std::size_t>(w.stream)].push_back(std::move(w));
  inbox_.clear();
}

bool Communicator::idle() const {
  return std::ranges::all_of(queues_, [](const std::deque<Work>& q) { return q.empty(); });
}

/// True when an op has ended. Ops of a stream are finished in their order.
bool Communicator::advance_all() {
  bool any = false;
  for (std::deque<Work>& queue : queues_) {
    for (Work& w : queue) {
      if (w.ended) continue;
      if (!w.running && !ready(w)) break;
      w.ended = advance(w);
      any = any || w.ended;
      if (!w.ended && !w.communication->lets_pass()) break;
    }
    while (!queue.empty() && queue.front().ended) {
      finished(queue.front().op);
      queue.pop_front();
    }
  }
  return any;
}

bool Communicator::advance(Work& work) {
  OpTime& time = times_[static_cast<std::size_t>(work.op)];
  if (!work.running) time = OpClock::begin();
  work.running = true;
  const bool ended = work.communication->advance(transport_);
  clock_.end(time);
  return ended;
}

bool Communicator::ready(const Work& work) const {
  // Only this thread writes done_.
  return std::ranges::all_of(work.after, [&](std::uint32_t op) { return done_[op] != 0; });
}

void Communicator::finished(std::int64_t op) {
  {
    const std::lock_guard lock(mutex_);
    done_[static_cast<std::size_t>(op)] = 1;
    --open_;
  }
  ended_.notify_all();
}

/// Ops that have begun, and whom they wait for.
std::string Communicator::waiting() const {
  std::string text;
  for (const std::deque<Work>& queue : queues_) {
    for (const Work& w : queue) {
      if (!w.running || w.ended) continue;
      text += (text.empty() ? "at " : "; at ") + w.what + ": nothing came from " +
              w.communication->waits_for();
    }
  }
  return text;
}

void Communicator::give_up_if_stuck() {
  if (static_cast<double>(now_ns() - last_progress_ns_) < patience_s_ * 1e9) return;
  const std::string who = "rank " + std::to_string(transport_.rank());
  const std::string where = waiting();
  if (where.empty()) throw InternalError(who + " has communication that nothing starts");
  throw EnvironmentError(who + " waited in vain " + where + after_patience(patience_s_));
}

}  // namespace plait
