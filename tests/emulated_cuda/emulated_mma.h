#pragma once
// kernels/cuda/mma.h on the processor: the layouts of the PTX ISA, element by element.

#include <cuda_bf16.h>
#include <emulated_launch.h>

#include <bit>
#include <cstdint>
#include <vector>

namespace plait::emulated {

inline float half_of(std::uint32_t pair, int upper) {
  return std::bit_cast<float>(upper == 1 ? pair & 0xFFFF0000U : pair << 16);
}
struct MmaLane {
  float* d;
  const std::uint32_t* a;
  std::uint32_t b[2];
};
inline void multiply(void* const* lanes) {
  const auto lane = [lanes](int i) { return static_cast<const MmaLane*>(lanes[i]); };
  float a[16][16], b[8][16];  // b by columns
  for (int k = 0; k < 16; ++k) {
    for (int row = 0; row < 16; ++row) {
      a[row][k] = half_of(lane(row % 8 * 4 + k % 8 / 2)->a[row / 8 + 2 * (k / 8)], k % 2);
    }
    for (int column = 0; column < 8; ++column) {
      b[column][k] = half_of(lane(column * 4 + k % 8 / 2)->b[k / 8], k % 2);
    }
  }
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      float& d = lane(row % 8 * 4 + column / 2)->d[row / 8 * 2 + column % 2];
      for (int k = 0; k < 16; ++k) d += a[row][k] * b[column][k];
    }
  }
}

struct MatrixLane {
  std::uint32_t* out;
  const std::uint16_t* row;
};
template <bool transposed>
void distribute(void* const* lanes) {
  for (int l = 0; l < 32; ++l) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      std::uint32_t pair = 0;
      for (int i = 0; i < 2; ++i) {
        const int r = l / 4, c = l % 4 * 2 + i;
        const auto* from = static_cast<const MatrixLane*>(lanes[matrix * 8 + (transposed ? c : r)]);
        pair |= std::uint32_t{from->row[transposed ? r : c]} << (16 * i);
      }
      static_cast<MatrixLane*>(lanes[l])->out[matrix] = pair;
    }
  }
}

}  // namespace plait::emulated

namespace plait::kernels::cuda {

inline void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  emulated::MmaLane mine{d, a, {b0, b1}};
  emulated::meet_warp(&mine, &emulated::multiply);
}
inline void load_matrices(std::uint32_t (&out)[4], const void* row) {
  emulated::MatrixLane mine{out, static_cast<const std::uint16_t*>(row)};
  emulated::meet_warp(&mine, &emulated::distribute<false>);
}
inline void load_matrices_transposed(std::uint32_t (&out)[4], const void* row) {
  emulated::MatrixLane mine{out, static_cast<const std::uint16_t*>(row)};
  emulated::meet_warp(&mine, &emulated::distribute<true>);
}

inline void copy_async(void* to, const void* from, bool valid) {
  const emulated::LaterCopies::Copy copy{to, valid ? from : nullptr};
  if (emulated::copies_at_once()) return copy.make();
  emulated::later_copies().open.push_back(copy);
}
inline void commit_copies() {
  auto& copies = emulated::later_copies();
  copies.groups.push_back(std::move(copies.open));
  copies.open.clear();
}
template <int Groups>
void wait_for_copies() {
  auto& groups = emulated::later_copies().groups;
  while (groups.size() > Groups) {
    for (const auto& copy : groups.front()) copy.make();
    groups.erase(groups.begin());
  }
}

}  // namespace plait::kernels::cuda
