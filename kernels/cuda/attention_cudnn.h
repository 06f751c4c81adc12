#pragma once
// Fused attention in bf16 by cuDNN's own kernels (FlashAttention-2 and -3, made at run time for the
// shape): what training frameworks run where there is neither dropout nor context parallelism nor a
// sequence of packed documents. The kernels of attention.h do the rest.

#include <cuda_bf16.h>

#include <memory>

#include "kernels/attention.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

/// cuDNN's handle and the plans it made, one of each pass for each shape. One per thread and
/// device.
class CudnnAttention {
 public:
  CudnnAttention();
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  /// Queries and keys are the same tokens, from the first one on, without documents and windows;
  /// heads of 8, 16, ... 128 elements.
  static bool takes(const AttentionShape& shape, const Dropout& dropout);
  /// Bytes that both passes want beside their operands. Makes the plans, which takes seconds.
  std::size_t workspace_bytes(const AttentionShape& shape);

  /// As attention_fused_forward, but log_sum_exp[b, heads, s], the order that cuDNN has.
  void forward(const Queue& q, __nv_bfloat16* context, float* log_sum_exp, const __nv_bfloat16* qkv,
               const AttentionShape& shape, void* workspace);
  /// As attention_fused_backward. dk, dv and dq are added up in an order that may vary.
  void backward(const Queue& q, __nv_bfloat16* dqkv, const __nv_bfloat16* dcontext,
                const __nv_bfloat16* qkv, const __nv_bfloat16* context, const float* log_sum_exp,
                const AttentionShape& shape, void* workspace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The operations of each pass, as cuDNN recognises them.
Graph attention_forward_graph(const AttentionShape& shape);
Graph attention_backward_graph(const AttentionShape& shape);

}  // namespace plait::kernels::cuda
