#include "realrun/compute/copy.h"

#include <algorithm>
#include <array>

namespace plait {
namespace {

std::int64_t extent(const Tensor& t, int i, const Mesh& mesh) {
  return t.dims[static_cast<std::size_t>(i)].local(mesh);
}

/// The sections that both have.
template <class T>
void copy_sections(T* out, const Tensor& to, const T* in, const Tensor& from, const Mesh& mesh) {
  const auto last = static_cast<std::size_t>(to.rank - 1);
  const Dim &into = to.dims[last], &of = from.dims[last];
  const std::int64_t out_width = into.local(mesh), in_width = of.local(mesh);
  const std::int64_t rows = to.elements(mesh) / out_width;
  std::int64_t at = 0, begin = 0;
  for (std::size_t i = 0; i < of.sections.size(); ++i) {
    const std::int64_t there = into.sections[i] / mesh.size_of(into.sharded),
                       here = of.sections[i] / mesh.size_of(of.sharded);
    const std::int64_t n = std::min(there, here);
    for (std::int64_t r = 0; n > 0 && r < rows; ++r) {
      std::copy_n(in + r * in_width + begin, n, out + r * out_width + at);
    }
    at += there, begin += here;
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
  const std::int64_t n = extent(by_rank, 0, mesh), tokens = extent(by_rank, 1, mesh);
  for (std::int64_t r = 0; r < n; ++r) {
    const kernels::Positions place = chunks_of(r, n, n * tokens);
    for (std::int64_t u = 0; u < tokens; ++u) f(r * tokens + u, place(u));
  }
}

/// Columns of the local rows that belong to one section; one section of all where there are none.
std::array<std::int64_t, 3> sections_of(const Dim& columns, const Mesh& mesh) {
  if (columns.sections[0] == 0) return {columns.local(mesh), 0, 0};
  std::array<std::int64_t, 3> out = columns.sections;
  for (std::int64_t& section : out) section /= mesh.size_of(columns.sharded);
  return out;
}

/// Calls f(first column in the parted row, first column in the wide row, columns) for the heads of
/// rank `r` of `n`.
template <class F>
void for_each_section(const Tensor& parted, const Tensor& wide, const Mesh& mesh, std::int64_t r,
                      std::int64_t n, F&& f) {
  const auto mine = sections_of(parted.dims[3], mesh), all = sections_of(wide.dims[2], mesh);
  std::int64_t at = 0, begin = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i] == 0) continue;
    const std::int64_t head = r * all[i] / (n * mine[i]);  // the same one for several ranks if few
    f(at, begin + head * mine[i], mine[i]);
    at += mine[i], begin += all[i];
  }
}

template <class T>
void deal_heads(T* out, const Tensor& to, const T* in, const Tensor& from, const Mesh& mesh) {
  const std::int64_t n = extent(to, 0, mesh), rows = extent(to, 1, mesh) * extent(to, 2, mesh);
  const std::int64_t width = extent(to, 3, mesh), wide = extent(from, 2, mesh);
  for (std::int64_t r = 0; r < n; ++r) {
    for_each_section(
        to, from, mesh, r, n, [&](std::int64_t at, std::int64_t begin, std::int64_t c) {
          for (std::int64_t row = 0; row < rows; ++row) {
            std::copy_n(in + row * wide + begin, c, out + (r * rows + row) * width + at);
          }
        });
  }
}

template <class T>
void collect_heads(T* out, const Tensor& to, const T* in, const Tensor& from, const Mesh& mesh) {
  const std::int64_t n = extent(from, 0, mesh),
                     rows = extent(from, 1, mesh) * extent(from, 2, mesh);
  const std::int64_t width = extent(from, 3, mesh), wide = extent(to, 2, mesh);
  std::fill_n(out, rows * wide, T(0));
  for (std::int64_t r = 0; r < n; ++r) {
    for_each_section(from, to, mesh, r, n,
                     [&](std::int64_t at, std::int64_t begin, std::int64_t c) {
                       for (std::int64_t row = 0; row < rows; ++row) {
                         const T* part = in + (r * rows + row) * width + at;
                         T* sum = out + row * wide + begin;
                         for (std::int64_t k = 0; k < c; ++k) sum[k] += part[k];
                       }
                     });
  }
}

}  // namespace

template <class T>
void copy_elements(T* out, const Tensor& to, const T* in, const Tensor& from, const Mesh& mesh) {
  const std::int64_t out_width = extent(to, to.rank - 1, mesh),
                     in_width = extent(from, from.rank - 1, mesh);
  const std::int64_t n = to.elements(mesh);
  if (out_width != in_width && to.rank > from.rank) return deal_heads(out, to, in, from, mesh);
  if (out_width != in_width && to.rank < from.rank) return collect_heads(out, to, in, from, mesh);
  if (out_width != in_width) return copy_sections(out, to, in, from, mesh);
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
