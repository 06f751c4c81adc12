#include "realrun/compute/cuda/device_pool.h"

#include <algorithm>
#include <vector>

#include "realrun/bench/pool.h"

namespace plait::cuda {
namespace {

constexpr std::int64_t kTokens = 1 << 16;
constexpr std::int64_t kPattern = 1 << 22;  // elements that are drawn; buffers repeat them

/// `bytes` from `to` on become the pattern, over and over.
template <class T>
void fill_with(void* to, std::int64_t bytes, const std::vector<T>& pattern) {
  const auto size = static_cast<std::size_t>(bytes);
  std::size_t there = std::min(pattern.size() * sizeof(T), size);
  CUDA_CHECK(cudaMemcpy(to, pattern.data(), there, cudaMemcpyHostToDevice));
  while (there < size) {
    const std::size_t more = std::min(there, size - there);
    CUDA_CHECK(cudaMemcpy(static_cast<std::byte*>(to) + there, to, more, cudaMemcpyDeviceToDevice));
    there += more;
  }
}

std::vector<float> encoded(const std::vector<float>& values, float) { return values; }
std::vector<__nv_bfloat16> encoded(const std::vector<float>& values, __nv_bfloat16) {
  std::vector<__nv_bfloat16> out(values.size());
  std::ranges::transform(values, out.begin(), [](float x) { return __float2bfloat16_rn(x); });
  return out;
}

}  // namespace

template <class T>
DevicePool::Buffers<T>::Buffers(std::int64_t bytes)
    : inputs(bytes, 1), positives(bytes, 2), outputs(bytes, 3), states(bytes, 4) {
  const std::int64_t pattern = std::min(kPattern, bytes / std::int64_t{sizeof(T)});
  fill_with(inputs.block.get(), bytes, encoded(balanced_values(pattern, 1), T{}));
  fill_with(positives.block.get(), bytes, encoded(positive_values(pattern, 3), T{}));
  fill_with(states.block.get(), bytes, encoded(balanced_values(pattern, 2), T{}));
  CUDA_CHECK(cudaMemset(outputs.block.get(), 0, static_cast<std::size_t>(bytes)));
}

DevicePool::DevicePool(std::int64_t bytes)
    : floats_(bytes), halves_(bytes), masks_(bytes, 5), tokens_(kTokens * 8, 6) {
  fill_with(masks_.block.get(), bytes, mask_values(std::min(kPattern, bytes), 4));
  finish_copies();
}

const std::int64_t* DevicePool::tokens(std::int64_t elements, std::int64_t vocab) {
  if (vocab_ != vocab) {
    CUDA_CHECK(cudaDeviceSynchronize());  // who reads them still
    fill_with(tokens_.block.get(), kTokens * 8, token_values(kTokens, vocab));
    finish_copies();  // a token of the old vocabulary may lie outside of the new one
    vocab_ = vocab;
  }
  return tokens_.ring.take(elements);
}

}  // namespace plait::cuda
