#include "realrun/compute/cuda/pinned_pool.h"

#include <bit>

namespace plait::cuda {

std::shared_ptr<std::byte[]> PinnedPool::take(std::size_t bytes) {
  constexpr std::size_t kSmallest = 4096;
  const std::size_t size = std::bit_ceil(std::max(bytes, kSmallest));
  PinnedBlock block;
  {
    const std::lock_guard lock(mutex_);
    std::vector<PinnedBlock>& there = free_[size];
    if (!there.empty()) {
      block = std::move(there.back());
      there.pop_back();
    }
  }
  if (!block) block = pinned_block(size);
  const auto owner = std::make_shared<PinnedBlock>(std::move(block));
  return {static_cast<std::byte*>(owner->get()),
          [owner, size, pool = shared_from_this()](std::byte*) {
            const std::lock_guard lock(pool->mutex_);
            pool->free_[size].push_back(std::move(*owner));
          }};
}

}  // namespace plait::cuda
