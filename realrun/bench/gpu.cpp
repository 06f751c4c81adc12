#include "realrun/bench/bench.h"

namespace plait {
namespace {

/// Launches of as many kernels as a part of a layer, and as a small step, has.
constexpr std::int64_t kKernels[] = {1, 8, 64, 512};
constexpr double kLaunchSeconds = 0.02;
constexpr std::int64_t kLargestTransfer = std::int64_t{1} << 30, kQuickLargestTransfer = 1 << 14;

}  // namespace

void bench_gpu_compute(RowsFile& file, const BenchOptions& options, GpuTimer& gpu) {
  bench_kernels(
      file, options, compute_grid(gpu_extents(options.size)), 1,
      [&](const Compute& op, const TimingOptions& timing) { return gpu.kernel(op, timing); });
  for (const char* how : {"issue", "stream", "graph", "graph_step"}) {
    for (const std::int64_t kernels : kKernels) {
      LaunchRow row;
      row.how = how, row.kernels = kernels;
      if (file.has(row)) continue;
      const Timed t = gpu.launches(how, kernels, {.seconds = kLaunchSeconds});
      row.repeats = t.repeats, row.wall = t.wall;
      file.add(row);
    }
  }
}

void bench_gpu_copy(RowsFile& file, const BenchOptions& options, GpuTimer& gpu) {
  const std::vector<StreamKernel> kinds = {{"copy", 2},           {"combine", 3},
                                           {"read", 1},           {"fill", 1},
                                           {"host_to_device", 1}, {"device_to_host", 1}};
  bench_streams(file, options, kinds,
                options.size == GridSize::kQuick ? kQuickLargestTransfer : kLargestTransfer,
                [&](const std::string& what, std::int64_t bytes, const TimingOptions& timing) {
                  return gpu.stream(what, bytes, timing);
                });
}

}  // namespace plait
