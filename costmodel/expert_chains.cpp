#include "costmodel/expert_chains.h"

#include <algorithm>

namespace plait {
namespace {

/// Elements that a multiprocessor adds to rows in no order, each by an atomic operation, per
/// second. PyTorch's index_add_, by which index_select's gradient is made, takes 4,719 us for 4 Mi
/// rows of 128 bf16 on H100 and 4,400 for fp32 (pytorch/pytorch pull request 175760, before it), so
/// it is no matter of bytes; 0.88 to 0.97e9 in PyTorch 2.11 (reports/gpu/h100/torch-ops.json).
constexpr double kIndexAdds = 4.0 * (1 << 20) * 128 / 4719e-6 / 132;
/// The same by scatter_add_, by which unpermute adds them up: 1.84 to 2.02e9 on H100 for rows of
/// 2,048 to 7,168 bf16, and as many fp32 (the same file).
constexpr double kScatterAdds = 1.94e9;

/// torch.topk on H100, of all its multiprocessors: 7.7 ns for each token, and from 120 experts on
/// 64 ps for each of its logits (torch-ops.json, softmax_topk without softmax's 3 to 4 us: 59 to 72
/// ps with 128 and 256 experts, 4,096 and 8,192 tokens; 7.7 ns with 8. In a step of Qwen3 38 us for
/// 4,096 tokens and 128 experts, torch-kernels.json).
constexpr double kLogitsPerMultiprocessor = 1 / 64e-12 / 132;
constexpr double kFewestLogits = 7.7e-9 / 64e-12;

/// torch.cat of chunks (sort_chunks_by_idxs), as many as one launch takes: 1.44 to 1.77 times as
/// long as a copy of all for 128 and 256 of 1 to 4 MB, 1.10 for 8 of them on H100 (torch-ops.json,
/// chunks_cat). Of fewer than a launch takes, so much less.
constexpr std::int64_t kChunksOfLaunch = 128;
constexpr double kBeyondCopy = 0.57;

/// Bytes for each token and expert, by Megatron-LM's code. Choice: top-k (4), two maps of zeros (4,
/// 4), one cast to integers and to bytes (8, 5), their sum (1). Balancing loss: softmax (8), top-k
/// (4), a map and its casts (17), its sum (1), and that of the softmax (4). Counts (1). Order: map
/// and gates transposed (2, 8), two selections by the map (1 and two sums over it, each).
constexpr double kForwardBytes = 26 + 34 + 1 + 10 + 2 * 3;
/// Backward: the gates' selection, filled into zeros by a running sum of the map (21), transposed
/// (8), and the softmax of the loss (4 + 12).
constexpr double kBackwardBytes = 21 + 8 + 16;

/// So many passes over the rows of the tokens and over those of the slots.
template <class SlotOp>
KernelChain slot_chain(const SlotOp& op, int token_passes, int slot_passes, int count) {
  const std::int64_t passes = token_passes * op.rows + slot_passes * op.slots;
  return {Bytes(passes * op.width * size_of(op.dtype)), count};
}

/// Behind `chain` the slots' rows are added up to those of their tokens: read, and the sum read and
/// written.
template <class SlotOp>
KernelChain summed(const SlotOp& op, KernelChain chain, double adds_per_multiprocessor) {
  const std::int64_t elements = op.slots * op.width;
  chain.pieces = static_cast<double>(elements);
  chain.pieces_per_multiprocessor = adds_per_multiprocessor;
  chain.piece_bytes = Bytes(3 * elements * size_of(op.dtype));
  chain.bytes = chain.bytes + chain.piece_bytes;
  ++chain.kernels;
  return chain;
}

/// The gates are broadcast over the rows of `chain` that are read, multiplied and written.
KernelChain times_gates(const Combine& op, KernelChain chain) {
  chain.indexed = static_cast<double>(op.slots * op.width);
  chain.indexed_bytes = Bytes(2 * op.slots * op.width * size_of(op.dtype));
  return chain;
}

}  // namespace

// Megatron-LM, megatron/core/transformer/moe/: router.py and moe_utils.py choose and balance,
// token_dispatcher.py counts. Choice: top-k, softmax and its cast, two maps of tokens and experts
// (zeros, scatter; zeros, cast, scatter, cast) and their sum; or one kernel. Balancing loss:
// softmax, top-k, a map (4), its sum, the loss (sum, product, sum, factor), its log (2) and its
// place in autograd; or 3, sum, log and autograd. Counts: of a rank's and of all ranks' tokens, by
// expert and by rank (7); four copies to the host between two events and a wait. Order: the map and
// the gates transposed, indices (2) and two selections; or the three kernels of a row map. Backward
// the gradients of the choice (5), of the loss (7) and of the gates' order (5), or a kernel for
// each of the first two, two for the loss's factor, and the sum of both.
int route_calls(const Route& op, const Kernels& kernels) {
  const bool eager = kernels.routing == Fusion::kEager;
  if (!is_forward(op.pass)) return eager ? 5 + 7 + 5 : 2 + 2 + 1;
  const int choice = eager ? 10 : 1, loss = eager ? 14 : 3 + 4, order = eager ? 6 : 3;
  constexpr int kCounts = 7;
  return choice + loss + kCounts + kRouteCopiesToHost + order;
}

KernelChain routing_chain(const Route& op, const Kernels& kernels) {
  if (kernels.routing == Fusion::kFused) return {};
  const auto tokens = static_cast<double>(op.rows());
  const auto experts = static_cast<double>(op.experts);
  const double each = is_forward(op.pass) ? kForwardBytes : kBackwardBytes;
  KernelChain out;
  out.bytes = Bytes(static_cast<std::int64_t>(each * tokens * experts));
  out.kernels = route_calls(op, kernels);
  if (is_forward(op.pass)) out.pieces = 2 * tokens * std::max(experts, kFewestLogits);
  out.pieces_per_multiprocessor = kLogitsPerMultiprocessor;
  return out;
}

// A row of its token is read for each slot; backward adds up into zeros. Of gathered tokens, which
// slots are a rank's own is read and written first, by two copies of columns.
KernelChain routing_chain(const Dispatch& op, const Kernels& kernels) {
  if (kernels.routing == Fusion::kFused) return {};
  if (is_forward(op.pass) && op.senders > 0) {
    KernelChain chain = slot_chain(op, 0, 2, 1 + 2);
    chain.bytes = chain.bytes + Bytes(2 * op.rows * op.chosen * size_of(DType::kInt64));
    return chain;
  }
  if (is_forward(op.pass)) return slot_chain(op, 0, 2, 1);
  return summed(op, slot_chain(op, 1, 0, 1), kIndexAdds);
}

// Forward: slots times gates (2); zeros, to which they are added (3). Backward: the gradient's rows
// by slot (2), times gates (2), times the slots (3), and the sums of those rows (1). Without gates:
// sums into zeros; rows by slot.
KernelChain routing_chain(const Combine& op, const Kernels& kernels) {
  if (kernels.routing == Fusion::kFused) return {};
  if (!op.weighted) {
    return is_forward(op.pass) ? summed(op, slot_chain(op, 1, 0, 1), kScatterAdds)
                               : slot_chain(op, 0, 2, 1);
  }
  if (is_forward(op.pass))
    return summed(op, times_gates(op, slot_chain(op, 1, 2, 2)), kScatterAdds);
  return times_gates(op, slot_chain(op, 0, 2 + 2 + 3 + 1, 4));
}

KernelChain routing_chain(const Cast& op, const Kernels& kernels) {
  if (kernels.routing == Fusion::kFused) return {};
  const std::int64_t launches = ceil_div(op.chunks, kChunksOfLaunch);
  const double full = std::min(1.0, static_cast<double>(op.chunks) / kChunksOfLaunch);
  const auto copied = static_cast<double>(memory_traffic(Compute(op)).value);
  return {.bytes = Bytes(static_cast<std::int64_t>(copied * (1 + kBeyondCopy * full))),
          .kernels = static_cast<int>(launches),
          .calls = 1};
}

// Transformer Engine's Fp8Padding and Fp8Unpadding (pytorch/module/fp8_padding.py), around the
// experts in Megatron-LM's TEGroupedMLP: every row read and written, and its gradient backward. The
// gates have one column.
KernelChain expert_padding_chain(const Compute& op, const Kernels& kernels) {
  if (kernels.expert_padding == Fusion::kFused) return {};
  if (const auto* to = std::get_if<Dispatch>(&op)) return slot_chain(*to, 0, 2, 1);
  if (const auto* back = std::get_if<Combine>(&op)) return slot_chain(*back, 0, 2, 1);
  return {};
}

}  // namespace plait
