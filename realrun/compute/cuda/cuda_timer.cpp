#include "realrun/compute/cuda/cuda_timer.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "kernels/cuda/add.h"
#include "kernels/cuda/fill.h"
#include "kernels/cuda/squared_norm.h"
#include "realrun/op_time.h"

namespace plait::cuda {
namespace {

namespace k = kernels::cuda;

constexpr double kSecondsPerNs = 1e-9;
constexpr std::int64_t kMostCalls = 200;  // of a graph
/// A cache may keep what was read again and again in the face of one stream: several times its
/// size.
constexpr std::int64_t kFlushes = 4;

/// Of the host's memory; no copy is larger.
constexpr std::int64_t kMostPinned = std::int64_t{1} << 30;

int device_here() {
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  return device;
}
std::int64_t second_level_cache() {
  int bytes = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device_here()));
  return bytes;
}
std::size_t bytes_of(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

std::int64_t repeats_of(double seconds, const TimingOptions& options) {
  const auto least = static_cast<double>(options.least_repeats);
  const auto most = static_cast<double>(options.most_repeats);
  return static_cast<std::int64_t>(
      std::clamp(options.seconds / std::max(seconds, kSecondsPerNs), least, most));
}

/// `repeat` gives the time of `calls` calls.
Timed repeated(std::int64_t repeats, std::int64_t calls, const std::function<double()>& repeat) {
  std::vector<double> times;
  for (std::int64_t r = 0; r < repeats; ++r) {
    times.push_back(repeat() / static_cast<double>(calls));
  }
  Timed out;
  out.repeats = repeats, out.calls = calls;
  out.wall = out.cpu = spread_of(std::move(times));
  return out;
}

}  // namespace

CudaTimer::CudaTimer(std::int64_t pool_bytes, std::unique_ptr<LibraryAttention> library)
    : kernels_(whole_gpu(device_here()), pool_bytes, std::move(library)),
      flushed_(std::max(kFlushes * second_level_cache() / 4, std::int64_t{1})),
      begin_(make_event()),
      end_(make_event()),
      flush_(device_block(bytes_of(flushed_ + 1) * sizeof(float))),
      host_(pinned_block(bytes_of(std::min(pool_bytes, kMostPinned)))) {
  CUDA_CHECK(cudaMemset(flush_.get(), 0, bytes_of(flushed_ + 1) * sizeof(float)));
  CUDA_CHECK(cudaDeviceSynchronize());
}

CudaTimer::~CudaTimer() { static_cast<void>(cudaDeviceSynchronize()); }

void CudaTimer::flush_caches() {
  auto* const data = static_cast<float*>(flush_.get());
  k::squared_norm(queue(), data + flushed_, data, flushed_, false);
}

double CudaTimer::device_seconds(const std::function<void()>& work) {
  CUDA_CHECK(cudaEventRecord(begin_.get(), queue().stream));
  work();
  CUDA_CHECK(cudaEventRecord(end_.get(), queue().stream));
  CUDA_CHECK(cudaStreamSynchronize(queue().stream));
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, begin_.get(), end_.get()));
  return static_cast<double>(ms) * 1e-3;
}

/// The graph of one long call is launched as is; of short ones so many that launching does not
/// show.
Timed CudaTimer::back_to_back(const std::function<void()>& call, const TimingOptions& options) {
  device_seconds(call);  // libraries choose algorithms
  const double first = std::max(device_seconds(call), kSecondsPerNs);
  const auto calls = static_cast<std::int64_t>(
      std::clamp(std::ceil(options.least_repeat_s / first), 1.0, static_cast<double>(kMostCalls)));
  const RunnableGraph graph = kernels_.graph_of(call, calls);
  const auto run = [&] { CUDA_CHECK(cudaGraphLaunch(graph.get(), queue().stream)); };
  const double warm = device_seconds(run);
  return repeated(repeats_of(warm, options), calls, [&] {
    flush_caches();
    return device_seconds(run);
  });
}

Timed CudaTimer::kernel(const Compute& op, const TimingOptions& options) {
  return back_to_back([&] { kernels_.call(op); }, options);
}

Timed CudaTimer::stream(const std::string& what, std::int64_t bytes, const TimingOptions& options) {
  const std::int64_t n = bytes / 4;
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
    CUDA_CHECK(cudaMemcpyAsync(to, from, bytes_of(bytes), kind, queue().stream));
  };
  const auto call = [&] {
    if (what == "copy") {
      return copy(pool().output<float>(n), pool().input<float>(n), cudaMemcpyDeviceToDevice);
    }
    if (what == "host_to_device") {
      return copy(pool().output<float>(n), host_.get(), cudaMemcpyHostToDevice);
    }
    if (what == "device_to_host") {
      return copy(host_.get(), pool().input<float>(n), cudaMemcpyDeviceToHost);
    }
    if (what == "combine") {
      return k::accumulate(queue(), pool().output<float>(n), pool().input<float>(n), n);
    }
    if (what == "read") {
      return k::squared_norm(queue(), pool().output<float>(1), pool().input<float>(n), n, false);
    }
    PLAIT_CHECK(what == "fill", "a stream that there is not");
    k::fill(queue(), pool().output<float>(n), 0.0F, n);
  };
  return back_to_back(call, options);
}

Timed CudaTimer::launches(const std::string& how, std::int64_t kernels,
                          const TimingOptions& options) {
  float* const one = pool().output<float>(1);
  const auto nothing = [&] { k::fill(queue(), one, 0.0F, 1); };
  const auto all = [&] {
    for (std::int64_t i = 0; i < kernels; ++i) nothing();
  };
  const RunnableGraph graph = kernels_.graph_of(nothing, kernels);
  const auto run = [&] { CUDA_CHECK(cudaGraphLaunch(graph.get(), queue().stream)); };
  const auto on_host = [&](const std::function<void()>& work, bool whole) {
    const std::int64_t start = now_ns();
    work();
    if (whole) CUDA_CHECK(cudaStreamSynchronize(queue().stream));
    const std::int64_t end = now_ns();
    CUDA_CHECK(cudaStreamSynchronize(queue().stream));
    return static_cast<double>(end - start) * kSecondsPerNs;
  };
  const auto repeat = [&] {
    if (how == "issue") return on_host(all, false);
    if (how == "graph_step") return on_host(run, true);
    PLAIT_CHECK(how == "stream" || how == "graph", "a way to launch that there is not");
    return how == "stream" ? device_seconds(all) : device_seconds(run);
  };
  const double warm = repeat();
  return repeated(repeats_of(warm, options), kernels, repeat);
}

}  // namespace plait::cuda
