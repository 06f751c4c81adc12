#pragma once
// From measured durations of attention over a cache to the constants of
// costmodel/decode_attention.h, with robust logarithmic loss.

#include <vector>

#include "costmodel/decode_attention.h"

namespace plait {

struct DecodeRow {
  Attention op;
  Seconds time;
};

/// All four constants.
DecodeFit fit_decode(const std::vector<DecodeRow>& rows, const Device& device,
                     const DecodeFit& start);

}  // namespace plait
