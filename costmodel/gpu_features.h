#pragma once
// What a fitted kernel's time on a GPU of the catalogue is linear in: the seconds that its data
// sheet says for the work, and what Plait's own kernels (kernels/cuda) take beyond that because of
// how they are launched. Classes are those of kernel_features.h; docs/models/calibration.md has the
// list and how well it does.

#include <span>
#include <string_view>
#include <vector>

#include "costmodel/cost.h"
#include "model/op.h"

namespace plait {

struct GpuFeature {
  std::string_view name;
  Resource spent_on = kMemoryBandwidth;
};

/// In their order, the first above zero for every op. Empty: a class's features are the same as on
/// a processor.
std::span<const GpuFeature> gpu_features_of(std::string_view kernel_class);

/// Whether it is a GPU, and how many multiprocessors it has is known.
bool has_gpu_features(const Device& device);

/// Values of the features of the op's class, in the same order, on such a GPU.
std::vector<double> gpu_features(const Compute& op, const Device& gpu);

}  // namespace plait
