#include "realrun/bench/pool.h"

#include <algorithm>

#include "core/random.h"

namespace plait {
namespace {

constexpr std::int64_t kTokens = 1 << 16;

std::uint64_t hashed(std::size_t i, std::uint64_t seed) {
  return mix64((i + 1) * 0x9E3779B97F4A7C15U + seed);
}
/// In [0, 1).
float uniform(std::size_t i, std::uint64_t seed) {
  return static_cast<float>(hashed(i, seed) >> 40) * 0x1p-24F;
}
template <class T, class Value>
std::vector<T> values(std::int64_t elements, Value&& value) {
  std::vector<T> out(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = value(i);
  return out;
}

}  // namespace

std::vector<float> balanced_values(std::int64_t elements, std::uint64_t seed) {
  return values<float>(elements, [=](std::size_t i) { return 2 * uniform(i, seed) - 1; });
}
std::vector<float> positive_values(std::int64_t elements, std::uint64_t seed) {
  return values<float>(elements, [=](std::size_t i) { return 1 - uniform(i, seed); });
}
std::vector<std::uint8_t> mask_values(std::int64_t elements, std::uint64_t seed) {
  return values<std::uint8_t>(
      elements, [=](std::size_t i) -> std::uint8_t { return hashed(i, seed) % 10 != 0; });
}
std::vector<std::int64_t> token_values(std::int64_t elements, std::int64_t vocab) {
  return values<std::int64_t>(elements, [=](std::size_t i) {
    return static_cast<std::int64_t>(hashed(i, 5) % static_cast<std::uint64_t>(vocab));
  });
}

OperandPool::OperandPool(std::int64_t bytes)
    : inputs_(balanced_values(bytes / 4, 1), 1),
      positives_(positive_values(bytes / 4, 3), 2),
      outputs_(std::vector<float>(static_cast<std::size_t>(bytes / 4)), 3),
      states_(balanced_values(bytes / 4, 2), 4),
      masks_(mask_values(bytes, 4), 5),
      tokens_(std::vector<std::int64_t>(kTokens), 6) {}

const std::int64_t* OperandPool::tokens(std::int64_t elements, std::int64_t vocab) {
  if (vocab_ != vocab) {
    std::ranges::copy(token_values(kTokens, vocab), tokens_.data.begin());
    vocab_ = vocab;
  }
  return tokens_.ring.take(elements);
}

}  // namespace plait
