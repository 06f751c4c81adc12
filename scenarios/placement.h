#pragma once
// Where the ranks of the mesh run on the machine: "placement" of a scenario. Devices are numbered
// node by node; without a placement rank r runs on device r, so the innermost axis of the mesh (tp)
// lies within nodes and the outermost (pp) across them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.h"
#include "plan/mesh.h"

namespace plait {

/// An order that keeps the ranks of a layer and a sequence together, then stages, then replicas, as
/// JSON: Megatron-LM's tp-cp-ep-pp-dp.
inline constexpr const char* kStagesWithinReplicas = R"(["tp","ep","cp","pp","fsdp","dp"])";

/// At most one of these is given.
struct PlacementPart {
  std::vector<Axis> order = {};  // fastest along the devices first; axes of size 1 may be absent
  std::vector<std::int64_t> map = {};  // device of each rank
  std::int64_t stages_per_node = 0;    // 0: not given
};

const Table<PlacementPart>& placement_table();

struct Placement {
  std::vector<std::int64_t> devices;  // of each rank; empty: rank r on device r
  std::string words;                  // "pp, tp, dp from the inside out"; "" where devices is empty
};

/// With s stages per node, a node of n devices holds w = n / s ranks of each of s neighbouring
/// stages: tp innermost, then the stages, then the data-parallel ranks. Throws InputError S006 (an
/// order that misses or repeats an axis), S007 (stages that do not divide), S008 (a map that is no
/// permutation of the devices) and S009 (more than one of the three).
/// `ranks`: where stages have different numbers of them, in all; then a map alone says where they
/// are, and throws S053 what else does.
Placement resolve_placement(const PlacementPart& part, const Mesh& mesh,
                            std::int64_t devices_per_node,
                            std::optional<std::int64_t> ranks = std::nullopt);

}  // namespace plait
