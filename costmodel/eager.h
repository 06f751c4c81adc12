#pragma once
// Ops that a framework runs as a chain of element-wise kernels instead of one: every intermediate
// goes through memory. docs/models/memory-bound.md lists the chains.

#include "core/quantity.h"
#include "costmodel/efficiency.h"
#include "model/kernels.h"
#include "model/op.h"
#include "plan/op.h"
#include "topologies/cluster.h"

namespace plait {

/// What a chain moves and how many kernels it is; no kernels: the op is one kernel.
struct KernelChain {
  Bytes bytes;
  int kernels = 0;
  /// What a kernel of it does by the piece, so many a second on a multiprocessor: elements added to
  /// rows in no order, logits among which the largest are found.
  double pieces = 0, pieces_per_multiprocessor = 0;
  Bytes piece_bytes = {};    // of `bytes`, what that kernel moves
  double indexed = 0;        // elements that kernels of it look up, or cast, one at a time
  Bytes indexed_bytes = {};  // of `bytes`, what those kernels move
  StreamKind kind = StreamKind::kCopy;
  int calls = 0;  // by which the host issues them; 0: one for each kernel
};
/// By the host.
constexpr int calls_of(const KernelChain& chain) {
  return chain.calls > 0 ? chain.calls : chain.kernels;
}
/// The chain, all of whose bytes move with `elements` that are looked up or cast one at a time.
KernelChain one_at_a_time(KernelChain chain, std::int64_t elements);
/// What is done by the piece takes beyond the time in which its bytes are copied.
Seconds piece_wait(const KernelChain& chain, const Device& device);
/// The same of the elements that are looked up or cast one at a time.
Seconds index_wait(const KernelChain& chain, const Device& device);
/// The time in which the bytes of these elements are copied.
Seconds indexed_copy(const KernelChain& chain, const Device& device);
/// What is in place of the op's kernel.
KernelChain eager_chain(const Compute& op, const Kernels& kernels);
/// Whether a norm is the element-wise kernels that its Python code names: RMSNorm. LayerNorm is
/// PyTorch's own even there.
bool spelled_out(const Norm& op, const Kernels& kernels);
/// Whether it is PyTorch's own kernels, one forward and two backward (torch_rows.h).
bool is_native(const Norm& op, const Kernels& kernels);
/// Copies of a sequence that a tensor-parallel all_gather or reduce_scatter cuts, besides it.
KernelChain sequence_chain(const Collective& op, const Kernels& kernels);
/// Copies around fused attention, besides its kernel.
KernelChain packing_chain(const Attention& op, const Kernels& kernels);
/// Copies of keys and values for each query head, besides fused attention.
KernelChain shared_keys_chain(const Attention& op, const Kernels& kernels);
/// What merges a block of a ring with those before it in fp32, besides attention of that block.
KernelChain merge_chain(const Attention& op, const Kernels& kernels);
/// What cuts off gate and up before a gated activation, besides it.
KernelChain clamp_of(const Activation& op, const Kernels& kernels);
/// The sums with the experts' biases, besides what takes their results back to the tokens.
KernelChain expert_bias_chain(const Combine& op, const Kernels& kernels);

}  // namespace plait
