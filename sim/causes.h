#pragma once
// The cause of each op's start: the op of the same rank that ended last among those it had to wait
// for.

#include <cstdint>
#include <vector>

#include "plan/dependencies.h"
#include "plan/timeline.h"
#include "sim/durations.h"

namespace plait {

inline constexpr std::uint32_t kNoCause = 0xFFFFFFFF;

/// An op of a program, by flat index.
struct OpSite {
  std::uint32_t call = 0;
  std::uint16_t op = 0;
};

/// Flat list of a program's ops.
std::vector<OpSite> flat_ops(const Plan& plan, std::size_t stage);

/// Per flat op of the track: the flat index of its cause, or kNoCause at the start of the step.
/// Ties go to the op of the same stream, then to compute.
std::vector<std::uint32_t> causes(const Plan& plan, const Dependencies& deps, const Track& track,
                                  const std::vector<OpSite>& ops);

/// When the host has issued an op, and the op whose end it had waited for last before, or kNoCause.
struct Issue {
  SimTime time = 0;
  std::uint32_t after = kNoCause;
};

/// Per flat op of the track; empty where the host takes no time.
std::vector<Issue> issues(const Plan& plan, const Durations& durations, const Track& track,
                          const std::vector<OpSite>& ops);

}  // namespace plait
