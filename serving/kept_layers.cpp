#include "serving/kept_layers.h"

#include <algorithm>

#include "core/quantity.h"

namespace plait {

std::int64_t KeptLayers::blocks(std::int64_t computed, std::int64_t more,
                                std::int64_t block_size) const {
  const std::int64_t held = ceil_div(computed + more, block_size);
  const std::int64_t gone = std::max<std::int64_t>(0, computed - window + 1) / block_size;
  return all * held + windowed * (held - gone) + states;
}

std::int64_t KeptLayers::most_blocks(std::int64_t tokens, std::int64_t at_once,
                                     std::int64_t block_size) const {
  const std::int64_t held = ceil_div(tokens, block_size);
  const std::int64_t in_window = std::min(tokens, window - 1 + at_once);
  return all * held + windowed * std::min(held, ceil_div(in_window, block_size) + 1) + states;
}

std::int64_t KeptLayers::most_tokens(std::int64_t blocks, std::int64_t at_once,
                                     std::int64_t block_size) const {
  std::int64_t low = 0, high = blocks + 1;  // blocks of the sequence in each layer
  if (all + windowed == 0) return most_blocks(1, at_once, block_size) <= blocks ? block_size : 0;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const bool fits = most_blocks(middle * block_size, at_once, block_size) <= blocks;
    (fits ? low : high) = middle;
  }
  return low * block_size;
}

}  // namespace plait
