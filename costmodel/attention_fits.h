#pragma once
// Measured constants of fused attention on GPUs (FlashAttention), by generation. The queries of a
// head are cut into tiles of 128, each of which goes over its keys:
//   t = t0 + (1 + c F / (F + F0)) (C^3 + M^3)^(1/3)
//   C = w 4 (d + d0) 128 SMs / (e P),  w = max(longest, x + q longest / 2)
//   x = sum over tiles of (keys + k0) / SMs,  M = B / (b BW)
// with d the head dimension, padded to what kernels exist for (65 to 96: to d96), F = 4 d pairs, B
// every operand once
// and the b of copies. Under a causal mask a tile visits the keys up to its last query. d0 is what
// the exponential of a score costs, as columns of d; k0 what a tile costs before and after its
// loop, as keys; q how far the last tiles leave others idle.
// Which data, which rows: tests/costmodel/fit/attention.h.

#include "costmodel/efficiency.h"
#include "model/op.h"

namespace plait {

struct AttentionFit {
  double flops = 0;               // e
  double exponential = 0;         // d0
  double prologue = 0;            // k0
  double tail = 0;                // q
  double throttle = 0;            // c
  double throttle_teraflops = 0;  // F0
  double fixed_us = 0;            // t0
  double backward_rate = 0;       // of the backward pass, relative to the forward pass
  // A tile's prologue and epilogue in the backward pass, relative to the forward pass: two operands
  // more to load, two gradients to write.
  double backward_prologue = 2.5;
  double wide_backward = 1;  // rate of the backward pass where keys are wider than 128
  bool alone = false;        // timed by itself, on a machine at rest
  double narrow_width = 96;  // d96: 96, or what the kernel for such heads costs, as columns
};
AttentionFit attention_fit(const Device& device, FlashKernel kernel);
Quality attention_quality(const Device& device, FlashKernel kernel);

inline constexpr double kFlashTile = 128;

/// What the formulas above are of.
struct AttentionWork {
  double mean = 0, longest = 0;  // x; keys of the longest tile and k0
  double tiles = 0;              // of a multiprocessor
  double width = 0;              // d
  double bytes = 0;              // B
  double flops = 0;              // F of the forward pass
};
AttentionWork attention_work(const AttentionFit& fit, const Attention& op, const Device& device);

/// The formulas above. On a board that other kernels keep warm 1 + c F / (F + F0) is `warm` at
/// least.
KernelTime fused_time(const AttentionFit& fit, const Attention& op, const Device& device,
                      double warm = 1);

}  // namespace plait
