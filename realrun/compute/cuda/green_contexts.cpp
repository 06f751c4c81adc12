// Green contexts by the driver API, in CUDA 13.0 the only one that has them. Its functions are
// asked of the runtime: nothing links libcuda.

#include <cuda.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "core/error.h"
#include "realrun/compute/cuda/shared_gpu.h"

namespace plait::cuda {
namespace {

constexpr unsigned kVersion = 13000;  // of the functions' interfaces

struct Driver {
  decltype(&cuGetErrorString) error_string = nullptr;
  decltype(&cuDeviceGet) device = nullptr;
  decltype(&cuDeviceGetDevResource) resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split = nullptr;
  decltype(&cuDevResourceGenerateDesc) describe = nullptr;
  decltype(&cuGreenCtxCreate) create = nullptr;
  decltype(&cuGreenCtxDestroy) destroy = nullptr;
  decltype(&cuGreenCtxStreamCreate) create_stream = nullptr;

  Driver() {
    find("cuGetErrorString", error_string);
    find("cuDeviceGet", device);
    find("cuDeviceGetDevResource", resource);
    find("cuDevSmResourceSplitByCount", split);
    find("cuDevResourceGenerateDesc", describe);
    find("cuGreenCtxCreate", create);
    find("cuGreenCtxDestroy", destroy);
    find("cuGreenCtxStreamCreate", create_stream);
  }
  void check(CUresult result, const char* what) const {
    if (result == CUDA_SUCCESS) return;
    const char* text = nullptr;
    error_string(result, &text);
    throw EnvironmentError(std::string("CUDA: ") + (text == nullptr ? "an error" : text) +
                           "\n  in " + what);
  }

 private:
  template <class F>
  static void find(const char* symbol, F& function) {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t asked =
        cudaGetDriverEntryPointByVersion(symbol, &entry, kVersion, cudaEnableDefault, &found);
    if (asked != cudaSuccess || found != cudaDriverEntryPointSuccess || entry == nullptr) {
      throw EnvironmentError(std::string("this NVIDIA driver has no ") + symbol +
                             ": install one for CUDA 13");
    }
    function = reinterpret_cast<F>(entry);
  }
};

const Driver& driver() {
  static const Driver found;
  return found;
}

class GreenContext : public GpuShare {
 public:
  GreenContext(CUdevice device, CUdevResource part) {
    CUdevResourceDesc description = nullptr;
    driver().check(driver().describe(&description, &part, 1), "cuDevResourceGenerateDesc");
    driver().check(driver().create(&context_, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
                   "cuGreenCtxCreate");
    count_ = static_cast<int>(part.sm.smCount);
  }
  ~GreenContext() override { driver().destroy(context_); }
  StreamHandle make_stream() const override {
    const std::lock_guard lock(mutex_);  // of one thread at a time (cuda.h, CUgreenCtx)
    CUstream stream = nullptr;
    driver().check(driver().create_stream(&stream, context_, CU_STREAM_NON_BLOCKING, 0),
                   "cuGreenCtxStreamCreate");
    return StreamHandle(stream);
  }
  int multiprocessors() const override { return count_; }

 private:
  mutable std::mutex mutex_;
  CUgreenCtx context_ = nullptr;
  int count_ = 0;
};

/// The most multiprocessors that `parts` equal partitions can have. CUDA may make fewer partitions
/// than would fit, for the sake of clusters and alignment, and says how many before it makes them
/// (cuDevSmResourceSplitByCount).
unsigned size_of_part(const CUdevResource& all, std::int64_t parts) {
  const CUdevSmResource& sm = all.sm;
  const unsigned step = std::max(sm.smCoscheduledAlignment, 1U);
  const unsigned least = std::max(sm.minSmPartitionSize, step);
  for (unsigned size = sm.smCount / static_cast<unsigned>(parts) / step * step; size >= least;
       size -= step) {
    unsigned made = 0;
    driver().check(driver().split(nullptr, &made, &all, nullptr, 0, size),
                   "cuDevSmResourceSplitByCount");
    if (made >= parts) return size;
  }
  throw EnvironmentError(std::to_string(parts) + " ranks on " + std::to_string(sm.smCount) +
                         " multiprocessors: a green context has " +
                         std::to_string(sm.minSmPartitionSize) + " of them or more");
}

}  // namespace

std::vector<std::shared_ptr<GpuShare>> green_contexts(int device, std::int64_t parts) {
  CUDA_CHECK(cudaSetDevice(device));
  CUDA_CHECK(cudaFree(nullptr));  // the runtime makes the context that they are parts of
  CUdevice handle = 0;
  driver().check(driver().device(&handle, device), "cuDeviceGet");
  CUdevResource all{};
  driver().check(driver().resource(handle, &all, CU_DEV_RESOURCE_TYPE_SM),
                 "cuDeviceGetDevResource");
  std::vector<CUdevResource> split(static_cast<std::size_t>(parts));
  auto count = static_cast<unsigned>(parts);
  driver().check(driver().split(split.data(), &count, &all, nullptr, 0, size_of_part(all, parts)),
                 "cuDevSmResourceSplitByCount");
  if (count < parts) throw EnvironmentError("CUDA gives fewer partitions than there are ranks");
  std::vector<std::shared_ptr<GpuShare>> out;
  for (const CUdevResource& part : split)
    out.push_back(std::make_shared<GreenContext>(handle, part));
  return out;
}

}  // namespace plait::cuda
