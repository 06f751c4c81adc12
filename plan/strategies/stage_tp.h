#pragma once
// Stages of different tensor-parallel degrees. Each degree is planned by itself, as if all stages
// had it; a stage then takes its program from the plan of its degree. Messages between stages are
// the only thing that two degrees share, besides what is summed over all ranks.
//
// HexGen (Jiang et al. 2024, arXiv 2311.11514, section 4) calls it asymmetric parallelism.

#include <map>

#include "plan/plan.h"

namespace plait {

/// Stages differ in their tensor-parallel degree.
bool stages_differ(const Strategy& strategy);
/// Throws InputError where they do, and the rest of the strategy or the model forbids it.
void require_stage_tp(const Model& model, const Strategy& strategy);
/// Degree of `stage`.
std::int64_t tp_of_stage(const Strategy& strategy, std::int64_t stage);
/// What a message between a stage of degree `own` and one of degree `other` is to the first.
Fan fan_between(std::int64_t own, std::int64_t other);
/// The strategy with one degree for all; it still knows those of neighbouring stages.
Strategy with_tp(const Strategy& strategy, std::int64_t degree);
/// `of_degree`: the plan of each degree that a stage has.
Plan join_stages(const Strategy& strategy, const std::map<std::int64_t, Plan>& of_degree);

}  // namespace plait
