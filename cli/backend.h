#pragma once
// What ranks of a real run compute with, by the options.

#include <memory>
#include <string>

#include "cli/realrun.h"
#include "realrun/compute/gpu.h"
#include "realrun/not_here.h"

namespace plait {

class Backend {
 public:
  /// Throws NotHere without the GPU that is asked for, EnvironmentError in a build without CUDA.
  explicit Backend(const RealrunOptions& options) {
    if (!options.on_gpu()) return;
    gpus_ = load_gpus();
    device_ = gpus_->device({.tf32 = options.tf32,
                             .graphs = options.graphs == "on",
                             .nccl = options.collectives == "library",
                             .green = options.backend == "cuda-green"});
  }
  /// Empty: the processor.
  const MakeDevice& device() const { return device_; }
  /// "NVIDIA H200, driver 580.65"; empty: the processor.
  std::string name() const { return gpus_ == nullptr ? "" : gpus_->name(); }

 private:
  std::unique_ptr<Gpus> gpus_;
  MakeDevice device_;
};

/// ", on cuda", or nothing on the processor.
inline std::string on_backend(const RealrunOptions& options) {
  return options.on_gpu() ? ", on " + options.backend : "";
}

}  // namespace plait
