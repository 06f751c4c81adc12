#pragma once
// The largest magnitude of a buffer, by which numbers of few bits are scaled.

#include <cstdint>

namespace plait::kernels {

/// max |x[elements]|; 0 where there are none.
template <class T>
T largest_magnitude(const T* x, std::int64_t elements);

}  // namespace plait::kernels
