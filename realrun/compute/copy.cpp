#include "realrun/compute/copy.h"

#include <algorithm>
#include <array>

namespace plait {
namespace {

std::int64_t extent(const Tensor& t, int i, const Mesh& mesh) {
  return t.dims[static_cast<std::size_t>(i)].local(mesh);
}

/// Columns of the local rows that belong to each section; one section of all where there are none.
Sections sections_of(const Tensor& t, const Mesh& mesh) {
  const Dim& columns = t.dims[static_cast<std::size_t>(t.rank - 1)];
  if (columns.sections == Sections{}) return {columns.local(mesh), 0, 0};
  Sections out = columns.sections;
  for (std::int64_t& section : out) section /= mesh.size_of(columns.sharded);
  return out;
}

template <class T>
void copy_columns(T* out, const Tensor& to, const T* in, const Tensor& from, const Mesh& mesh) {
  const std::int64_t out_width = extent(to, to.rank - 1, mesh),
                     in_width = extent(from, from.rank - 1, mesh);
  const std::int64_t rows = to.elements(mesh) / out_width;
  for (const SharedColumns& s : shared_columns(to, from, mesh)) {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::copy_n(in + r * in_width + s.from, s.columns, out + r * out_width + s.to);
    }
  }
}

/// From or to the order of the experts.
template <class T>
void order_slots(T* out, const T* in, const ExpertSlots& s, bool by_expert) {
  for (std::int64_t sender = 0; sender < s.senders; ++sender) {
    for (std::int64_t e = 0; e < s.experts; ++e) {
      const std::int64_t sent = (sender * s.experts + e) * s.each,
                         held = (e * s.senders + sender) * s.each;
      std::copy_n(in + (by_expert ? sent : held), s.each, out + (by_expert ? held : sent));
    }
  }
}

/// From or to the order of the sequence.
template <class T>
void order_tokens(T* out, const T* in, const TokenRows& t, bool by_position) {
  for (std::int64_t r = 0; r < t.ranks; ++r) {
    const kernels::Positions place = chunks_of(r, t.ranks, t.ranks * t.tokens);
    for (std::int64_t u = 0; u < t.tokens; ++u) {
      const std::int64_t held = (r * t.tokens + u) * t.row, position = place(u) * t.row;
      std::copy_n(in + (by_position ? held : position), t.row,
                  out + (by_position ? position : held));
    }
  }
}

}  // namespace

const Tensor& by_rank(const Tensor& a, const Tensor& b) { return a.rank > b.rank ? a : b; }

CopyKind copy_kind(const Tensor& to, const Tensor& from, const Mesh& mesh) {
  const bool same_width = extent(to, to.rank - 1, mesh) == extent(from, from.rank - 1, mesh);
  if (to.rank == from.rank) return same_width ? CopyKind::kElements : CopyKind::kSections;
  if (!same_width) return CopyKind::kHeads;
  // The one dimension that slots keep is that of experts; tokens become more.
  const Tensor& parted = by_rank(to, from);
  const Tensor& other = &parted == &to ? from : to;
  return extent(other, 0, mesh) == extent(parted, 1, mesh) ? CopyKind::kSlots : CopyKind::kTokens;
}

std::vector<SharedColumns> shared_columns(const Tensor& to, const Tensor& from, const Mesh& mesh) {
  const auto into = sections_of(to, mesh), of = sections_of(from, mesh);
  std::vector<SharedColumns> out;
  std::int64_t at = 0, begin = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const std::int64_t n = std::min(into[i], of[i]);
    const bool goes_on = !out.empty() && out.back().to + out.back().columns == at &&
                         out.back().from + out.back().columns == begin;
    if (n > 0 && goes_on) out.back().columns += n;
    if (n > 0 && !goes_on) out.push_back({at, begin, n});
    at += into[i], begin += of[i];
  }
  return out;
}

TokenRows token_rows(const Tensor& by_rank, const Mesh& mesh) {
  return {extent(by_rank, 0, mesh), extent(by_rank, 1, mesh),
          extent(by_rank, 2, mesh) * extent(by_rank, 3, mesh)};
}

ExpertSlots expert_slots(const Tensor& by_sender, const Mesh& mesh) {
  return {extent(by_sender, 0, mesh), extent(by_sender, 1, mesh),
          extent(by_sender, 2, mesh) * extent(by_sender, 3, mesh)};
}

kernels::HeadShares head_shares(const Tensor& parts, const Tensor& whole, const Mesh& mesh) {
  kernels::HeadShares s;
  s.ranks = extent(parts, 0, mesh), s.rows = extent(parts, 1, mesh) * extent(parts, 2, mesh);
  std::copy_n(sections_of(parts, mesh).begin(), std::size(s.part), s.part);
  std::copy_n(sections_of(whole, mesh).begin(), std::size(s.whole), s.whole);
  return s;
}

template <class T>
void copy_elements(T* out, const Tensor& to, const T* in, const Tensor& from, const Mesh& mesh) {
  const bool orders = from.rank > to.rank;
  const Tensor& parted = by_rank(to, from);
  switch (copy_kind(to, from, mesh)) {
    case CopyKind::kElements: std::copy_n(in, to.elements(mesh), out); return;
    case CopyKind::kSections: return copy_columns(out, to, in, from, mesh);
    case CopyKind::kTokens: return order_tokens(out, in, token_rows(parted, mesh), orders);
    case CopyKind::kSlots: return order_slots(out, in, expert_slots(parted, mesh), orders);
    case CopyKind::kHeads: break;
  }
  const auto shares = head_shares(parted, orders ? to : from, mesh);
  orders ? kernels::collect_heads(out, in, shares) : kernels::deal_heads(out, in, shares);
}

template void copy_elements(float*, const Tensor&, const float*, const Tensor&, const Mesh&);
template void copy_elements(double*, const Tensor&, const double*, const Tensor&, const Mesh&);

}  // namespace plait
