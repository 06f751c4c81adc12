#pragma once
// Which elements dropout removes. The draw is a hash of the seed and of the element's place in the
// whole batch, so that every sharding, every microbatch size and every recomputation removes the
// same elements.

#include <cstdint>

#include "core/random.h"
#include "kernels/positions.h"

namespace plait::kernels {

/// Where a rank's block of an activation lies in the whole, and how often an element is dropped.
/// The seed differs from step to step, layer to layer and place to place within a layer.
struct Dropout {
  double probability = 0;  // of being dropped, in [0, 1); 0: off
  std::uint64_t seed = 0;
  std::int64_t sample_offset = 0;  // global index of the block's first sample
  Positions place = {};            // of its tokens
  std::int64_t positions = 0;      // tokens of a whole sample
  std::int64_t head_offset = 0;    // attention: global index of its first query head
  std::int64_t heads = 1;          // attention: query heads of the whole model

  /// What kept elements are multiplied with, so that the expectation stays.
  constexpr double scale() const { return 1 / (1 - probability); }
  /// Draws below it are dropped.
  constexpr std::uint32_t threshold() const {
    return static_cast<std::uint32_t>(probability * 4294967296.0);
  }
};

/// Key of one row: of a token's activation (head = 0), or of one query's attention weights.
/// `sample`, `position` and `head` count within the block.
constexpr std::uint64_t dropout_row_key(const Dropout& d, std::int64_t sample,
                                        std::int64_t position, std::int64_t head) {
  const std::int64_t row =
      ((sample + d.sample_offset) * d.heads + head + d.head_offset) * d.positions +
      d.place(position);
  return mix64(mix64(d.seed) + static_cast<std::uint64_t>(row) * 0x9E3779B97F4A7C15U);
}

/// 32 uniform bits for a column of the row. 32-bit operations only, so that it vectorises anywhere;
/// multipliers of Wellons's lowbias32 (hash-prospector), the key's halves enter before and between.
constexpr std::uint32_t dropout_draw(std::uint64_t key, std::uint32_t column) {
  std::uint32_t x = column * 0x9E3779B1U + static_cast<std::uint32_t>(key);
  x = (x ^ (x >> 16)) * 0x7FEB352DU;
  x = (x ^ (x >> 15) ^ static_cast<std::uint32_t>(key >> 32)) * 0x846CA68BU;
  return x ^ (x >> 16);
}

}  // namespace plait::kernels
