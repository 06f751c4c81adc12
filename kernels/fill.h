#pragma once
// Sets memory to a value.

#include <cstdint>

namespace plait::kernels {

/// out[elements] = value.
template <class T>
void fill(T* out, T value, std::int64_t elements);

}  // namespace plait::kernels
