#pragma once
// What `plait bench` measures on a GPU: the same kernels, copies between memories and launches,
// timed by events of the device. Both times of what is Timed are the device's.

#include <string>

#include "model/measurement.h"
#include "model/op.h"
#include "realrun/bench/timing.h"

namespace plait {

class GpuTimer {
 public:
  virtual ~GpuTimer() = default;
  GpuTimer() = default;
  GpuTimer(const GpuTimer&) = delete;
  GpuTimer& operator=(const GpuTimer&) = delete;

  /// Back to back as one CUDA graph, operands not in the caches.
  virtual Timed kernel(const Compute& op, const TimingOptions& options) = 0;
  /// One kind of CopyRow over `bytes`, a multiple of 4.
  virtual Timed stream(const std::string& what, std::int64_t bytes,
                       const TimingOptions& options) = 0;
  /// `kernels` that do nothing, one behind the other, by LaunchRow::how; times are of one.
  virtual Timed launches(const std::string& how, std::int64_t kernels,
                         const TimingOptions& options) = 0;
};

}  // namespace plait
