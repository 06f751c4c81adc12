#include "costmodel/scores.h"

#include <algorithm>

#include "costmodel/eager.h"
#include "costmodel/efficiency.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

constexpr double kFp32 = 4, kDropoutMask = 1;  // bytes

bool is_backward(const Attention& op) { return op.pass != Pass::kForward; }
double score_size(const Attention& op) { return static_cast<double>(size_of(op.dtype)); }

std::int64_t scores_of(const Attention& op) { return op.batch * op.heads * op.seq_q * op.seq_kv; }

Bytes of_each(const Attention& op, double bytes) {
  return Bytes(static_cast<std::int64_t>(static_cast<double>(scores_of(op)) * bytes));
}

/// Kernels one after the other, with bytes for each score.
struct PerScore {
  double bytes = 0;
  int kernels = 0;
};
PerScore operator+(PerScore a, PerScore b) { return {a.bytes + b.bytes, a.kernels + b.kernels}; }

/// A kernel of its own: the probabilities, or their gradient, and the mask that was drawn.
PerScore dropout(const Attention& op) {
  if (!op.dropout) return {};
  return {2 * score_size(op) + kDropoutMask, 1};
}

/// What of the scores a kernel reads that knows the causal mask without reading it. A window takes
/// no longer than none.
double visible(const Attention& op) {
  const bool triangle = op.causal && op.seq_q == op.seq_kv && op.documents.count == 0;
  return triangle ? 0.5 : 1;
}

// One kernel of scale, mask and softmax (Narayanan et al. 2021, section 4.2) that reads all scores,
// and backward the probabilities and their gradient.
PerScore fused(const Attention& op) {
  return PerScore{(is_backward(op) ? 3 : 2) * score_size(op), 1} + dropout(op);
}

// Megatron-LM, megatron/fused_kernels/scaled_upper_triang_masked_softmax.h: forward and backward a
// row is read up to its diagonal, and written whole.
PerScore megatron(const Attention& op) {
  const double read = (is_backward(op) ? 2 : 1) * visible(op);
  return PerScore{(read + 1) * score_size(op), 1} + dropout(op);
}

// Oneflow-Inc/oneflow, oneflow/user/kernels/fused_tril_scale_softmax_mask_scale_kernel.cu: one
// kernel with dropout, which reads the scores up to the diagonal and the mask that another has
// drawn, and writes the probabilities and what dropout leaves of them. Backward it reads
// probabilities, gradient and mask whole.
PerScore oneflow(const Attention& op) {
  const double e = score_size(op), mask = op.dropout ? kDropoutMask : 0;
  const int drawn = op.dropout ? 1 : 0;
  if (is_backward(op)) return {3 * e + mask, 1};
  return {mask + visible(op) * e + mask + (1 + drawn) * e, 1 + drawn};
}

/// Scores, or their gradients, in the type that kernels of PyTorch's have them in.
double eager_size(const Attention& op, bool in_fp32) { return in_fp32 ? kFp32 : score_size(op); }

// The scores, or their gradient, read and written: what a mask of its own moves.
double mask_bytes(const Attention& op, bool in_fp32) {
  return op.causal ? 2 * eager_size(op, in_fp32) : 0;
}

// A mask of its own is filled in in place, forward in a copy, since the scores are a view of what
// the product wrote (Scaling, core/nn/masked_softmax/masked_softmax.py). In fp32 what is masked is
// the copy: the scores are cast and scaled before, and the probabilities cast back
// (megatron/model/fused_softmax.py of 2021, where query-key layer scaling is on by default).
PerScore eager(const Attention& op, bool in_fp32) {
  const double e = score_size(op);
  const PerScore mask = {mask_bytes(op, in_fp32), op.causal ? 1 : 0};
  const PerScore softmax = {(is_backward(op) ? 3 : 2) * eager_size(op, in_fp32), 1};
  const PerScore both = softmax + mask + dropout(op);
  if (in_fp32) return both + PerScore{2 * (e + kFp32) + 2 * kFp32, 3};
  return is_backward(op) ? both : both + mask;
}

