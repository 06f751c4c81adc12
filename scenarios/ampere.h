#pragma once
// The generation of NVIDIA's GPUs that programs ask for before they start.

#include "topologies/cluster.h"

namespace plait {

/// NVIDIA's before compute capability 8.0, which have matrix units for fp16 and none for bf16.
inline bool predates_ampere(const Device& device) {
  return device.compute_capability > 0 && device.compute_capability < 80;
}

}  // namespace plait
