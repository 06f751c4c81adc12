#pragma once
// What a node's host memory holds of a model whose layers are not all on devices: the weights that
// are there, what the processor computes with, and the keys and values of its layers
// (serving/layer_maps.h). Weights are read into it, or are pages of the mapped file, which give way
// to the cache and are read from the drive again.

#include <optional>

#include "costmodel/node_use.h"
#include "serving/kept_layers.h"
#include "serving/step_costs.h"

namespace plait {

struct HostRoom {
  NodeUse use;              // of the fullest node, without the cache
  bool mapped = false;      // its weights are pages of a file
  KeptLayers kept;          // layers of a rank whose keys and values are here
  Bytes bytes_per_token;    // of all of them, for all ranks of a node
  Bytes needed;             // of the cache, for as many sequences as must have room
  Bytes cache;              // what is left for it, where the capacity is described
  std::int64_t tokens = 0;  // whole blocks

  /// The node's host memory is described, and holds all that must be in it.
  bool is_short() const { return use.capacity.value > 0 && use.memory + needed > use.capacity; }
};

/// Layers of the stage whose keys and values are in host memory, or in the device's.
KeptLayers kept_layers(const ServedModel& served, std::size_t stage, bool on_host);

/// Nothing where all is on devices. `plan`: of the largest step; `sequences` must have room.
std::optional<HostRoom> host_room(const ServedModel& served, const Plan& plan,
                                  const EngineLimits& limits, std::int64_t sequences);

}  // namespace plait
