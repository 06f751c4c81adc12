#pragma once
// When an op of a real run was at work, and what it cost the processor.

#include <cstdint>

namespace plait {

struct OpTime {
  std::int64_t start_ns = 0, end_ns = 0;  // on the machine's monotonic clock
  std::int64_t cpu_ns = 0;                // of the thread that executed it
  std::int64_t switches = 0;              // how often that thread was pushed off its core
};

/// The machine's monotonic clock: the same for all processes of a machine.
std::int64_t now_ns();
/// Processor time of the calling thread.
std::int64_t thread_cpu_ns();
inline constexpr double kSecondsPerNs = 1e-9;

/// What a thread has used so far.
struct ThreadUse {
  std::int64_t cpu_ns = 0;    // in whole microseconds
  std::int64_t switches = 0;  // involuntary
};
/// Of the calling thread, by one system call.
ThreadUse thread_use();

/// Times the ops of one thread, one after the other. What the thread uses between two ops counts
/// for the second, so that one look at the system's books per op is enough.
class OpClock {
 public:
  /// From here on what the thread uses counts: it has done something else, or just started.
  void restart() { last_ = thread_use(); }
  /// An op begins.
  static OpTime begin() { return {.start_ns = now_ns()}; }
  /// It has ended, or paused: sets the end, and adds processor time and switches.
  void end(OpTime& time) {
    time.end_ns = now_ns();
    const ThreadUse use = thread_use();
    time.cpu_ns += use.cpu_ns - last_.cpu_ns;
    time.switches += use.switches - last_.switches;
    last_ = use;
  }

 private:
  ThreadUse last_;
};

}  // namespace plait
