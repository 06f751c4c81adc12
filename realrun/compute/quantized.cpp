#include "realrun/compute/quantized.h"

namespace plait {

kernels::QuantizedShares shares_of(const Tensor& numbers, const Tensor& scales, const Tensor& whole,
                                   const Mesh& mesh) {
  const auto extent = [&](const Tensor& t, int i) {
    return t.dims[static_cast<std::size_t>(i)].local(mesh);
  };
  kernels::QuantizedShares s;
  s.ranks = extent(numbers, 0);
  if (numbers.rank == 3) s.nodes = extent(numbers, 1);
  s.each.n = whole.elements(mesh) / (owes_sum(numbers) ? s.nodes : s.ranks * s.nodes);
  s.each.blocks = extent(scales, scales.rank - 1);
  s.each.bits = extent(numbers, numbers.rank - 1) == s.each.n ? 8 : 4;
  return s;
}

}  // namespace plait
