#include "realrun/compute/cuda/cuda_timer.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/adam.h"
#include "kernels/cuda/add.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/bias_grad.h"
#include "kernels/cuda/cast.h"
#include "kernels/cuda/cross_entropy.h"
#include "kernels/cuda/embedding.h"
#include "kernels/cuda/fill.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/rope.h"
#include "kernels/cuda/squared_norm.h"
#include "realrun/bench/kernel_caller.h"
#include "realrun/op_time.h"

namespace plait::cuda {
namespace {

namespace k = kernels::cuda;
using Bf16 = __nv_bfloat16;

constexpr double kSecondsPerNs = 1e-9;
constexpr std::int64_t kMostCalls = 200;  // of a graph
/// A cache may keep what was read again and again in the face of one stream: several times its
/// size.
constexpr std::int64_t kFlushes = 4;

/// Of the host's memory; no copy is larger.
constexpr std::int64_t kMostPinned = std::int64_t{1} << 30;

int attribute(cudaDeviceAttr what) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, what, device));
  return value;
}
std::size_t bytes_of(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

/// The kernels' queue, on which a library's attention goes before the own one.
struct Queue : k::Queue {
  LibraryAttention* library = nullptr;

  bool in_library(const kernels::AttentionShape& shape, const kernels::Dropout& d) const {
    return library != nullptr && library->takes(shape, d);
  }
};
void attention_fused_forward(const Queue& q, Bf16* context, float* log_sum_exp, const Bf16* qkv,
                             const kernels::AttentionShape& shape, const kernels::Dropout& d) {
  if (q.in_library(shape, d)) return q.library->forward(q, context, log_sum_exp, qkv, shape);
  k::attention_fused_forward(q, context, log_sum_exp, qkv, shape, d);
}
void attention_fused_backward(const Queue& q, Bf16* dqkv, const Bf16* dcontext, const Bf16* qkv,
                              const Bf16* context, const float* log_sum_exp,
                              const kernels::AttentionShape& shape, const kernels::Dropout& d) {
  if (q.in_library(shape, d)) {
    return q.library->backward(q, dqkv, dcontext, qkv, context, log_sum_exp, shape);
  }
  k::attention_fused_backward(q, dqkv, dcontext, qkv, context, log_sum_exp, shape, d);
}

/// What KernelCaller asks for.
struct Device {
  Queue q;
  DevicePool& operands;

  DevicePool& pool() const { return operands; }
  const Queue& queue() const { return q; }
  template <class F>
  static void with_type(DType type, F&& f) {
    PLAIT_CHECK(type == DType::kFp32 || type == DType::kBf16, "a type without kernels");
    type == DType::kFp32 ? f(float{}) : f(Bf16{});
  }
  void zero(float* out, std::int64_t elements) const {
    CUDA_CHECK(cudaMemsetAsync(out, 0, bytes_of(elements) * sizeof(float), q.stream));
  }
};

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
    : multiprocessors_(attribute(cudaDevAttrMultiProcessorCount)),
      flushed_(std::max(kFlushes * attribute(cudaDevAttrL2CacheSize) / 4, std::int64_t{1})),
      stream_(make_stream()),
      begin_(make_event()),
      end_(make_event()),
      scratch_(device_block(k::kScratchBytes)),
      flush_(device_block(bytes_of(flushed_ + 1) * sizeof(float))),
      host_(pinned_block(bytes_of(std::min(pool_bytes, kMostPinned)))),
      queue_{stream_.get(), multiprocessors_, scratch_.get(), &products_},
      pool_(pool_bytes),
      library_(std::move(library)) {
  CUDA_CHECK(cudaMemset(flush_.get(), 0, bytes_of(flushed_ + 1) * sizeof(float)));
  CUDA_CHECK(cudaDeviceSynchronize());
}

CudaTimer::~CudaTimer() { static_cast<void>(cudaDeviceSynchronize()); }

void CudaTimer::flush_caches() {
  auto* const data = static_cast<float*>(flush_.get());
  k::squared_norm(queue_, data + flushed_, data, flushed_, false);
}

double CudaTimer::device_seconds(const std::function<void()>& work) {
  CUDA_CHECK(cudaEventRecord(begin_.get(), queue_.stream));
  work();
  CUDA_CHECK(cudaEventRecord(end_.get(), queue_.stream));
  CUDA_CHECK(cudaStreamSynchronize(queue_.stream));
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, begin_.get(), end_.get()));
  return static_cast<double>(ms) * 1e-3;
}

