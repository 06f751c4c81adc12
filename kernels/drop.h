#pragma once
// Dropout by itself, of what a low-rank adapter reads; its backward pass is add_dropout_backward
// (kernels/add.h).

#include <cstdint>

#include "kernels/dropout.h"

namespace plait::kernels {

/// out[s, b, width] = dropout(x); mask[s, b, width] gets 1 where an element is kept, else 0. The
/// rows are columns [first, first + width) of whole ones.
template <class T>
void drop(T* out, std::uint8_t* mask, const T* x, std::int64_t sequence, std::int64_t batch,
          std::int64_t width, std::int64_t first, const Dropout& dropout);

}  // namespace plait::kernels
