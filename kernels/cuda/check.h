#pragma once
// CUDA_CHECK(call) throws EnvironmentError with the runtime's own words.

#include <cuda_runtime_api.h>

#include <string>

#include "core/error.h"

namespace plait::kernels::cuda {

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  throw EnvironmentError(std::string("CUDA: ") + cudaGetErrorString(status) + "\n  in " + call +
                         " (" + file + ":" + std::to_string(line) + ")");
}

}  // namespace plait::kernels::cuda

#define CUDA_CHECK(call) ::plait::kernels::cuda::check((call), #call, __FILE__, __LINE__)
