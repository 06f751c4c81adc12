#pragma once
// A token in a vocabulary that ranks share. Used inside kernels only.

#include <cstdint>

namespace plait::kernels {

/// Place of a token in the local part and 1, or place 0 and 0 where the token belongs to another
/// rank: both cases run the same instructions.
template <class T>
struct LocalToken {
  std::int64_t place;
  T factor;
  constexpr LocalToken(std::int64_t token, std::int64_t vocab, std::int64_t vocab_offset)
      : place(token - vocab_offset), factor(T(1)) {
    const bool here = place >= 0 && place < vocab;
    place = here ? place : 0;
    factor = here ? T(1) : T(0);
  }
};

}  // namespace plait::kernels
