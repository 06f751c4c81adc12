#pragma once
// Fused attention in bf16 by a library, where it takes the shape; the own kernels do the rest.

#include <cuda_bf16.h>

#include <functional>
#include <memory>

#include "core/quantity.h"
#include "kernels/attention.h"
#include "kernels/cuda/queue.h"

namespace plait::cuda {

class LibraryAttention {
 public:
  virtual ~LibraryAttention() = default;
  LibraryAttention() = default;
  LibraryAttention(const LibraryAttention&) = delete;
  LibraryAttention& operator=(const LibraryAttention&) = delete;
  /// Both passes or none: log_sum_exp, from one to the other, lies in the library's own order.
  virtual bool takes(const kernels::AttentionShape& shape, const kernels::Dropout& dropout) = 0;
  /// As attention_fused_forward and _backward of kernels/cuda/attention.h, for a shape it takes.
  virtual void forward(const kernels::cuda::Queue& q, __nv_bfloat16* context, float* log_sum_exp,
                       const __nv_bfloat16* qkv, const kernels::AttentionShape& shape) = 0;
  virtual void backward(const kernels::cuda::Queue& q, __nv_bfloat16* dqkv,
                        const __nv_bfloat16* dcontext, const __nv_bfloat16* qkv,
                        const __nv_bfloat16* context, const float* log_sum_exp,
                        const kernels::AttentionShape& shape) = 0;
  /// Device memory of its own.
  virtual Bytes held() const = 0;
};

/// Makes one for the calling thread's device.
using MakeLibraryAttention = std::function<std::unique_ptr<LibraryAttention>()>;

/// cuDNN's; null where this build has no cuDNN.
std::unique_ptr<LibraryAttention> cudnn_attention();

}  // namespace plait::cuda
