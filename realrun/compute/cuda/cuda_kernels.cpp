#include "realrun/compute/cuda/cuda_kernels.h"

#include <algorithm>

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

namespace plait::cuda {
namespace {

namespace k = kernels::cuda;
using Bf16 = __nv_bfloat16;

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
    CUDA_CHECK(
        cudaMemsetAsync(out, 0, static_cast<std::size_t>(elements) * sizeof(float), q.stream));
  }
};

}  // namespace

CudaKernels::CudaKernels(std::shared_ptr<GpuShare> share, std::int64_t pool_bytes,
                         std::unique_ptr<LibraryAttention> library)
    : share_(std::move(share)),
      stream_(share_->make_stream()),
      scratch_(device_block(k::kScratchBytes)),
      queue_{stream_.get(), share_->multiprocessors(), scratch_.get(), &products_},
      pool_(pool_bytes),
      library_(std::move(library)) {}

void CudaKernels::call(const Compute& op) {
  Device device{{queue_, library_.get()}, pool_};
  std::visit(KernelCaller<Device>(device), op);
}

RunnableGraph CudaKernels::graph_of(const std::function<void()>& call, std::int64_t calls) {
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t runnable = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(queue_.stream, cudaStreamCaptureModeThreadLocal));
  for (std::int64_t c = 0; c < calls; ++c) call();
  CUDA_CHECK(cudaStreamEndCapture(queue_.stream, &captured));
  const GraphHandle graph(captured);
  CUDA_CHECK(cudaGraphInstantiate(&runnable, captured, 0));
  return RunnableGraph(runnable);
}

}  // namespace plait::cuda
