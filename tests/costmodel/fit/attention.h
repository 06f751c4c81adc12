#pragma once
// From measured durations of attention to the constants of costmodel/attention_fits.h, with robust
// logarithmic loss.

#include <vector>

#include "costmodel/attention_fits.h"

namespace plait {

struct AttentionRow {
  Attention op;
  Seconds time;
  /// Keys and values that an inference engine moves into its cache beside the kernel, read and
  /// written; training has no cache, so that its time is fitted and left out.
  Bytes cached = {};
};

struct AttentionResult {
  AttentionFit fit;
  double cache_bandwidth;  // fraction of the memory bandwidth
};

/// Of the forward pass; `backward_rate` stays. Rows of s >= 512 that take more than 50 us, as
/// training has them, count twice. `exponential` is fitted where rows have several head dimensions.
AttentionResult fit_attention(const std::vector<AttentionRow>& rows, const Device& device,
                              const AttentionResult& start);

/// What only the backward pass has, by rows of it; the other constants stay.
AttentionFit fit_backward(const std::vector<AttentionRow>& rows, const Device& device,
                          AttentionFit fit);

/// Time of a row, with its cache.
Seconds predicted(const AttentionResult& result, const AttentionRow& row, const Device& device);

}  // namespace plait
