#pragma once
// Kernels, copies and launches on a GPU, timed by events.

#include <functional>

#include "realrun/bench/gpu_timer.h"
#include "realrun/compute/cuda/cuda_kernels.h"

namespace plait::cuda {

class CudaTimer : public GpuTimer {
 public:
  /// On the thread's device. `pool_bytes` for each of the pool's buffers; an operand and a copy may
  /// be at most this large, a copy also 1 GiB. Attention by `library`, which may be null, where a
  /// real run has it so.
  explicit CudaTimer(std::int64_t pool_bytes, std::unique_ptr<LibraryAttention> library = nullptr);
  ~CudaTimer() override;

  Timed kernel(const Compute& op, const TimingOptions& options) override;
  Timed stream(const std::string& what, std::int64_t bytes, const TimingOptions& options) override;
  Timed launches(const std::string& how, std::int64_t kernels,
                 const TimingOptions& options) override;

 private:
  /// After a call that does not count, calls as one graph, each repeat with cold caches.
  Timed back_to_back(const std::function<void()>& call, const TimingOptions& options);
  /// Of the device, in seconds.
  double device_seconds(const std::function<void()>& work);
  /// Reads as much as pushes everything else out of the caches, and leaves nothing to write back.
  void flush_caches();

  const kernels::cuda::Queue& queue() const { return kernels_.queue(); }
  DevicePool& pool() { return kernels_.pool(); }

  CudaKernels kernels_;
  std::int64_t flushed_;  // elements
  EventHandle begin_, end_;
  DeviceBlock flush_;
  PinnedBlock host_;
};

}  // namespace plait::cuda
