#pragma once
// Memory for what is on its way, kept for the next time: getting it takes far longer than copying.

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "realrun/compute/cuda/objects.h"

namespace plait::cuda {

template <class Block, Block (*make)(std::size_t)>
class BlockPool : public std::enable_shared_from_this<BlockPool<Block, make>> {
 public:
  /// At least `bytes`, until the last owner lets go. From any thread.
  std::shared_ptr<std::byte[]> take(std::size_t bytes) {
    constexpr std::size_t kSmallest = 4096;
    const std::size_t size = std::bit_ceil(std::max(bytes, kSmallest));
    Block block = free_of(size);
    if (!block) block = make(size);
    const auto owner = std::make_shared<Block>(std::move(block));
    return {static_cast<std::byte*>(owner->get()),
            [owner, size, pool = this->shared_from_this()](std::byte*) {
              const std::lock_guard lock(pool->mutex_);
              pool->free_[size].push_back(std::move(*owner));
            }};
  }

 private:
  /// One that is there, or none.
  Block free_of(std::size_t size) {
    const std::lock_guard lock(mutex_);
    std::vector<Block>& there = free_[size];
    if (there.empty()) return {};
    Block block = std::move(there.back());
    there.pop_back();
    return block;
  }

  std::mutex mutex_;
  std::map<std::size_t, std::vector<Block>> free_;  // by size, a power of two
};

/// Of host memory, between a device and the transport.
using PinnedPool = BlockPool<PinnedBlock, pinned_block>;
/// Of the device's, where a message lies until its receiver has come.
using MessagePool = BlockPool<DeviceBlock, device_block>;

}  // namespace plait::cuda
