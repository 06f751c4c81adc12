#pragma once
// The element types for which there are kernels: fp32 and bf16.

#include <cuda_bf16.h>

#include <string>

#include "core/error.h"
#include "model/dtype.h"

namespace plait::cuda {

[[noreturn]] inline void refuse(DType t) {
  throw InputError(
      {.code = "G012",
       .problem = "there are no CUDA kernels for tensors in " + std::string(name_of(t)),
       .expected = "bf16 and fp32",
       .cure = "choose other types in workload.precision"});
}

/// f(T{}) with the type of tensors in `t`.
template <class F>
void with_type(DType t, F&& f) {
  if (t == DType::kFp32) return f(float{});
  if (t == DType::kBf16) return f(__nv_bfloat16{});
  refuse(t);
}
/// f(Wide{}, Narrow{}) for results that are in the type of what they are made of, or in float.
template <class F>
void with_types(DType result, DType from, F&& f) {
  if (result == DType::kFp32 && from == DType::kFp32) return f(float{}, float{});
  if (result == DType::kFp32 && from == DType::kBf16) return f(float{}, __nv_bfloat16{});
  if (result == DType::kBf16 && from == DType::kBf16) {
    return f(__nv_bfloat16{}, __nv_bfloat16{});
  }
  refuse(result == DType::kBf16 ? from : result);
}

}  // namespace plait::cuda
