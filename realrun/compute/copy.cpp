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

/// Slots by sender and expert, (senders, experts, rows), from or to the order of the experts.
template <class T>
void order_slots(T* out, const T* in, const Tensor& by_sender, const Mesh& mesh, bool by_expert) {
  const std::int64_t senders = extent(by_sender, 0, mesh), experts = extent(by_sender, 1, mesh);
  const std::int64_t n = extent(by_sender, 2, mesh) * extent(by_sender, 3, mesh);
  for (std::int64_t s = 0; s < senders; ++s) {
    for (std::int64_t e = 0; e < experts; ++e) {
      const std::int64_t sent = (s * experts + e) * n, held = (e * senders + s) * n;
      std::copy_n(in + (by_expert ? sent : held), n, out + (by_expert ? held : sent));
    }
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
  const Tensor& by_rank = orders ? from : to;
  // The one dimension that slots keep is that of experts; tokens become more.
  if (extent(orders ? to : from, 0, mesh) == extent(by_rank, 1, mesh)) {
    return order_slots(out, in, by_rank, mesh, orders);
  }
  const std::int64_t row = extent(to, to.rank - 2, mesh) * out_width;
  for_each_token(by_rank, mesh, [&](std::int64_t held, std::int64_t position) {
    std::copy_n(in + (orders ? held : position) * row, row, out + (orders ? position : held) * row);
  });
}

template void copy_elements(float*, const Tensor&, const float*, const Tensor&, const Mesh&);
template void copy_elements(double*, const Tensor&, const double*, const Tensor&, const Mesh&);

}  // namespace plait
