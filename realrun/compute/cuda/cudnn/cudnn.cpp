#include <map>
#include <tuple>

#include "core/error.h"
#include "kernels/cuda/attention_cudnn.h"
#include "realrun/compute/cuda/library_attention.h"
#include "realrun/compute/cuda/objects.h"

namespace plait::cuda {
namespace {

using kernels::AttentionShape;
using Bf16 = __nv_bfloat16;

class Cudnn : public LibraryAttention {
 public:
  bool takes(const AttentionShape& shape, const kernels::Dropout& dropout) override {
    return kernels::cuda::CudnnAttention::takes(shape, dropout) && has_kernels(shape);
  }
  void forward(const kernels::cuda::Queue& q, Bf16* context, float* log_sum_exp, const Bf16* qkv,
               const AttentionShape& shape) override {
    attention_.forward(q, context, log_sum_exp, qkv, shape, workspace(q, shape));
  }
  void backward(const kernels::cuda::Queue& q, Bf16* dqkv, const Bf16* dcontext, const Bf16* qkv,
                const Bf16* context, const float* log_sum_exp,
                const AttentionShape& shape) override {
    attention_.backward(q, dqkv, dcontext, qkv, context, log_sum_exp, shape, workspace(q, shape));
  }
  Bytes held() const override { return Bytes(static_cast<std::int64_t>(bytes_)); }

 private:
  /// What cuDNN has no kernels for it refuses when they are to be made.
  bool has_kernels(const AttentionShape& s) {
    const auto [at, first] =
        made_.try_emplace({s.sequence, s.batch, s.heads, s.kv_heads, s.head_dim, s.causal}, true);
    if (first) {
      try {
        attention_.workspace_bytes(s);
      } catch (const EnvironmentError&) {
        at->second = false;
      }
    }
    return at->second;
  }
  /// Grows in the first step, before anything is captured.
  void* workspace(const kernels::cuda::Queue& q, const AttentionShape& shape) {
    const std::size_t wanted = attention_.workspace_bytes(shape);
    if (wanted > bytes_) {
      CUDA_CHECK(cudaStreamSynchronize(q.stream));
      workspace_ = {};
      workspace_ = device_block(bytes_ = wanted);
    }
    return workspace_.get();
  }

  using Shape =
      std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>;
  kernels::cuda::CudnnAttention attention_;
  std::map<Shape, bool> made_;
  DeviceBlock workspace_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<LibraryAttention> cudnn_attention() { return std::make_unique<Cudnn>(); }

}  // namespace plait::cuda
