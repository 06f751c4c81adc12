#pragma once
// Element types of the plan on numbers of the run's type. In float, a bf16 tensor holds what bf16
// can: each op's and each collective's results are rounded to it (to nearest, ties to even), while
// sums inside an op are float's, as on tensor cores. In double nothing is rounded: it executes the
// plan in (nearly) exact arithmetic.

#include <cstdint>
#include <type_traits>

#include "kernels/cast.h"
#include "model/dtype.h"

namespace plait {

/// Rounds data[elements] to what `type` can hold.
template <class T>
void round_to(T* data, std::int64_t elements, DType type) {
  if constexpr (std::is_same_v<T, float>) {
    if (type == DType::kBf16) kernels::round_to_bf16(data, data, elements);
  }
}

}  // namespace plait
