#pragma once
// What PyTorch runs where types meet under torch.autocast: casts, sums of two types and rotations
// by sines in fp32. docs/strategies/autocast.md.

#include <cstdint>

#include "costmodel/eager.h"

namespace plait {

/// How many casts one by autocast is run as: of packed projections one each, where these are
/// products of their own. 1 for any other.
int copies_by_autocast(const Cast& op, const Kernels& kernels);
/// These, and the sums behind them.
KernelChain autocast_chain(const Cast& op, const Kernels& kernels);
/// A sum of two types of so many elements.
KernelChain mixed_sum(KernelChain chain, std::int64_t elements);
/// RMSNorm in fp32, as model code spells it.
KernelChain fp32_norm_chain(const Norm& op);
/// Sines are wider than the rows.
bool promotes(const Rope& op);
KernelChain promoted_rope_chain(const Rope& op);

}  // namespace plait
