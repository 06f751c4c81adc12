// Each vector of the result looks up its section, and then where it comes from. Sections are whole
// heads, so no vector lies in two.

#include "kernels/cuda/deal_heads.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"

namespace plait::kernels::cuda {
namespace {

/// A column's section, and where the section begins in the whole row and in a part.
struct SectionOf {
  int index = 0;
  std::int64_t whole = 0, part = 0;
  __device__ SectionOf(const HeadShares& s, std::int64_t column, const std::int64_t* widths) {
    std::int64_t end = widths[0];
    while (index + 1 < HeadShares::kSections && column >= end) {
      whole += s.whole[index], part += s.part[index];
      end += widths[++index];
    }
  }
};

template <class T>
struct DealHeads {
  T* parts;
  const T* whole;
  HeadShares s;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const SectionOf section(s, column, s.part);
    const std::int64_t first = section.whole + s.first_of(section.index, row / s.rows);
    const T* from = whole + row % s.rows * s.whole_width() + first + column - section.part;
    store(parts + row * s.part_width() + column, load<V>(from));
  }
};

template <class T>
struct CollectHeads {
  T* whole;
  const T* parts;
  HeadShares s;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const SectionOf section(s, column, s.whole);
    Floats<V> sum{};
    for (std::int64_t rank = 0; rank < s.ranks && s.part[section.index] > 0; ++rank) {
      const std::int64_t at = column - section.whole - s.first_of(section.index, rank);
      if (at < 0 || at >= s.part[section.index]) continue;
      const T* from = parts + (rank * s.rows + row) * s.part_width() + section.part + at;
      const Floats<V> x = load<V>(from);
#pragma unroll
      for (int i = 0; i < V; ++i) sum.at[i] += x.at[i];
    }
    store(whole + row * s.whole_width() + column, sum);
  }
};

bool sections_of_vectors(const HeadShares& s, int n) {
  for (int i = 0; i < HeadShares::kSections; ++i) {
    if (s.whole[i] % n != 0 || s.part[i] % n != 0) return false;
  }
  return true;
}

}  // namespace

template <class T>
void deal_heads(const Queue& q, T* parts, const T* whole, const HeadShares& shape) {
  const bool vectorised = aligned({parts, whole}) && sections_of_vectors(shape, kVector<T>);
  for_each_in_rows<kVector<T>>(q, vectorised, shape.ranks * shape.rows, shape.part_width(),
                               DealHeads<T>{parts, whole, shape});
}

template <class T>
void collect_heads(const Queue& q, T* whole, const T* parts, const HeadShares& shape) {
  const bool vectorised = aligned({parts, whole}) && sections_of_vectors(shape, kVector<T>);
  for_each_in_rows<kVector<T>>(q, vectorised, shape.rows, shape.whole_width(),
                               CollectHeads<T>{whole, parts, shape});
}

#define PLAIT_INSTANTIATE(T)                                               \
  template void deal_heads(const Queue&, T*, const T*, const HeadShares&); \
  template void collect_heads(const Queue&, T*, const T*, const HeadShares&);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
