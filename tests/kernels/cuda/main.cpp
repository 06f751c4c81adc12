// Runs the tests on the first CUDA device; exit code 77 (skipped) where there is none.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    constexpr int kSkipped = 77;
    std::printf("SKIPPED: no CUDA device (%s)\n", cudaGetErrorString(status));
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
