#include "realrun/compute/gpu.h"

#include "realrun/plugin.h"

namespace plait {

std::unique_ptr<Gpus> load_gpus() {
  const auto make = reinterpret_cast<MakeGpus>(
      load_plugin("libplait_cuda.so", "plait_gpus", "CUDA",
                  "this build has no CUDA: install CUDA 13 (nvcc, cuBLAS) and build again"));
  return std::unique_ptr<Gpus>(make());
}

}  // namespace plait