RunnableGraph CudaTimer::graph_of(const std::function<void()>& call, std::int64_t calls) {
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t runnable = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(queue_.stream, cudaStreamCaptureModeThreadLocal));
  for (std::int64_t c = 0; c < calls; ++c) call();
  CUDA_CHECK(cudaStreamEndCapture(queue_.stream, &captured));
  const GraphHandle graph(captured);
  CUDA_CHECK(cudaGraphInstantiate(&runnable, captured, 0));
  return RunnableGraph(runnable);
}

/// The graph of one long call is launched as is; of short ones so many that launching does not
/// show.
Timed CudaTimer::back_to_back(const std::function<void()>& call, const TimingOptions& options) {
  device_seconds(call);  // libraries choose algorithms
  const double first = std::max(device_seconds(call), kSecondsPerNs);
  const auto calls = static_cast<std::int64_t>(
      std::clamp(std::ceil(options.least_repeat_s / first), 1.0, static_cast<double>(kMostCalls)));
  const RunnableGraph graph = graph_of(call, calls);
  const auto run = [&] { CUDA_CHECK(cudaGraphLaunch(graph.get(), queue_.stream)); };
  const double warm = device_seconds(run);
  return repeated(repeats_of(warm, options), calls, [&] {
    flush_caches();
    return device_seconds(run);
  });
}

Timed CudaTimer::kernel(const Compute& op, const TimingOptions& options) {
  Device device{{queue_, library_.get()}, pool_};
  return back_to_back([&] { std::visit(KernelCaller<Device>(device), op); }, options);
}

Timed CudaTimer::stream(const std::string& what, std::int64_t bytes, const TimingOptions& options) {
  const std::int64_t n = bytes / 4;
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
    CUDA_CHECK(cudaMemcpyAsync(to, from, bytes_of(bytes), kind, queue_.stream));
  };
  const auto call = [&] {
    if (what == "copy") {
      return copy(pool_.output<float>(n), pool_.input<float>(n), cudaMemcpyDeviceToDevice);
    }
    if (what == "host_to_device") {
      return copy(pool_.output<float>(n), host_.get(), cudaMemcpyHostToDevice);
    }
    if (what == "device_to_host") {
      return copy(host_.get(), pool_.input<float>(n), cudaMemcpyDeviceToHost);
    }
    if (what == "combine") {
      return k::accumulate(queue_, pool_.output<float>(n), pool_.input<float>(n), n);
    }
    if (what == "read") {
      return k::squared_norm(queue_, pool_.output<float>(1), pool_.input<float>(n), n, false);
    }
    PLAIT_CHECK(what == "fill", "a stream that there is not");
    k::fill(queue_, pool_.output<float>(n), 0.0F, n);
  };
  return back_to_back(call, options);
}

Timed CudaTimer::launches(const std::string& how, std::int64_t kernels,
                          const TimingOptions& options) {
  float* const one = pool_.output<float>(1);
  const auto nothing = [&] { k::fill(queue_, one, 0.0F, 1); };
  const auto all = [&] {
    for (std::int64_t i = 0; i < kernels; ++i) nothing();
  };
  const RunnableGraph graph = graph_of(nothing, kernels);
  const auto run = [&] { CUDA_CHECK(cudaGraphLaunch(graph.get(), queue_.stream)); };
  const auto on_host = [&](const std::function<void()>& work, bool whole) {
    const std::int64_t start = now_ns();
    work();
    if (whole) CUDA_CHECK(cudaStreamSynchronize(queue_.stream));
    const std::int64_t end = now_ns();
    CUDA_CHECK(cudaStreamSynchronize(queue_.stream));
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
