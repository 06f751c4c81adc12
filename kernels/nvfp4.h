#pragma once
// Numbers as NVFP4 holds them, in the type that they are computed in (Abecassis et al. 2025, arXiv
// 2509.25149, section 2): e2m1 times a scale of their block, e4m3, times one of the tensor. With m
// the largest magnitude of the block, M that of all, 6 and 448 the largest e2m1 and e4m3,
//   g = M / (6 448)     s = e4m3(m / (6 g))     x' = e2m1(x / (s g)) s g
// each to nearest, ties to even. e2m1 has 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.

#include <cstdint>

namespace plait::kernels {

struct ScaleBlock {
  std::int64_t rows = 1, columns = 16;
};

/// out[rows, columns] = what is held of in[rows, columns] in such blocks, from the first row and
/// column on. In place: out = in.
template <class T>
void round_to_nvfp4(T* out, const T* in, std::int64_t rows, std::int64_t columns, ScaleBlock block);

}  // namespace plait::kernels
