#pragma once
// Durations of the kernels of one device, one model per file. All of them have the form
// fixed time + work over an achieved rate; F are the FLOPs that run, B the bytes that must move.

#include "costmodel/cost.h"
#include "costmodel/efficiency.h"
#include "model/kernels.h"
#include "model/op.h"
#include "topologies/cluster.h"

namespace plait {

/// fixed + the longer of compute and memory, whose resource the time is spent on.
Cost roofline(Seconds fixed, Seconds compute, Seconds memory, const Quality& quality);

/// Of a fitted formula, with its fixed time as on this device.
Cost cost_of(const KernelTime& time, const Quality& quality, const Device& device);
/// Kernels one after the other that stream `bytes` through memory: kernels t0 + B / (b BW).
Cost stream_cost(Bytes bytes, int kernels, StreamKind kind, const Device& device);

/// gemm.cpp: t0 + max(F / (e P), B / (b BW)).
/// `slowdown`: how much slower than measured the multiprocessors compute.
Cost gemm_cost(const MatMul& op, const Device& device, double slowdown = 1);
/// attention.cpp: one fused kernel, over a cache that of decode_attention.h, or products and
/// element-wise kernels in turn (scores.h).
Cost attention_cost(const Attention& op, const Device& device,
                    SoftmaxKernel softmax = SoftmaxKernel::kEager);
/// memory_bound.cpp: t0 + C / (b_L2 BW) + (B - C) / (b BW), C the bytes that fit in half of the L2
/// cache, for every op that does not run on matrix units.
Cost memory_bound_cost(const Compute& op, const Device& device);
/// memory_bound_cost without t0.
Seconds stream_time(const StreamFit& fit, Bytes bytes, const Device& device);
/// recurrence.cpp: of mixers with states, kernels one after the other, each t0 + max(F / P, B / (b
/// BW)).
bool is_of_recurrence(const Compute& op);
Cost recurrence_cost(const Compute& op, const Device& device);
/// B - C.
Bytes uncached(Bytes bytes, const Device& device);

}  // namespace plait
