// DGX Cloud's benchmarks with JAX set in scripts what their tables do not say
// (NVIDIA/dgxc-benchmarking, maxtext/configure.sh of v24.11.1 and of 25.01 and later,
// paxml/configure.sh and paxml_mod_configs.py of v24.11.1).
#include <algorithm>

#include "core/spelling.h"
#include "scenarios/published/recipe_of.h"

namespace plait {
namespace {

/// dcn_FSDP: weights are spread over the GPUs of 16 nodes where there are at least 64, and over all
/// below.
constexpr std::int64_t kManyNodes = 64, kNodesOfACopy = 16;

Recipe of_maxtext(const PublishedRun& run) {
  Recipe out;
  const std::int64_t nodes = run.gpus / std::max<std::int64_t>(1, run.gpus_per_node);
  if (nodes >= kManyNodes) out.shards = kNodesOfACopy * run.gpus_per_node;
  // remat_policy custom, later save_qkv_proj. mlpwo, which bf16 names too, is nothing that a
  // gradient needs.
  out.keep = {"qkv"};
  if (mentions(run.source, "v24.11.1")) out.keep.emplace_back("out");
  return out;
}

/// Synthetic5BCkpt and Synthetic175BCkpt: SAVE_DOT_ONLY and SAVE_QKV_OUT_PROJ. GPT126M, from which
/// the models derive (paxml/contrib/gpu/scripts_gpu/configs.py), has MAX_SEQ_LEN 2048;
/// ICI_MESH_SHAPE and FSDP spread weights over a node's GPUs, of 16 nodes for 175B.
Recipe of_paxml(const PublishedRun& run) {
  Recipe out;
  out.sequence_length = 2048;
  const bool small = mentions(lower_case(run.model.name), "5b") && !mentions(run.model.name, "175");
  out.keep = {"qkv", "out"};
  out.shards = run.gpus_per_node * (small ? 1 : kNodesOfACopy);
  if (small) out.keep.insert(out.keep.end(), {"up", "down"});
  return out;
}

}  // namespace

Recipe jax_recipe(const PublishedRun& run) {
  if (!mentions(run.source, "dgxc-benchmarking")) return {};
  Recipe out = mentions(run.framework, "Paxml") ? of_paxml(run) : of_maxtext(run);
  out.by_release = "recomputation and sharding as DGX Cloud's scripts set them";
  return out;
}

}  // namespace plait
