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
  LocalToken(std::int64_t token, std::int64_t vocab, std::int64_t vocab_offset) {
    const std::int64_t local = token - vocab_offset;
    const bool here = local >= 0 && local < vocab;
    place = here ? local : 0;
    factor = here ? T(1) : T(0);
  }
};

}  // namespace plait::kernels
