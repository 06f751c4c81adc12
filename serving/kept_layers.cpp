#include "serving/kept_layers.h"

#include <algorithm>

namespace plait {
namespace {

std::int64_t whole_blocks(std::int64_t tokens, std::int64_t block_size) {
  return (tokens + block_size - 1) / block_size;
}

}  // namespace

std::int64_t KeptLayers::blocks(std::int64_t computed, std::int64_t more,
                                std::int64_t block_size) const {
  const std::int64_t held = whole_blocks(computed + more, block_size);
  const std::int64_t gone = std::max<std::int64_t>(0, computed - window + 1) / block_size;
  return all * held + windowed * (held - gone);
}

std::int64_t KeptLayers::most_blocks(std::int64_t tokens, std::int64_t at_once,
                                     std::int64_t block_size) const {
  const std::int64_t held = whole_blocks(tokens, block_size);
  const std::int64_t in_window = std::min(tokens, window - 1 + at_once);
  return all * held + windowed * std::min(held, whole_blocks(in_window, block_size) + 1);
}

}  // namespace plait
