#pragma once
// Kernels and traffic on two streams of a GPU, timed by events (realrun/bench/gpu_overlap.h).

#include "realrun/bench/gpu_overlap.h"
#include "realrun/compute/cuda/cuda_kernels.h"
#include "realrun/compute/cuda/traffic.h"

namespace plait::cuda {

class CudaOverlap : public GpuOverlap {
 public:
  /// Kernels on `share` of the thread's device, as those of a CudaTimer.
  CudaOverlap(std::shared_ptr<GpuShare> share, std::unique_ptr<Traffic> traffic,
              std::int64_t pool_bytes, std::unique_ptr<LibraryAttention> library = nullptr);
  ~CudaOverlap() override;

  std::string transport() const override { return traffic_->transport(); }
  std::vector<std::string> communications() const override { return traffic_->communications(); }
  std::int64_t ranks() const override { return traffic_->ranks(); }
  std::int64_t multiprocessors() const override { return kernels_.queue().multiprocessors; }
  void take(const Compute& op, const std::string& communication, std::int64_t bytes) override;
  Times time(OverlapSide side, std::int64_t calls, std::int64_t beside) override;

 private:
  /// One side: what is queued at once, and how many calls that is.
  struct Line {
    OverlapSide side;
    cudaStream_t stream = nullptr;
    std::int64_t calls = 1;
  };
  Line line(OverlapSide side) const;
  void queue(const Line& line);
  /// So many calls, rounded up. Returns how many.
  std::int64_t queue(const Line& line, std::int64_t calls);
  void wait(const Line& line);
  double seconds_between(const EventHandle& from, const EventHandle& to) const;

  CudaKernels kernels_;
  std::unique_ptr<Traffic> traffic_;
  EventHandle there_, begin_, end_, gone_;  // the other side is there, and has gone
  RunnableGraph graph_;                     // of the kernel
  std::int64_t kernels_of_graph_ = 1;
};

}  // namespace plait::cuda
