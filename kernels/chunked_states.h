#pragma once
// Heads whose state each token of a sequence advances (scan.cpp, delta_rule.cpp). Of the states one
// is kept in front of each chunk; on the way back those of a chunk are made again from it.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/quantity.h"

namespace plait::kernels {

/// From a state of zeros: advance(h, before, t) makes h, the state behind token t, of the one
/// before it, which may be the same memory; at(t, h) is called behind each token. Fills `states`,
/// of which head.state_at(c) is that in front of chunk c.
template <class T, class Head, class Shape, class Advance, class At>
void walk_states(T* states, const Head& head, const Shape& s, Advance&& advance, At&& at) {
  std::vector<T> h(static_cast<std::size_t>(s.state_elements()));
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    if (t % s.chunk == 0) std::copy(h.begin(), h.end(), states + head.state_at(t / s.chunk));
    advance(h.data(), h.data(), t);
    at(t, static_cast<const T*>(h.data()));
  }
}

/// From the last token to the first: at(t, after, before), with the states behind and before it.
template <class T, class Head, class Shape, class Advance, class At>
void walk_states_back(const T* states, const Head& head, const Shape& s, Advance&& advance,
                      At&& at) {
  const std::int64_t each = s.state_elements(), chunks = ceil_div(s.tokens, s.chunk);
  std::vector<T> h(static_cast<std::size_t>((s.chunk + 1) * each));  // before and behind each token
  for (std::int64_t c = chunks; c-- > 0;) {
    const std::int64_t begin = c * s.chunk, end = std::min(s.tokens, begin + s.chunk);
    std::copy_n(states + head.state_at(c), each, h.data());
    for (std::int64_t t = begin; t < end; ++t) {
      T* before = h.data() + (t - begin) * each;
      advance(before + each, static_cast<const T*>(before), t);
    }
    for (std::int64_t t = end; t-- > begin;) {
      const T* before = h.data() + (t - begin) * each;
      at(t, before + each, before);
    }
  }
}

}  // namespace plait::kernels
