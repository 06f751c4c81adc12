#pragma once
// Where one step of one device goes: the same sums for a step that a profiler recorded and for one
// that was simulated.
//
// Device time of a kind is the sum over its kernels, whatever runs beside them. A step's time is
// cut into shares that add up to it: every instant belongs to the kernel that computes then (of
// several the one that began first); where none does to the communication in flight, which is
// exposed; else to a copy; else the device is idle.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/time.h"
#include "reports/profile/kernel_kind.h"

namespace plait {

struct KindUse {
  double calls = 0;
  double time_s = 0;   // sum over calls
  double share_s = 0;  // of the step
};

/// Communication of one kind, group size and size.
struct MessageUse {
  KernelKind kind = KernelKind::kOtherCommunication;
  std::int64_t ranks = 0, bytes = 0;  // nccl-tests' size S; 0: not known
  double calls = 0;                   // a step
  double time_s = 0;                  // of all calls of a step
  double least_s = 0, median_s = 0;   // of one call
  /// Bytes per second of the bus in a call of that time; 0 where a size is not known.
  double busbw(double seconds) const;
};

/// Kernels of one name; of those whose names do not tell, of one operator.
struct KernelUse {
  std::string name;
  std::string
      launched_by;  // "aten::mul in MulBackward0"; "" where the name tells, or none is known
  KernelKind kind = KernelKind::kUnknown;
  double calls = 0, time_s = 0;
};

struct StepProfile {
  double step_s = 0;
  PerKind<KindUse> kinds;
  double exposed_s = 0, overlapped_s = 0;  // communication alone, and beside compute
  double idle_s = 0;
  double host_idle_s = 0;            // of this: what came next was not launched yet
  double softmax_calls = 0;          // of attention that is not fused
  std::vector<MessageUse> messages;  // the longest first
  std::vector<KernelUse> kernels;    // of a trace; the longest first
  double compute_share_s() const;    // of all kinds that compute
};

/// A kernel, message or copy, in picoseconds from any beginning.
struct ProfiledSpan {
  SimTime start = 0, end = 0;
  KernelKind kind = KernelKind::kUnknown;
  double calls = 1;
};

/// All but messages, kernels and what the host has to do with.
StepProfile account(const std::vector<ProfiledSpan>& spans, double step_s);

/// Durations of calls, by kind, ranks and bytes.
class MessageSums {
 public:
  void add(KernelKind kind, std::int64_t ranks, std::int64_t bytes, double seconds);
  /// Of so many steps.
  std::vector<MessageUse> per_step(double steps) const;

 private:
  std::map<std::tuple<KernelKind, std::int64_t, std::int64_t>, std::vector<double>> seconds_;
};

/// With times and calls divided by so many steps.
StepProfile divided(StepProfile profile, double steps);

}  // namespace plait
