#pragma once
// Where kernels are issued. Launchers take one first and then what their CPU twins take; pointers
// are device memory. They neither allocate nor synchronise, so a CUDA graph can capture them.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace plait::kernels::cuda {

class Products;

/// The products' part, behind the kernels' own: what cuBLAS asks for on Hopper and Blackwell (its
/// guide, cublasSetWorkspace).
inline constexpr std::size_t kProductScratchBytes = std::size_t{32} << 20;
inline constexpr std::size_t kKernelScratchBytes = std::size_t{32} << 20;
inline constexpr std::size_t kScratchBytes = kKernelScratchBytes + kProductScratchBytes;

/// One stream and what its kernels, one after another, may use.
struct Queue {
  cudaStream_t stream = nullptr;
  int multiprocessors = 1;       // of the device or green context: grids are sized by it
  void* scratch = nullptr;       // kScratchBytes, aligned to 256; nothing in it outlives a call
  Products* products = nullptr;  // matrix products; one per thread and device
  std::size_t kernel_scratch_bytes = kKernelScratchBytes;  // the products' part lies behind
};

}  // namespace plait::kernels::cuda
