#pragma once
// Where the ranks stand in the mesh. Stages may differ in their tensor-parallel degree: the mesh
// then is a grid of *places*, as wide along tp as the widest stage. A rank of a stage that is n
// times narrower has n adjacent places along tp, as if n ranks did everything together. Ranks are
// numbered in the order of their first places. Where all stages are alike, every rank has one
// place, of its own number.
//
//   stage_tp = [4, 2, 1], one replica        rank at each place
//     stage 0                                  0 1 2 3
//     stage 1                                  4 4 5 5
//     stage 2                                  6 6 6 6
//
// A group of ranks is a group of places with each rank named once. Two ranks of neighbouring stages
// that share a place along tp are peers: each of them receives its part of the tensor from each of
// its peers on the other side, or all of it from its only one.

#include "plan/plan.h"

namespace plait {

/// Places of a rank of `stage`, side by side along tp.
std::int64_t places_of_a_rank(const Plan& plan, std::int64_t stage);
/// The mesh as ranks of `stage` see it: the sizes that their tensors are sharded by.
Mesh mesh_of(const Plan& plan, std::int64_t stage);
/// The plan with that mesh, for what deals with one rank alone. Ranks keep their numbers, and
/// tensors that only other stages have lose their names.
Plan seen_from(const Plan& plan, std::int64_t stage);

std::int64_t rank_count(const Plan& plan);
std::int64_t ranks_of_stage(const Plan& plan, std::int64_t stage);
std::int64_t stage_of_rank(const Plan& plan, std::int64_t rank);
std::int64_t rank_at(const Plan& plan, std::int64_t place);
std::int64_t first_place_of(const Plan& plan, std::int64_t rank);
/// In the mesh of the rank's stage.
Mesh::Coordinates coordinates_of(const Plan& plan, std::int64_t rank);

/// Ranks that meet in a collective of `rank` over `axes`, ascending.
std::vector<std::int64_t> members(const Plan& plan, std::int64_t rank, AxisSet axes, Stages stages);
/// Ranks at the other end of a Send or Recv of `rank`, ascending.
std::vector<std::int64_t> peers(const Plan& plan, std::int64_t rank, Axis axis, int offset);

/// Device of each place. `placement`: of each rank, or empty for rank r on device r; so is the
/// result where every rank has one place.
std::vector<std::int64_t> devices_of_places(const Plan& plan,
                                            const std::vector<std::int64_t>& placement);

}  // namespace plait
