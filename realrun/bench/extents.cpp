#include "realrun/bench/extents.h"

namespace plait {

Extents processor_extents(GridSize size) {
  Extents e{.type = DType::kFp32,
            .most_flops = 3e9,
            .most_elements = 4 << 20,
            .products = 80,
            .small_products = 50,
            .attentions = 70,
            .by_row = 50,
            .flat = 36,
            .rows = {5, 12},
            .width = {6, 11},
            .elements = {10, 22},
            .inner = {6, 11},
            .wide = {6, 12.5},
            .few = {4, 7},
            .small_inner = {5, 7},
            .small_wide = {5, 7.5},
            .sequence = {5, 10},
            .logits = {6, 11},
            .vocabulary = {8, 13}};
  if (size == GridSize::kFull) return e;
  e.products = 16, e.small_products = 6, e.attentions = 10, e.by_row = 10, e.flat = 8;
  e.rows.to = e.width.to = e.inner.to = e.wide.to = e.logits.to = 8;
  e.elements.to = 16, e.sequence.to = 7.5;
  return e;
}

Extents gpu_extents(GridSize size) {
  Extents e{.type = DType::kBf16,
            .most_flops = 1e13,
            .most_elements = 1 << 28,
            .products = 66,
            .small_products = 18,
            .expert_products = 12,
            .attentions = 24,
            .by_row = 24,
            .flat = 20,
            .rows = {9, 14},
            .width = {8, 14},
            .elements = {12, 28},
            .inner = {8, 13.5},
            .wide = {8, 17},
            .few = {5, 9},
            .small_inner = {6, 9},
            .small_wide = {6, 10},
            .expert_rows = {6, 12},
            .expert_inner = {9, 12.5},
            .expert_wide = {9, 13.5},
            .sequence = {7, 13},
            .least_heads = 4,
            .least_head_dim = 32,
            .head_dims = 3,
            .logits = {12, 17},
            .vocabulary = {12, 17}};
  if (size == GridSize::kFull) return e;
  e.products = e.small_products = e.expert_products = e.attentions = 2, e.by_row = e.flat = 4;
  e.rows = e.width = e.inner = e.wide = e.logits = e.few = e.small_inner = e.small_wide = {4, 7};
  e.expert_rows = e.expert_inner = e.expert_wide = {4, 6};
  e.elements = {8, 12}, e.sequence = {4, 6}, e.vocabulary = {6, 8}, e.least_heads = 1;
  return e;
}

}  // namespace plait
