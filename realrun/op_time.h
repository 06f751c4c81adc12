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
/// Involuntary context switches of the calling thread.
std::int64_t thread_switches();

/// Adds what the calling thread uses from its construction to `stop` to an OpTime.
class Stopwatch {
 public:
  Stopwatch() : start_(now_ns()), cpu_(thread_cpu_ns()), switches_(thread_switches()) {}
  std::int64_t start_ns() const { return start_; }
  /// Sets the end, and adds processor time and switches.
  void stop(OpTime& time) const {
    time.end_ns = now_ns();
    time.cpu_ns += thread_cpu_ns() - cpu_;
    time.switches += thread_switches() - switches_;
  }

 private:
  std::int64_t start_, cpu_, switches_;
};

}  // namespace plait
