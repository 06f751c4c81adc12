#include "plan/places.h"

#include <algorithm>

namespace plait {
namespace {

bool one_place_each(const Plan& plan) { return plan.stage_tp.empty(); }

/// All places, also where the plan is seen from a narrower stage.
Mesh grid_of(const Plan& plan) {
  Mesh grid = plan.mesh;
  grid[Axis::kTp] = std::ranges::max(plan.stage_tp);
  return grid;
}
std::int64_t places_of_a_stage(const Plan& plan) { return grid_of(plan).stride(Axis::kPp); }

std::int64_t first_rank_of(const Plan& plan, std::int64_t stage) {
  std::int64_t n = 0;
  for (std::int64_t s = 0; s < stage; ++s) n += ranks_of_stage(plan, s);
  return n;
}

/// Ranks at these places, ascending, each once.
std::vector<std::int64_t> ranks_at(const Plan& plan, std::vector<std::int64_t> places) {
  for (std::int64_t& p : places) p = rank_at(plan, p);
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace

std::int64_t places_of_a_rank(const Plan& plan, std::int64_t stage) {
  if (one_place_each(plan)) return 1;
  return std::ranges::max(plan.stage_tp) / plan.stage_tp.at(static_cast<std::size_t>(stage));
}

Mesh mesh_of(const Plan& plan, std::int64_t stage) {
  Mesh mesh = plan.mesh;
  if (!one_place_each(plan)) mesh[Axis::kTp] = plan.stage_tp.at(static_cast<std::size_t>(stage));
  return mesh;
}

Plan seen_from(const Plan& plan, std::int64_t stage) {
  Plan out = plan;
  if (one_place_each(plan)) return out;
  out.mesh = mesh_of(plan, stage);
  std::vector<bool> used(plan.tensors.size(), false);
  for (const Call& call : plan.programs.at(static_cast<std::size_t>(stage)).calls) {
    for (const Op& op : plan.blocks[call.block].ops) {
      for (const Operand& o : op.operands) used[o.tensor] = used[storage_of(plan, o.tensor)] = true;
    }
  }
  for (std::size_t t = 0; t < used.size(); ++t) {
    if (!used[t]) out.tensors[t].name.clear();
  }
  return out;
}

std::int64_t ranks_of_stage(const Plan& plan, std::int64_t stage) {
  if (one_place_each(plan)) return plan.places_per_stage();
  return places_of_a_stage(plan) / places_of_a_rank(plan, stage);
}

std::int64_t rank_count(const Plan& plan) {
  return one_place_each(plan) ? plan.mesh.world_size() : first_rank_of(plan, plan.mesh[Axis::kPp]);
}

std::int64_t stage_of_rank(const Plan& plan, std::int64_t rank) {
  if (one_place_each(plan)) return rank / plan.places_per_stage();
  std::int64_t stage = 0;
  for (; rank >= ranks_of_stage(plan, stage); ++stage) rank -= ranks_of_stage(plan, stage);
  return stage;
}

std::int64_t rank_at(const Plan& plan, std::int64_t place) {
  if (one_place_each(plan)) return place;
  const std::int64_t all = places_of_a_stage(plan), stage = place / all;
  return first_rank_of(plan, stage) + place % all / places_of_a_rank(plan, stage);
}

std::int64_t first_place_of(const Plan& plan, std::int64_t rank) {
  if (one_place_each(plan)) return rank;
  const std::int64_t stage = stage_of_rank(plan, rank);
  return stage * places_of_a_stage(plan) +
         (rank - first_rank_of(plan, stage)) * places_of_a_rank(plan, stage);
}

Mesh::Coordinates coordinates_of(const Plan& plan, std::int64_t rank) {
  if (one_place_each(plan)) return plan.mesh.coordinates(rank);
  Mesh::Coordinates at = grid_of(plan).coordinates(first_place_of(plan, rank));
  at[static_cast<std::size_t>(Axis::kTp)] /= places_of_a_rank(plan, at[0]);
  return at;
}

std::vector<std::int64_t> members(const Plan& plan, std::int64_t rank, AxisSet axes,
                                  Stages stages) {
  if (one_place_each(plan)) return members(plan.mesh, rank, axes, stages);
  return ranks_at(plan, members(grid_of(plan), first_place_of(plan, rank), axes, stages));
}

std::vector<std::int64_t> peers(const Plan& plan, std::int64_t rank, Axis axis, int offset) {
  if (one_place_each(plan)) return {plan.mesh.neighbour(rank, axis, offset)};
  const Mesh grid = grid_of(plan);
  const std::int64_t first = first_place_of(plan, rank);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < places_of_a_rank(plan, stage_of_rank(plan, rank)); ++i) {
    places.push_back(grid.neighbour(first + i, axis, offset));
  }
  return ranks_at(plan, std::move(places));
}

std::vector<std::int64_t> devices_of_places(const Plan& plan,
                                            const std::vector<std::int64_t>& placement) {
  if (one_place_each(plan)) return placement;
  std::vector<std::int64_t> devices;
  for (std::int64_t place = 0; place < grid_of(plan).world_size(); ++place) {
    const std::int64_t rank = rank_at(plan, place);
    devices.push_back(placement.empty() ? rank : placement.at(static_cast<std::size_t>(rank)));
  }
  return devices;
}

}  // namespace plait
