#pragma once
// Rows of packed heads as some ranks deal with them: whole[rows, sections], and by rank
// parts[ranks, rows, sections] with each rank's share of every section's heads (DeepSpeed Ulysses,
// plan/strategies/context_ulysses.cpp). Where a section has fewer heads than there are ranks,
// several of them have the same one.

#include <cstdint>

namespace plait::kernels {

struct HeadShares {
  static constexpr int kSections = 3;  // queries, keys, values
  std::int64_t rows = 0, ranks = 1;
  /// Columns of each section in a whole row and in a part of one; 0: none.
  std::int64_t whole[kSections] = {}, part[kSections] = {};

  constexpr std::int64_t whole_width() const { return whole[0] + whole[1] + whole[2]; }
  constexpr std::int64_t part_width() const { return part[0] + part[1] + part[2]; }
  /// First column, in the whole section, of what the rank has of it.
  constexpr std::int64_t first_of(int section, std::int64_t rank) const {
    return rank * whole[section] / (ranks * part[section]) * part[section];
  }
};

/// Every rank's part.
template <class T>
void deal_heads(T* parts, const T* whole, const HeadShares& shape);

/// The sums of the parts that have an element; 0 where none has it.
template <class T>
void collect_heads(T* whole, const T* parts, const HeadShares& shape);

}  // namespace plait::kernels
