#include "realrun/compute/quantized.h"

#include "kernels/quantize.h"

namespace plait {
namespace {

/// How a quantised tensor is made of shares.
struct Shares {
  std::int64_t ranks = 1, nodes = 1;
  kernels::QuantizedShape each;
  Shares(const Tensor& numbers, const Tensor& scales, std::int64_t share_elements,
         const Mesh& mesh) {
    const auto extent = [&](const Tensor& t, int i) {
      return t.dims[static_cast<std::size_t>(i)].local(mesh);
    };
    ranks = extent(numbers, 0);
    if (numbers.rank == 3) nodes = extent(numbers, 1);
    each.n = share_elements, each.blocks = extent(scales, scales.rank - 1);
    each.bits = extent(numbers, numbers.rank - 1) == each.n ? 8 : 4;
  }
};

std::int64_t shares_of(const Tensor& numbers, const Mesh& mesh) {
  const std::int64_t bytes = numbers.dims[static_cast<std::size_t>(numbers.rank - 1)].local(mesh);
  return numbers.elements(mesh) / bytes;
}

}  // namespace

template <class T>
void quantize_shares(std::uint8_t* out, const Tensor& numbers, T* scales, const Tensor& of_scales,
                     const T* in, const Tensor& from, const Mesh& mesh) {
  const std::int64_t elements = from.elements(mesh) / shares_of(numbers, mesh);
  const Shares s(numbers, of_scales, elements, mesh);
  for (std::int64_t rank = 0; rank < s.ranks; ++rank) {
    for (std::int64_t node = 0; node < s.nodes; ++node) {
      const std::int64_t to = rank * s.nodes + node, at = node * s.ranks + rank;
      kernels::quantize(out + to * s.each.bytes(), scales + to * s.each.blocks, in + at * elements,
                        s.each);
    }
  }
}

template <class T>
void restore_shares(T* out, const Tensor& to, const std::uint8_t* in, const Tensor& numbers,
                    const T* scales, const Tensor& of_scales, const Mesh& mesh) {
  const bool adds = !numbers.partial.empty();
  const std::int64_t kept = !adds               ? shares_of(numbers, mesh)
                            : numbers.rank == 3 ? numbers.dims[1].local(mesh)
                                                : 1;
  const std::int64_t elements = to.elements(mesh) / kept;
  const Shares s(numbers, of_scales, elements, mesh);
  for (std::int64_t rank = 0; rank < s.ranks; ++rank) {
    for (std::int64_t node = 0; node < s.nodes; ++node) {
      const std::int64_t from = rank * s.nodes + node, at = adds ? node : from;
      kernels::dequantize(out + at * elements, in + from * s.each.bytes(),
                          scales + from * s.each.blocks, s.each, adds && rank > 0);
    }
  }
}

#define PLAIT_INSTANTIATE(T)                                                                       \
  template void quantize_shares<T>(std::uint8_t*, const Tensor&, T*, const Tensor&, const T*,      \
                                   const Tensor&, const Mesh&);                                    \
  template void restore_shares<T>(T*, const Tensor&, const std::uint8_t*, const Tensor&, const T*, \
                                  const Tensor&, const Mesh&);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait
