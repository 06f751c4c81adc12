#pragma once
// Tensor cores and asynchronous copies, as PTX has them since sm_80 (PTX ISA: mma.sync, ldmatrix,
// cp.async). Used inside kernels only.
//
// mma m16n8k16, lane l of 32, with r = l / 4 and c = 2 (l % 4):
//   a[16, 16]  a0: (r, c) (r, c + 1);  a1: rows + 8;  a2: columns + 8;  a3: both
//   b[16, 8]   b0: (c, r) (c + 1, r);  b1: rows + 8
//   d[16, 8]   d0, d1: (r, c) (r, c + 1);  d2, d3: row r + 8

#ifdef PLAIT_EMULATED_CUDA
#include <emulated_mma.h>
#else

#include <cuda_bf16.h>

#include <cstdint>

namespace plait::kernels::cuda {

/// d += a b, bf16 factors (two in each register, the lower column or row in the lower half).
__device__ inline void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                           std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Four 8 x 8 matrices of 16-bit elements from shared memory. Lane l gives the address of row l % 8
/// (16 bytes) of matrix l / 8; register i of it gets (r, c) and (r, c + 1) of matrix i.
__device__ inline void load_matrices(std::uint32_t (&out)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(shared_address(row))
               : "memory");
}
/// The same, but (c, r) and (c + 1, r).
__device__ inline void load_matrices_transposed(std::uint32_t (&out)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(shared_address(row))
               : "memory");
}

/// 16 bytes to shared memory; zeros instead where they are not `valid`.
__device__ inline void copy_async(void* to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}
/// What this thread has copied since the last one is a group.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Until all but the latest `Groups` groups of this thread are there.
template <int Groups>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

}  // namespace plait::kernels::cuda

#endif
