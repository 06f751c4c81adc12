#pragma once
// What the recipe of a published run sets: how Megatron-Core issues its step, by what the record
// quotes or, where one of Megatron-Bridge quotes nothing, by the recipes of its release; what a
// case of FlagPerf says of itself and the record does not; and what the scripts of DGX Cloud's
// benchmarks set, of which records tell nothing (with JAX: jax_recipe.cpp; of BigScience's:
// bigscience_recipe.cpp).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

struct Recipe {
  bool whole_step_graph = false;    // one CUDA graph for the step (cuda_graph_impl full_iteration)
  bool hides_exchanges = false;     // Megatron-Core's overlap_moe_expert_parallel_comm
  bool overlaps_gradients = false;  // --overlap-grad-reduce
  bool overlaps_gathers = false;    // --overlap-param-gather
  bool overlaps_tensor = false;     // --tp-comm-overlap
  bool gathers_tokens = false;      // to experts, by Megatron-Core's allgather dispatcher
  bool rotates_apart = false;       // --no-rope-fusion
  bool quick_linear = false;        // linear layers cost the host no more than PyTorch's
  bool cublas_13 = false;           // the release has CUDA 13
  std::string recompute;            // as records write it; empty: the recipe is not known
  std::string offload;              // likewise
  std::string kernel;               // of attention, likewise
  std::optional<std::int64_t> zero_stage;
  std::optional<double> dropout;
  std::vector<std::string> keep;     // with recomputation op by op: what is kept; empty: not known
  std::int64_t shards = 0;           // ranks that hold a copy of sharded weights; 0: all replicas
  std::int64_t sequence_length = 0;  // 0: not known
  std::int64_t layers = 0, hidden = 0, heads = 0;   // likewise
  std::string framework, interconnect, processors;  // as records write them; empty: not known
  std::string by_release;  // what of it the release says and the record does not
};

Recipe recipe_of(const PublishedRun& run);
/// Of a run on MaxText or Paxml. All empty where the scripts are not known.
Recipe jax_recipe(const PublishedRun& run);
/// What BigScience's scripts and notes say of a run on V100, into `recipe`. Throws NotRepresentable
/// for one whose layers' inputs are dealt to tensor-parallel ranks.
void complete_by_bigscience(const PublishedRun& run, Recipe& recipe);

}  // namespace plait
