#pragma once
// A Cast between tensors of different shapes: which elements go where. Rows of different widths:
// the sections that both have, as keys and values stand in packed rows (s, b, q | k | v).
// (n, s / n, b, width) and (s, b, width): rows as n ranks hold them, or in the order of the
// sequence. (senders, experts, rows, width) and (experts, rows of all, width): slots by who sends
// them, or by expert. (n, s, b, width) and (s, b, wide): of each section of the wide rows, the
// heads that each of n ranks deals with; heads of several ranks are copied to each, or added up
// from each. Else element by element.

#include <vector>

#include "kernels/deal_heads.h"
#include "plan/tensor.h"
#include "realrun/rank.h"

namespace plait {

enum class CopyKind : std::uint8_t { kElements, kSections, kTokens, kSlots, kHeads };
CopyKind copy_kind(const Tensor& to, const Tensor& from, const Mesh& mesh);

/// kSections: columns that both rows have, where they begin in each.
struct SharedColumns {
  std::int64_t to = 0, from = 0, columns = 0;
};
std::vector<SharedColumns> shared_columns(const Tensor& to, const Tensor& from, const Mesh& mesh);

/// kTokens, kSlots and kHeads: the tensor that is by rank has a dimension more.
const Tensor& by_rank(const Tensor& a, const Tensor& b);

/// kTokens: rows of `row` elements; each rank holds `tokens`.
struct TokenRows {
  std::int64_t ranks = 0, tokens = 0, row = 0;
};
TokenRows token_rows(const Tensor& by_rank, const Mesh& mesh);

/// kSlots: slots[senders, experts, each] elements.
struct ExpertSlots {
  std::int64_t senders = 0, experts = 0, each = 0;
};
ExpertSlots expert_slots(const Tensor& by_sender, const Mesh& mesh);

/// kHeads.
kernels::HeadShares head_shares(const Tensor& parts, const Tensor& whole, const Mesh& mesh);

template <class T>
void copy_elements(T* out, const Tensor& to, const T* in, const Tensor& from, const Mesh& mesh);

}  // namespace plait
