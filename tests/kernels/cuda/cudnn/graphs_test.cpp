// Without a device: cuDNN is told of an H200, recognises the graphs and makes its kernels for it.
// What then fails is to load them, since libcuda is the CUDA toolkit's stub here (CMakeLists.txt).

#include <gtest/gtest.h>

#include <cstring>

#include "core/error.h"
#include "kernels/cuda/attention_cudnn.h"

namespace plait::kernels::cuda::graphs_test {

/// An H200 (compute capability 9.0, 132 multiprocessors) as CUDA describes devices; limits from the
/// CUDA programming guide, "Compute capabilities".
constexpr const char* kH200 = R"({
  "deviceName": "NVIDIA H200", "cudaDeviceId": 0, "deviceVer": 900, "driverVer": 13000,
  "multiProcessorCount": 132, "warpSize": 32, "maxThreadsPerSM": 2048, "maxThreadsPerBlock": 1024,
  "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "l2CacheSize": 62914560, "totalGlobalMem": 150000000000,
  "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "pciDeviceId": 0, "isTccDriver": 0,
  "supportCoopLaunch": 1, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64]})";

std::string outcome(Graph graph) {
  PlanTarget target;
  target.properties = Descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  target.properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                        static_cast<std::int64_t>(std::strlen(kH200)), kH200);
  target.properties.finalize();
  try {
    graph.plan(target);
  } catch (const EnvironmentError& e) {
    return e.what();
  }
  return "a plan";
}
AttentionShape shape(std::int64_t kv_heads, std::int64_t head_dim, bool causal) {
  return {512, 2, 8, kv_heads, head_dim, causal};
}
constexpr const char* kMadeButNotLoaded = "cuLibraryLoadData";

TEST(CudnnGraphs, BecomeKernelsForAnH200) {
  for (const AttentionShape& s : {shape(2, 128, true), shape(8, 64, false)}) {
    SCOPED_TRACE(testing::Message() << s.kv_heads << " heads of keys, head_dim " << s.head_dim);
    const std::string forward = outcome(attention_forward_graph(s));
    EXPECT_NE(forward.find(kMadeButNotLoaded), std::string::npos) << forward;
    const std::string backward = outcome(attention_backward_graph(s));
    EXPECT_NE(backward.find(kMadeButNotLoaded), std::string::npos) << backward;
  }
}

TEST(CudnnGraphs, WhatCudnnHasNoKernelForIsToldApart) {
  const std::string refused = outcome(attention_forward_graph(shape(8, 100, true)));
  EXPECT_NE(refused.find("multiple of 8"), std::string::npos) << refused;
}

}  // namespace plait::kernels::cuda::graphs_test