// The mask is broadcast over heads, so that its kernel takes one score at a time.
KernelChain filled_in(const Attention& op, bool in_fp32) {
  if (!op.causal) return {};
  return one_at_a_time({of_each(op, mask_bytes(op, in_fp32)), 1}, scores_of(op));
}

// Elements that a multiprocessor takes per second of PyTorch's softmax (aten SoftMax.cu), whose
// blocks read a row several times and stay behind the memory: what is left of published times of
// its standard attention when the products are taken off, for rows of 2,048 in 16 bits. Forward
// 2.3e9 on an H100 (Dao-AILab/flash-attention pull request 2688), 2.2e9 on an H100 PCIe (pull
// request 1075), 1.9e9 on a B200 (issue 1589), 1.7e9 on an RTX A5000 (gpu-mode/ring-attention issue
// 10); backward 1.2e9, -, 3e9 and 0.8e9.
constexpr double kSoftmaxForward = 2e9, kSoftmaxBackward = 1e9, kSoftmaxBackwardBlackwell = 3e9;

double softmax_rate(const Attention& op, Generation generation) {
  if (!is_backward(op)) return kSoftmaxForward;
  return generation == Generation::kBlackwell ? kSoftmaxBackwardBlackwell : kSoftmaxBackward;
}

/// What the softmax of rows in kernels of their own takes beyond the traffic that it causes.
Seconds behind_memory(const Attention& op, bool in_fp32, const Device& device) {
  const Generation generation = generation_of(device);
  if (device.sms == 0 || generation == Generation::kCpu) return {};
  const Bytes traffic = of_each(op, (is_backward(op) ? 3 : 2) * eager_size(op, in_fp32));
  const Seconds memory = stream_time(stream_fit(device, StreamKind::kSoftmax), traffic, device);
  const Seconds taken(static_cast<double>(scores_of(op)) /
                      (softmax_rate(op, generation) * device.sms));
  return std::max(taken - memory, Seconds());
}

PerScore kernels_of(const Attention& op, const SoftmaxRun& run) {
  switch (run.kernel) {
    case SoftmaxKernel::kFused: return fused(op);
    case SoftmaxKernel::kMegatron: return megatron(op);
    case SoftmaxKernel::kOneFlow: return oneflow(op);
    case SoftmaxKernel::kEager: return eager(op, run.in_fp32);
  }
  return {};
}

}  // namespace

SoftmaxRun softmax_run(const Attention& op, SoftmaxKernel asked) {
  const bool left = asked == SoftmaxKernel::kMegatron && !is_for_megatron_softmax(op);
  return left ? SoftmaxRun{SoftmaxKernel::kEager, true} : SoftmaxRun{asked, false};
}

Cost scores_cost(const Attention& op, SoftmaxKernel asked, const Device& device) {
  const SoftmaxRun run = softmax_run(op, asked);
  const PerScore each = kernels_of(op, run);
  Cost cost = stream_cost(of_each(op, each.bytes), each.kernels, StreamKind::kSoftmax, device);
  if (run.kernel != SoftmaxKernel::kEager) return cost;
  cost.share[kPeakFlops] +=
      behind_memory(op, run.in_fp32, device) + index_wait(filled_in(op, run.in_fp32), device);
  return cost;
}

// Forward the scores that probabilities are made of; backward the gradient of these, from which
// one kernel makes the scores' in place. PyTorch's write what they make beside what they read.
Bytes scores_beside(const Attention& op, SoftmaxKernel asked) {
  const SoftmaxRun run = softmax_run(op, asked);
  const double e = score_size(op);
  if (run.in_fp32) return of_each(op, e + 2 * kFp32);
  return of_each(op, run.kernel == SoftmaxKernel::kEager && is_backward(op) ? 2 * e : e);
}

int score_kernels(const Attention& op, SoftmaxKernel asked) {
  return kernels_of(op, softmax_run(op, asked)).kernels;
}

}  // namespace plait
