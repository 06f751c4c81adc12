// The CUDA plug-in, see realrun/compute/gpu.h.

#include <fmt/format.h>

#include "realrun/bench/extents.h"
#include "realrun/compute/cuda/cuda_device.h"
#include "realrun/compute/cuda/cuda_overlap.h"
#include "realrun/compute/cuda/cuda_timer.h"
#include "realrun/compute/cuda/direct.h"
#include "realrun/compute/cuda/nvml.h"
#include "realrun/compute/gpu.h"

namespace plait::cuda {
namespace {

/// Of nvmlClocksEventReasons (NVML API reference): hardware slow-down, thermal ones, power brake. A
/// power limit in software is how a GPU works in training too.
constexpr std::uint64_t kDisturbed = 0x8 | 0x20 | 0x40 | 0x80;
/// For each of the operands' buffers. The largest operand of the grid is the gradient of an
/// embedding, 4 GiB.
constexpr std::int64_t kPoolBytes = std::int64_t{4} << 30, kQuickPoolBytes = 16 << 20;

constexpr std::int64_t kOverlapPoolBytes = std::int64_t{1} << 30;

/// Makes the rank's GPU the thread's.
int take_device(const Transport& transport) {
  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  const auto device = static_cast<int>(transport.rank() % devices);
  CUDA_CHECK(cudaSetDevice(device));
  return device;
}

class CudaGpus : public Gpus {
 public:
  std::string name() const override { return nvml_.name(0) + ", driver " + nvml_.driver(); }
  MakeDevice device(const GpuOptions& options) const override {
    using kernels::cuda::FloatProducts;
    return cuda_device(
        {.float_products = options.tf32 ? FloatProducts::kTf32 : FloatProducts::kExact,
         .attention = cudnn_attention,
         .nccl = options.nccl,
         .green = options.green,
         .graphs = options.graphs});
  }
  std::unique_ptr<GpuTimer> timer(GridSize size) const override {
    return std::make_unique<CudaTimer>(size == GridSize::kQuick ? kQuickPoolBytes : kPoolBytes,
                                       cudnn_attention());
  }
  std::unique_ptr<GpuComm> comm(Transport& transport, const std::vector<RankGroup>& groups,
                                std::int64_t bytes) const override {
    take_device(transport);
    return nccl_comm(transport, groups, bytes);
  }
  std::unique_ptr<GpuOverlap> overlap(const std::string& way, Transport& transport,
                                      GridSize size) const override {
    constexpr std::int64_t kTwo = 2;  // one computes, the other one communicates
    const int device = take_device(transport);
    const std::int64_t bytes = largest_overlap(size);
    const std::int64_t pool = size == GridSize::kQuick ? kQuickPoolBytes : kOverlapPoolBytes;
    if (way == "green") {
      const auto shares = green_contexts(device, kTwo);
      return std::make_unique<CudaOverlap>(shares[0], kernels_of_a_peer(shares[1], bytes), pool,
                                           cudnn_attention());
    }
    const std::shared_ptr<GpuShare> gpu = whole_gpu(device);
    std::unique_ptr<Traffic> traffic =
        way == "nccl" ? nccl_traffic(transport, bytes) : copies_in_memory(gpu, bytes);
    return std::make_unique<CudaOverlap>(gpu, std::move(traffic), pool, cudnn_attention());
  }
  std::string comm_library() const override { return "NCCL " + nccl_version(); }
  void describe(RunRow& run) const override {
    constexpr int kMajor = CUDART_VERSION / 1000, kMinor = CUDART_VERSION % 1000 / 10;
    run.processor = nvml_.name(0);
    run.cores = 1;
    run.compiler = fmt::format("CUDA {}.{}", kMajor, kMinor);
    run.blas = fmt::format("cuBLASLt of CUDA {}.{}, driver {}", kMajor, kMinor, nvml_.driver());
    const bool disturbed = (nvml_.state(0).throttled & kDisturbed) != 0;
    run.quiet = disturbed ? "slowed down by its power supply or temperature" : "quiet";
  }
  GpuRow state() const override {
    const GpuState s = nvml_.state(0);
    GpuRow row;
    row.sm_clock_mhz = s.sm_clock_mhz, row.memory_clock_mhz = s.memory_clock_mhz;
    row.temperature_c = s.temperature_c, row.power_w = s.power_w;
    row.throttled = fmt::format("0x{:x}", s.throttled);
    return row;
  }

 private:
  Nvml nvml_;
};

}  // namespace
}  // namespace plait::cuda

extern "C" plait::Gpus* plait_gpus() { return new plait::cuda::CudaGpus; }
