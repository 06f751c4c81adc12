#pragma once
// Heads dealt to ranks and collected on the device: kernels/deal_heads.h, T = float or bf16.

#include "kernels/cuda/queue.h"
#include "kernels/deal_heads.h"

namespace plait::kernels::cuda {

/// Every rank's part, parts[ranks, rows, part_width] of whole[rows, whole_width].
template <class T>
void deal_heads(const Queue& q, T* parts, const T* whole, const HeadShares& shape);

/// The sums of the parts that have an element, in the order of ranks; 0 where none has it.
template <class T>
void collect_heads(const Queue& q, T* whole, const T* parts, const HeadShares& shape);

}  // namespace plait::kernels::cuda
