#include "realrun/issue.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"

namespace plait {

void Walker::Issue::run() {
  // Timed compute ends when it should, not up to 50 us later, by when Linux would bundle timers.
  if (!w_.options_.timed_compute_s.empty()) prctl(PR_SET_TIMERSLACK, 1UL);
  std::int64_t flat = 0;
  for (const Call& call : plan_.programs[w_.rank().stage].calls) {
    for (const Op& op : plan_.blocks[call.block].ops) {
      if (runs_on(plan_, op, w_.rank().role)) issue({op, call, flat});
      w_.device_->release_after(flat++);
    }
  }
  catch_up();
}

void Walker::Issue::issue(const Issued& issued) {
  if (issued.op.stream == Stream::kCompute) return compute(issued);
  catch_up();
  const auto operands = std::make_shared<Operands>(w_.device_->operands(issued));
  Communicator::Work work;
  work.op = issued.flat, work.stream = issued.op.stream;
  work.after = w_.after_[static_cast<std::size_t>(issued.flat)];
  work.what = name_of_op(issued);
  work.keeps = operands;
  work.communication = communication(issued, operands);
  w_.communicator_.hand_over(std::move(work));
}

void Walker::Issue::compute(const Issued& issued) {
  PLAIT_CHECK(std::holds_alternative<Compute>(issued.op.body),
              "communication in the compute stream");
  const Operands operands = w_.device_->operands(issued);
  for (std::uint32_t other : w_.after_[static_cast<std::size_t>(issued.flat)]) {
    w_.communicator_.wait(other);
  }
  if (!w_.options_.timed_compute_s.empty()) return compute_in_time(issued.flat);
  w_.device_->compute(w_.context_, issued, operands);
}

/// Begins when the compute before it and what it waited for had ended.
void Walker::Issue::compute_in_time(std::int64_t op) {
  const auto flat = static_cast<std::size_t>(op);
  if (free_at_ns_ == 0) free_at_ns_ = now_ns();
  for (std::uint32_t other : w_.after_[flat]) {
    free_at_ns_ = std::max(free_at_ns_, w_.communicator_.time(other).end_ns);
  }
  OpTime& time = w_.timed_[flat];
  time = {.start_ns = free_at_ns_};
  free_at_ns_ += static_cast<std::int64_t>(w_.options_.timed_compute_s[flat] * 1e9);
  time.end_ns = free_at_ns_;
}

void Walker::Issue::catch_up() {
  // To ask Linux for a sleep until a time that has passed costs tens of microseconds.
  if (free_at_ns_ <= now_ns()) return;
  const timespec until{static_cast<time_t>(free_at_ns_ / 1'000'000'000),
                       static_cast<long>(free_at_ns_ % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

std::unique_ptr<Communication> Walker::Issue::communication(const Issued& issued,
                                                            std::shared_ptr<Operands> operands) {
  if (const std::optional<Exchange> exchange = exchanges_.read(issued.op)) {
    CollectiveLibrary* library =
        w_.options_.library_collectives ? w_.transport_.library() : nullptr;
    return w_.device_->communication(issued, *exchange, std::move(operands), library);
  }
  if (!w_.options_.timed_compute_s.empty()) return std::make_unique<LocalWork>([] {});
  return w_.device_->local_work(w_.context_, issued, std::move(operands));
}

std::string Walker::Issue::name_of_op(const Issued& issued) const {
  const auto& [op, call, flat] = issued;
  std::string out = std::string(plait::name_of(op)) + " of " +
                    plan_.tensors[op.operands.at(0).tensor].name + " in " +
                    plan_.blocks[call.block].name + ", layer " + std::to_string(call.layer) +
                    ", microbatch " + std::to_string(call.microbatch);
  if (const Collective* c = std::get_if<Collective>(&op.body)) out += ", over " + name_of(c->axes);
  return out;
}

}  // namespace plait
