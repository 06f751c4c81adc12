#pragma once
// Of a field that changes nothing: what it is, when, and why. Tables of such rules are in
// idle_fields.cpp and, of kernels, in idle_kernels.cpp.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/fields.h"
#include "scenarios/scenario.h"

namespace plait {

struct IdleRule {
  const char* path;
  bool idle;  // it differs from its default, and nothing looks at it
  std::string_view reason;
};
using IdleRules = std::vector<IdleRule>;

inline constexpr std::string_view kNoExperts = "the model has no experts";
inline constexpr std::string_view kNoStates = "no layer of the model has states";
inline constexpr std::string_view kNoAttention = "no layer of the model has attention";

/// What several rules ask.
struct IdleFacts {
  const StrategyPart& part;
  const Scenario& s;
  bool experts = s.model.experts > 0;
  std::int64_t expert_ranks = s.strategy.mesh.size_of(s.strategy.axes_of_experts());
  bool no_shards = part.fsdp * part.dp * part.cp * part.ep == 1 && !s.strategy.fetches_shards();
  std::int64_t microbatches =
      s.workload.global_batch /
      std::max<std::int64_t>(1, s.strategy.replicas() * s.workload.micro_batch);
};

/// Whether a layer of the model has one of `parts` (model.layer_pattern).
inline bool has_part(const Model& m, const char* parts) {
  return m.layer_pattern.empty() || m.layer_pattern.find_first_of(parts) != std::string::npos;
}

/// Whether one has a state.
inline bool has_states(const Model& m) {
  return m.layer_pattern.find_first_of("MmGg") != std::string::npos;
}

/// Of a step that trains. `written`: as the scenario says, not as it is resolved.
IdleRules idle_kernels(const IdleFacts& facts, const Kernels& written);

}  // namespace plait
