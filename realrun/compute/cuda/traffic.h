#pragma once
// Communication that is there to be beside compute: the same collective, or copy, again and again
// on a stream of its own.

#include <memory>
#include <string>
#include <vector>

#include "realrun/compute/cuda/objects.h"
#include "realrun/compute/cuda/shared_gpu.h"

namespace plait::cuda {

class Traffic {
 public:
  virtual ~Traffic() = default;
  Traffic() = default;
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;
  /// As OverlapRow has them.
  virtual std::string transport() const = 0;
  virtual std::vector<std::string> communications() const = 0;
  virtual std::int64_t ranks() const = 0;
  virtual cudaStream_t stream() const = 0;
  /// What is queued from here on. At most as many bytes as there is room for.
  virtual void take(const std::string& communication, std::int64_t bytes) = 0;
  /// One more. Of several ranks all queue as many.
  virtual void queue() = 0;
  /// Until the stream has come to its end. Throws EnvironmentError where other ranks do not.
  virtual void wait() = 0;
};

/// On a share of the thread's device, with room for so many bytes: copies within its memory.
std::unique_ptr<Traffic> copies_in_memory(std::shared_ptr<GpuShare> share, std::int64_t bytes);
/// The same; what the kernels of one of two ranks on a GPU do in an all_reduce (peers.h).
std::unique_ptr<Traffic> kernels_of_a_peer(std::shared_ptr<GpuShare> share, std::int64_t bytes);

}  // namespace plait::cuda
