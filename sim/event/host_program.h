#pragma once
// A stage's program as the event engine walks it: flat ops, with everything that they wait for
// besides their own stream, and each stream's ops in order.

#include <array>
#include <cstdint>
#include <vector>

#include "plan/dependencies.h"

namespace plait {

struct HostOp {
  const Op* op = nullptr;
  std::uint32_t id = 0;    // through the plan's blocks: equal for all calls of a block
  std::uint32_t call = 0;  // of the program
};

struct HostProgram {
  std::vector<HostOp> ops;
  /// Flat op i waits for before[first[i]] .. before[first[i + 1] - 1].
  std::vector<std::uint32_t> first, before;
  std::array<std::vector<std::uint32_t>, kStreams> on_stream;
};

/// One per stage. Pointers are into the plan.
std::vector<HostProgram> host_programs(const Plan& plan, const Dependencies& deps);

}  // namespace plait
