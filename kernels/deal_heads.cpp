#include "kernels/deal_heads.h"

#include <algorithm>

#include "kernels/fill.h"

namespace plait::kernels {
namespace {

/// Calls f(first column in the part, first column in the whole row, columns) for a rank's sections.
template <class F>
void for_each_section(const HeadShares& s, std::int64_t rank, F&& f) {
  std::int64_t in_part = 0, in_whole = 0;
  for (int i = 0; i < HeadShares::kSections; ++i) {
    if (s.part[i] > 0) f(in_part, in_whole + s.first_of(i, rank), s.part[i]);
    in_part += s.part[i], in_whole += s.whole[i];
  }
}

}  // namespace

template <class T>
void deal_heads(T* parts, const T* whole, const HeadShares& s) {
  for (std::int64_t rank = 0; rank < s.ranks; ++rank) {
    for_each_section(s, rank, [&](std::int64_t to, std::int64_t from, std::int64_t columns) {
      for (std::int64_t row = 0; row < s.rows; ++row) {
        std::copy_n(whole + row * s.whole_width() + from, columns,
                    parts + (rank * s.rows + row) * s.part_width() + to);
      }
    });
  }
}

template <class T>
void collect_heads(T* whole, const T* parts, const HeadShares& s) {
  fill(whole, T(0), s.rows * s.whole_width());
  for (std::int64_t rank = 0; rank < s.ranks; ++rank) {
    for_each_section(s, rank, [&](std::int64_t from, std::int64_t to, std::int64_t columns) {
      for (std::int64_t row = 0; row < s.rows; ++row) {
        const T* part = parts + (rank * s.rows + row) * s.part_width() + from;
        T* sum = whole + row * s.whole_width() + to;
#pragma omp simd
        for (std::int64_t c = 0; c < columns; ++c) sum[c] += part[c];
      }
    });
  }
}

#define PLAIT_INSTANTIATE(T)                                 \
  template void deal_heads(T*, const T*, const HeadShares&); \
  template void collect_heads(T*, const T*, const HeadShares&);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
