#pragma once
// What an op of a program must wait for when ops are issued in order. Ops are counted flat, over
// the whole program of a stage.

#include <vector>

#include "plan/plan.h"

namespace plait {

/// Per op: earlier ops that must have ended, besides those of its own stream.
using OpsBefore = std::vector<std::vector<std::uint32_t>>;
OpsBefore ops_before(const Plan& plan, std::size_t stage);
/// The same without ops of the compute stream.
OpsBefore communication_before(const Plan& plan, std::size_t stage);

/// Per op.
std::vector<Stream> streams_of(const Plan& plan, std::size_t stage);
/// Per op: whether a rank with that role runs it.
std::vector<bool> runs_of(const Plan& plan, std::size_t stage, Role role);

}  // namespace plait
