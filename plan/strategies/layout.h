#pragma once
// How a tensor lies over the ranks of tensor parallelism, and what a weight packs.

#include <algorithm>

#include "model/op.h"
#include "plan/tensor.h"

namespace plait {

enum class Sharding : std::uint8_t { kReplicated, kSequence, kFeature, kPartial };

/// Over `axis`: of the first dimension, tokens, or of another one, features or heads.
inline Sharding layout_over(const Tensor& t, Axis axis) {
  if (t.partial.has(axis)) return Sharding::kPartial;
  if (t.dims[0].sharded.has(axis)) return Sharding::kSequence;
  for (int i = 1; i < t.rank; ++i) {
    if (t.dims[static_cast<std::size_t>(i)].sharded.has(axis)) return Sharding::kFeature;
  }
  return Sharding::kReplicated;
}

inline void lay_out(Tensor& t, Sharding l, AxisSet axes) {
  for (Dim& dim : t.dims) dim.sharded = dim.sharded - axes;
  t.partial = t.partial - axes;
  if (l == Sharding::kPartial) t.partial = t.partial | axes;
  if (l == Sharding::kSequence) t.dims[0].sharded = t.dims[0].sharded | axes;
  if (l == Sharding::kFeature) t.dims[2].sharded = t.dims[2].sharded | axes;  // features or heads
}

/// Of a weight, the linear layers of one input whose rows it packs; more than three of them are one
/// product in every framework.
inline std::int64_t projections_of(const Tensor& weight) {
  const Sections& rows = weight.dims[0].sections;
  if (rows[3] > 0) return 1;
  return std::max<std::int64_t>(1, std::ranges::count_if(rows, [](auto n) { return n > 0; }));
}

/// These, of a product's body (model/op.h).
inline PackedProjections packed_in(const Tensor& weight) {
  const Sections& rows = weight.dims[0].sections;
  if (rows[1] == 0 || rows[3] > 0) return {};
  return {{rows[0], rows[1], rows[2]}, rows[2] == 0};
}

}  // namespace plait
