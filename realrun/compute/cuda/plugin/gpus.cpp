// The CUDA plug-in, see realrun/compute/gpu.h.

#include "realrun/compute/cuda/cuda_device.h"
#include "realrun/compute/cuda/nvml.h"
#include "realrun/compute/gpu.h"

namespace plait::cuda {
namespace {

class CudaGpus : public Gpus {
 public:
  std::string name() const override { return nvml_.name(0) + ", driver " + nvml_.driver(); }
  MakeDevice device(const GpuOptions& options) const override {
    using kernels::cuda::FloatProducts;
    return cuda_device(
        {.float_products = options.tf32 ? FloatProducts::kTf32 : FloatProducts::kExact,
         .attention = cudnn_attention,
         .nccl = options.nccl,
         .graphs = options.graphs});
  }

 private:
  Nvml nvml_;
};

}  // namespace
}  // namespace plait::cuda

extern "C" plait::Gpus* plait_gpus() { return new plait::cuda::CudaGpus; }
