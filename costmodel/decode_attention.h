#pragma once
// Attention of one new token for each sequence, over the keys and values that a cache holds. A
// kernel gives each (sequence, key head) a multiprocessor or, where there are fewer of these than
// multiprocessors, splits its keys among several, whose results are then combined:
//   t = t0 + w^q B / (b BW) + c (splits - 1)
//   splits = max(1, min(floor(SMs / pairs), keys / 128)),  pairs = sequences x key heads
//   w = ceil(pairs splits / SMs) SMs / (pairs splits)
// with B every operand once; w is how much longer than the mean the busiest multiprocessor works,
// of which the memory, that fewer then share, makes good a part. Which data, which rows:
// tests/costmodel/fit/decode_attention.h. Of latents all heads read one key, so that arithmetic may
// take longer than memory: t = t0 + max(that, F / (f P)) + c (splits - 1).

#include "costmodel/efficiency.h"
#include "model/op.h"

namespace plait {

struct DecodeFit {
  double fixed_us = 0;   // t0
  double bandwidth = 0;  // b
  double waste = 0;      // q
  double split_us = 0;   // c
};
/// By generation: FlashAttention-2 (Ampere), -3 (Hopper), TensorRT-LLM's kernel (Blackwell).
DecodeFit decode_fit(const Device& device);
Quality decode_quality(const Device& device);

/// One query for each sequence.
inline bool is_decode(const Attention& op) { return op.seq_q == 1 && op.pass == Pass::kForward; }
/// The formulas above.
KernelTime decode_time(const DecodeFit& fit, const Attention& op, const Device& device);

}  // namespace plait
