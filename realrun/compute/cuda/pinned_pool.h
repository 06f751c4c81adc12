#pragma once
// Pinned host memory for what travels between a device and the transport, kept for the next time:
// pinning takes far longer than copying.

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "realrun/compute/cuda/objects.h"

namespace plait::cuda {

class PinnedPool : public std::enable_shared_from_this<PinnedPool> {
 public:
  /// At least `bytes`, until the last owner lets go. From any thread.
  std::shared_ptr<std::byte[]> take(std::size_t bytes);

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::vector<PinnedBlock>> free_;  // by size, a power of two
};

}  // namespace plait::cuda
