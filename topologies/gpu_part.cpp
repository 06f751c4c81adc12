#include "topologies/gpu_part.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace plait {
namespace {

constexpr int kHopper = 90, kAmd = 900;  // compute capability

// What all multiprocessors together take from the second-level cache over the bandwidth of memory:
// residual additions in Vidur's profiles of vLLM's kernels, 1.334 on A100 and 1.356 on H100
// (costmodel/efficiency.cpp). So three quarters of the multiprocessors draw all that memory gives.
constexpr double kDrawnByAll = 1.34;

}  // namespace

int multiprocessors_of_part(const Device& gpu, std::int64_t parts) {
  const int least = gpu.compute_capability >= kHopper ? 8 : 4;
  const int step = gpu.compute_capability >= kHopper ? 8 : 2;
  const int share = static_cast<int>(gpu.sms / std::max<std::int64_t>(parts, 1)) / step * step;
  return share >= least ? share : 0;
}

Device part_of(const Device& gpu, std::int64_t parts) {
  Device part = gpu;
  part.sms = multiprocessors_of_part(gpu, parts);
  const bool nvidia = gpu.compute_capability > 0 && gpu.compute_capability < kAmd;
  if (part.sms == 0 || !nvidia) {
    throw InputError(
        {.code = "C004",
         .problem =
             fmt::format("{} parts of {}, which has {} multiprocessors", parts, gpu.name, gpu.sms),
         .expected = "an NVIDIA GPU, and at least 8 multiprocessors for a part (4 before "
                     "compute capability 9.0)",
         .cure = "ask for fewer devices, or choose another device"});
  }
  const double share = static_cast<double>(part.sms) / static_cast<double>(gpu.sms);
  part.name = fmt::format("{}, one of {} parts", gpu.name, parts);
  for (FlopsPerSecond* rate : {&part.peak_fp64, &part.peak_fp32, &part.peak_bf16, &part.peak_fp16,
                               &part.peak_fp8, &part.peak_fp4, &part.vector_fp32}) {
    *rate = *rate * share;
  }
  part.memory_bandwidth = gpu.memory_bandwidth * std::min(1.0, kDrawnByAll * share);
  part.memory = Bytes(gpu.memory.value / parts);
  part.l2_cache = Bytes(gpu.l2_cache.value / parts);
  part.host_bandwidth = gpu.host_bandwidth / static_cast<double>(parts);
  return part;
}

}  // namespace plait
