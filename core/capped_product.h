#pragma once
// Products of sizes that users choose, which need not fit an integer.

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace plait {

inline constexpr std::int64_t kCap = std::numeric_limits<std::int64_t>::max();

/// The product of factors that are not negative, or kCap where it is larger.
constexpr std::int64_t capped_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t out = 1;
  for (const std::int64_t factor : factors) {
    if (factor == 0) return 0;
    out = out > kCap / factor ? kCap : out * factor;
  }
  return out;
}

}  // namespace plait
