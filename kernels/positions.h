#pragma once
// Where a rank's rows stand in the whole sequence. Context parallelism gives a rank two runs of
// neighbouring tokens, one from the front and one from the back, so that all ranks see the same
// number of causal pairs.

#include <cstdint>
#include <limits>

namespace plait::kernels {

/// Rows 0 .. turn - 1 stand from `first` on, the others from `second` on; second > first.
struct Positions {
  std::int64_t first = 0;
  std::int64_t turn = std::numeric_limits<std::int64_t>::max();
  std::int64_t second = 0;

  constexpr std::int64_t operator()(std::int64_t row) const {
    return row < turn ? first + row : second + row - turn;
  }
};

}  // namespace plait::kernels
