#pragma once
// A Cast between tensors of different shapes: which elements go where.

#include "plan/tensor.h"
#include "realrun/rank.h"

namespace plait {

/// Rows of different widths: the sections that both have, as keys and values stand in packed
/// rows (s, b, q | k | v). (n, s / n, b, width) and (s, b, width): rows as n ranks hold them, or in
/// the order of the sequence. (n, s, b, width) and (s, b, wide): of each section of the wide rows,
/// the heads that each of n ranks deals with; heads of several ranks are copied to each, or added
/// up from each. Else element by element.
template <class T>
void copy_elements(T* out, const Tensor& to, const T* in, const Tensor& from, const Mesh& mesh);

}  // namespace plait
