#include "realrun/rank.h"

#include <array>

#include "plan/places.h"

namespace plait {

Rank::Rank(const Plan& plan, std::int64_t rank)
    : id(rank),
      at(coordinates_of(plan, rank)),
      stage(static_cast<std::size_t>(at[0])),
      role(role_of(plan, rank)),
      served_share(plan.servers.share_of(plan.mesh[Axis::kDp], along(Axis::kDp))) {}

std::int64_t Rank::share(const Mesh& mesh, AxisSet axes) const {
  std::int64_t index = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (axes.has(static_cast<Axis>(i))) index = index * mesh.size[i] + at[i];
  }
  return index;
}

bool Rank::counts(const Mesh& mesh, const Tensor& tensor) const {
  if (share(mesh, tensor.counted_once - Axis::kPp) != 0) return false;
  const std::int64_t own = along(Axis::kPp);
  return !tensor.counted_once.has(Axis::kPp) ||
         own == first_of_meeting(tensor.copies, own, mesh[Axis::kPp]);
}

ShareOfBuffer share_of_buffer(const Plan& plan, const Rank& rank, const Tensor& whole,
                              const Tensor& part) {
  if (part.holders == Holders::kServers) {
    const std::int64_t n = part.elements(plan.mesh);
    return {n * rank.served_share, n};
  }
  const AxisSet axes = part.dims[0].sharded;
  const std::int64_t n = whole.elements(plan.mesh) / plan.mesh.size_of(axes);
  return {n * rank.share(plan.mesh, axes), n};
}

kernels::Positions chunks_of(std::int64_t i, std::int64_t n, std::int64_t tokens) {
  const std::int64_t chunk = tokens / (2 * n);
  return {i * chunk, chunk, (2 * n - 1 - i) * chunk};
}

kernels::Positions positions_of(const Dim& tokens, const Mesh& mesh, const Rank& rank) {
  const std::int64_t local = tokens.local(mesh);
  const AxisSet others = tokens.sharded - kContextAxes, context = tokens.sharded - others;
  const std::int64_t skipped = local * rank.share(mesh, others);
  if (context.empty()) return {.first = skipped};
  kernels::Positions place =
      chunks_of(rank.share(mesh, context), mesh.size_of(context), tokens.global);
  if (skipped < place.turn) return {place.first + skipped, place.turn - skipped, place.second};
  return {.first = place(skipped)};
}

GlobalIndex::GlobalIndex(const Tensor& t, const Mesh& mesh, const Rank& rank) {
  for (int i = t.rank; i-- > 0;) {
    const Dim& dim = t.dims[static_cast<std::size_t>(i)];
    const std::int64_t shards = mesh.size_of(dim.sharded);
    const Sections whole = {dim.global, 0, 0};
    Along& d = dims_.emplace_back();
    d.global = dim.global, d.local = dim.local(mesh);
    d.sections = d.mine = dim.sections[0] == 0 ? whole : dim.sections;
    for (std::int64_t& n : d.mine) n /= shards;
    d.share = rank.share(mesh, dim.sharded);
  }
}

std::int64_t GlobalIndex::global_along(const Along& dim, std::int64_t local) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < dim.sections.size(); ++i) {
    if (local < dim.mine[i]) return begin + dim.share * dim.mine[i] + local;
    local -= dim.mine[i], begin += dim.sections[i];
  }
  return begin;
}

std::int64_t GlobalIndex::operator()(std::int64_t local) const {
  std::int64_t index = 0, scale = 1;
  for (const Along& dim : dims_) {
    index += global_along(dim, local % dim.local) * scale;
    local /= dim.local, scale *= dim.global;
  }
  return index;
}

}  // namespace plait
