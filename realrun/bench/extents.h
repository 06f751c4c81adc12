#pragma once
// How far the grid of `plait bench compute` goes: what the machine that is measured works on in
// training, as much of it as a measurement has time for.

#include <cstdint>

#include "model/dtype.h"

namespace plait {

enum class GridSize : std::uint8_t { kFull, kQuick };

/// Exponents of two; sizes are log-uniform between them.
struct Octaves {
  double from = 0, to = 0;
};

struct Extents {
  DType type = DType::kFp32;       // of activations and weights; gradients and logits are fp32
  double most_flops = 0;           // of one call
  std::int64_t most_elements = 0;  // of one operand
  /// Shapes of each class: products of a layout, small ones, those of experts, attention, kernels
  /// on rows, flat ones.
  int products = 0, small_products = 0, expert_products = 0, attentions = 0, by_row = 0, flat = 0;
  Octaves rows, width, elements;         // of kernels on rows, of flat ones
  Octaves inner, wide;                   // the other two sizes of a product
  Octaves few, small_inner, small_wide;  // the same of small products
  Octaves expert_rows = {}, expert_inner = {}, expert_wide = {};  // those of an expert
  Octaves sequence;
  std::int64_t least_heads = 1, least_head_dim = 16;
  std::uint64_t head_dims = 4;  // each twice the one before; head counts: always four
  Octaves logits, vocabulary;   // columns of a cross-entropy, rows of an embedding
};

/// Up to about 30 ms of one core.
Extents processor_extents(GridSize size);
/// 252 products and 36 of experts, up to about 20 ms of a GPU of 2023.
Extents gpu_extents(GridSize size);

}  // namespace plait
