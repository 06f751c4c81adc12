#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace plait {

/// Of a tuple of numbers.
struct TupleHash {
  template <class... T>
  std::size_t operator()(const std::tuple<T...>& key) const {
    std::uint64_t h = 0;
    const auto add = [&h](auto part) {
      h = (h ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15ULL;
      h ^= h >> 32;
    };
    std::apply([&](const auto&... part) { (add(part), ...); }, key);
    return h;
  }
};

}  // namespace plait
