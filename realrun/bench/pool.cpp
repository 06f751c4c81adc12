#include "realrun/bench/pool.h"

#include "kernels/dropout.h"

namespace plait {
namespace {

constexpr std::int64_t kTokens = 1 << 16;

std::uint64_t hashed(std::size_t i, std::uint64_t seed) {
  return kernels::mix64((i + 1) * 0x9E3779B97F4A7C15U + seed);
}
/// In [0, 1).
float uniform(std::size_t i, std::uint64_t seed) {
  return static_cast<float>(hashed(i, seed) >> 40) * 0x1p-24F;
}
void fill_uniform(std::vector<float>& data, std::uint64_t seed) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = 2 * uniform(i, seed) - 1;
}

}  // namespace

OperandPool::OperandPool(std::int64_t bytes)
    : inputs_(bytes / 4, 1),
      positives_(bytes / 4, 2),
      outputs_(bytes / 4, 3),
      states_(bytes / 4, 4),
      masks_(bytes, 5),
      tokens_(kTokens, 6) {
  fill_uniform(inputs_.data(), 1);
  fill_uniform(states_.data(), 2);
  std::vector<float>& positives = positives_.data();
  for (std::size_t i = 0; i < positives.size(); ++i) positives[i] = 1 - uniform(i, 3);
  std::vector<std::uint8_t>& masks = masks_.data();
  for (std::size_t i = 0; i < masks.size(); ++i) masks[i] = hashed(i, 4) % 10 != 0;
}

const std::int64_t* OperandPool::tokens(std::int64_t elements, std::int64_t vocab) {
  if (vocab_ != vocab) {
    std::vector<std::int64_t>& data = tokens_.data();
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<std::int64_t>(hashed(i, 5) % static_cast<std::uint64_t>(vocab));
    }
    vocab_ = vocab;
  }
  return tokens_.take(elements);
}

}  // namespace plait
