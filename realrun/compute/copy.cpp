#include "realrun/compute/copy.h"

#include <algorithm>

namespace plait {
namespace {

std::int64_t extent(const Tensor& t, int i, const Mesh& mesh) {
  return t.dims[static_cast<std::size_t>(i)].local(mesh);
}

/// The last columns of the wider rows.
template <class T>
void copy_columns(T* out, std::int64_t out_width, const T* in, std::int64_t in_width,
                  std::int64_t rows) {
  const std::int64_t n = std::min(out_width, in_width);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::copy_n(in + (r + 1) * in_width - n, n, out + (r + 1) * out_width - n);
  }
}

/// Calls f(row as held, row in the sequence) for all tokens.
template <class F>
void for_each_token(const Tensor& by_rank, const Mesh& mesh, F&& f) {
  const std::int64_t cp = extent(by_rank, 0, mesh), tokens = extent(by_rank, 1, mesh);
  for (std::int64_t r = 0; r < cp; ++r) {
    const kernels::Positions place = chunks_of(r, cp, cp * tokens);
    for (std::int64_t u = 0; u < tokens; ++u) f(r * tokens + u, place(u));
  }
}

}  // namespace

template <class T>
void copy_elements(T* out, const Tensor& to, const T* in, const Tensor& from, const Mesh& mesh) {
  const std::int64_t out_width = extent(to, to.rank - 1, mesh),
                     in_width = extent(from, from.rank - 1, mesh);
  const std::int64_t n = to.elements(mesh);
  if (out_width != in_width) return copy_columns(out, out_width, in, in_width, n / out_width);
  if (to.rank == from.rank) {
    std::copy_n(in, n, out);
    return;
  }
  const bool orders = from.rank == 4;
  const std::int64_t row = extent(to, to.rank - 2, mesh) * out_width;
  for_each_token(orders ? from : to, mesh, [&](std::int64_t held, std::int64_t position) {
    std::copy_n(in + (orders ? held : position) * row, row, out + (orders ? position : held) * row);
  });
}

template void copy_elements(float*, const Tensor&, const float*, const Tensor&, const Mesh&);
template void copy_elements(double*, const Tensor&, const double*, const Tensor&, const Mesh&);

}  // namespace plait
