#pragma once
// How a tensor lies over the ranks of tensor parallelism.

#include "plan/tensor.h"

namespace plait {

enum class Layout : std::uint8_t { kReplicated, kSequence, kFeature, kPartial };

/// Over `axis`: of the first dimension, tokens, or of another one, features or heads.
inline Layout layout_over(const Tensor& t, Axis axis) {
  if (t.partial.has(axis)) return Layout::kPartial;
  if (t.dims[0].sharded.has(axis)) return Layout::kSequence;
  for (int i = 1; i < t.rank; ++i) {
    if (t.dims[static_cast<std::size_t>(i)].sharded.has(axis)) return Layout::kFeature;
  }
  return Layout::kReplicated;
}

inline void lay_out(Tensor& t, Layout l, AxisSet axes) {
  for (Dim& dim : t.dims) dim.sharded = dim.sharded - axes;
  t.partial = t.partial - axes;
  if (l == Layout::kPartial) t.partial = t.partial | axes;
  if (l == Layout::kSequence) t.dims[0].sharded = t.dims[0].sharded | axes;
  if (l == Layout::kFeature) t.dims[2].sharded = t.dims[2].sharded | axes;  // features or heads
}

}  // namespace plait
