#pragma once
// launch(kernel, grid, block, shared_bytes, stream, arguments ...) in place of <<<>>>, so that a
// host compiler reads the same sources: with PLAIT_EMULATED_CUDA the grid runs on the processor.
// Used inside kernels only.

#ifdef PLAIT_EMULATED_CUDA
#include <emulated_launch.h>
#else

#include <cuda_runtime.h>

#include <tuple>
#include <utility>

#include "kernels/cuda/check.h"

namespace plait::kernels::cuda {

/// Shared memory that a kernel gets without opting in (CUDA programming guide, compute
/// capabilities).
inline constexpr std::size_t kSharedWithoutOptIn = 48 * 1024;

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;  // nothing to do
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  const auto* entry = reinterpret_cast<const void*>(kernel);
  if (shared_bytes > kSharedWithoutOptIn) {
    CUDA_CHECK(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes)));
  }
  std::apply(
      [&](auto&... value) {
        void* pointers[] = {&value...};
        CUDA_CHECK(cudaLaunchKernel(entry, grid, block, pointers, shared_bytes, stream));
      },
      values);
}

/// The block's dynamic shared memory.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char plait_dynamic_shared[];
  return reinterpret_cast<T*>(plait_dynamic_shared);
}

}  // namespace plait::kernels::cuda

#endif
