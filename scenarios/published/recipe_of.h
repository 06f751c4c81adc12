#pragma once
// How the recipe of a published run on Megatron-Core issues its step: what the record quotes of it,
// or, where one of Megatron-Bridge quotes nothing, what the recipes of its release say.

#include <string>

#include "scenarios/published/record.h"

namespace plait {

struct Recipe {
  bool whole_step_graph = false;    // one CUDA graph for the step (cuda_graph_impl full_iteration)
  bool hides_exchanges = false;     // Megatron-Core's overlap_moe_expert_parallel_comm
  bool overlaps_gradients = false;  // --overlap-grad-reduce
  bool overlaps_gathers = false;    // --overlap-param-gather
  bool overlaps_tensor = false;     // --tp-comm-overlap
  std::string recompute;            // as records write it; empty: the recipe is not known
  std::string offload;              // likewise
  std::string by_release;           // what of it the release says and the record does not
};

Recipe recipe_of(const PublishedRun& run);

}  // namespace plait
