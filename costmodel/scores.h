#pragma once
// What attention does between its products where it is not fused: scale, mask, softmax and dropout
// of the scores, and backward the same of their gradients, as the kernels of SoftmaxKernel move
// them. docs/models/attention.md#unfused lists the bytes of each.

#include "core/quantity.h"
#include "costmodel/cost.h"
#include "model/kernels.h"
#include "model/op.h"
#include "topologies/cluster.h"

namespace plait {

/// The kernel that runs where `asked` is the framework's: Megatron-LM's leaves scores that it
/// cannot take to PyTorch (kEager), in fp32 (in_fp32).
struct SoftmaxRun {
  SoftmaxKernel kernel = SoftmaxKernel::kFused;
  bool in_fp32 = false;
};
SoftmaxRun softmax_run(const Attention& op, SoftmaxKernel asked);

/// Kernels one after the other: kernels t0 + B / (b BW), and what PyTorch's take beyond that.
Cost scores_cost(const Attention& op, SoftmaxKernel asked, const Device& device);

/// Matrices of scores that an op has beside its probabilities and their gradients.
Bytes scores_beside(const Attention& op, SoftmaxKernel asked);

/// How many kernels, those of dropout with them.
int score_kernels(const Attention& op, SoftmaxKernel asked);

}  // namespace plait
