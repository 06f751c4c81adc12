#pragma once
// PyTorch's own kernels over rows: layer_norm, rms_norm and sums over rows, by what they do at a
// time rather than by bytes alone, which is what limits them on GPUs of much bandwidth.
//   norm of R rows of W, forward, and its input's gradient, a block of 128 threads to a row:
//     t = t0 + (C^3 + M^3)^(1/3),  C = R (c + w W) / (16 SMs clock)
//     M = (B + r B') / (b BW),     r = 1 - 0.35 L2 / (16 SMs bytes of a row's operands), at least 0
//   gradients of gamma and beta:   t = t0 + (C^3 + M^3)^(1/3),  C = c R / clock,  M = B / (b BW)
//   sum over R rows:               t = t0 + c R / clock + B / (b BW)
// with B every operand once and B' the operands, which a row's block reads twice: the second time
// from memory, where the rows that are under way do not fit into the cache. What they were fitted
// to and how well they hold: docs/models/memory-bound.md; how: tests/costmodel/fit/torch_rows.h.

#include <optional>

#include "costmodel/cost.h"
#include "costmodel/efficiency.h"
#include "model/kernels.h"
#include "model/op.h"
#include "topologies/cluster.h"

namespace plait {

struct TorchNorm {
  double fixed_us;   // t0
  double row;        // c, clocks
  double element;    // w, clocks
  double bandwidth;  // b
  int operands;      // of a row: x; x and its result's gradient
};
struct TorchSum {
  double fixed_us;   // t0
  double row;        // c, clocks
  double bandwidth;  // b
};
TorchNorm torch_norm(NormKind kind, Pass pass);
TorchSum torch_norm_parameters(NormKind kind);
TorchSum torch_row_sum();

/// The formulas above: forward or of the input's gradient, as the operands of `kernel` say.
KernelTime norm_time(const TorchNorm& kernel, const Norm& op, const Device& device);
KernelTime parameters_time(const TorchSum& kernel, const Norm& op, const Device& device);
KernelTime row_sum_time(const TorchSum& kernel, const BiasGrad& op, const Device& device);

/// Whether the device's multiprocessors are counted, which these forms need.
bool has_torch_rows(const Device& device);
/// Forward; backward the gradient of the input and, unless the pass is of that alone, those of
/// gamma and beta.
Cost torch_norm_cost(const Norm& op, const Device& device);
/// One of queries and one of keys.
Cost torch_norm_cost(const HeadNorm& op, const Device& device);
/// The sum over rows of what came back, and its sum with earlier microbatches'.
Cost torch_bias_gradient_cost(const BiasGrad& op, const Device& device);
/// Of an op that these kernels do; nothing where others do.
std::optional<Cost> torch_rows_cost(const Compute& op, const Device& device,
                                    const Kernels& kernels);

}  // namespace plait
