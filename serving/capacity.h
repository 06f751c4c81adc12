#pragma once
// How many tokens the key-value cache has room for: what a share of the device's memory leaves
// beside weights, the largest step's activations and the process's own needs, in whole blocks of
// all layers of a stage; the stage with the least room decides (vLLM's determine_available_memory
// after a profiling run of max_num_batched_tokens).
//   tokens = block floor((utilization memory - used) / (block layers bytes_per_token_and_layer))
// A model that guesses tokens (serving/drafter.h) has its weights beside the others and its layers
// in each block. Where some layers keep no more than a window, or a state, `tokens` is what all
// layers could keep, and a sequence takes fewer blocks than it has tokens for
// (serving/kept_layers.h).
//
// States share the pool with keys and values: blocks have as many tokens as a state has bytes for,
// at least, and a state takes a whole block (vllm/model_executor/models/config.py,
// HybridAttentionMambaModelConfig.verify_and_update_config):
//   block = max(block_size, 16 ceil(state / (16 bytes of a token in a layer)))
// Without attention a block is one state, for a sequence of any length.
//
// Layers of the processor keep theirs in host memory, which may have less room than the devices
// (serving/host_room.h).

#include <optional>
#include <vector>

#include "costmodel/stage_use.h"
#include "serving/drafter.h"
#include "serving/host_room.h"
#include "serving/kept_layers.h"
#include "serving/step_costs.h"

namespace plait {

struct StageRoom {
  StageUse use;             // without the cache
  Bytes cache;              // what is left for it
  Bytes bytes_per_token;    // of all layers of the stage that keep tokens, on one rank
  Bytes state_bytes;        // of a sequence in all layers with states, without what fills a block
  Bytes block_bytes;        // of a block of all layers
  std::int64_t tokens = 0;  // whole blocks
  KeptLayers kept;          // layers whose keys and values are here
};

struct CacheCapacity {
  std::vector<StageRoom> stages;
  std::optional<HostRoom> host;  // where some of the model is not on devices
  bool host_decides = false;     // has room for fewer tokens than any stage
  std::int64_t blocks = 0, tokens = 0;
  std::int64_t room = 0;     // tokens that memory leaves room for, whatever cache_tokens states
  KeptLayers kept;           // of the stage with the least room
  std::size_t tightest = 0;  // which that is: with states, for the longest sequences
  /// vLLM's "Maximum concurrency for max_context tokens per request".
  double concurrency(const EngineLimits& limits) const;
  /// Host memory has no room for what must be in it.
  bool lacks_host_memory() const;
  /// The pool that is stated is too small for a sequence of max_context tokens, and memory is not.
  bool lacks_by_choice(const EngineLimits& limits) const;
  /// So many sequences of max_context tokens have room at a time; or all that a stated pool
  /// (cache_tokens) is for, however many they are.
  bool holds(const EngineLimits& limits, std::int64_t sequences = 1) const;
};

/// The step of the profiling run: as many tokens as a step may have, in prompts as long as a
/// sequence may be.
Step largest_step(const EngineLimits& limits);

/// The same limits with blocks that hold a state, where the model has some.
EngineLimits with_blocks_of_states(EngineLimits limits, const ServedModel& served);

CacheCapacity cache_capacity(const ServedModel& served, const EngineLimits& limits,
                             const FrameworkMemory& framework,
                             const std::optional<Drafter>& drafter = std::nullopt);

}  // namespace plait
