#include "realrun/bench/kernel_call.h"

#include "kernels/add.h"
#include "kernels/bias_grad.h"
#include "kernels/cross_entropy.h"
#include "kernels/embedding.h"
#include "kernels/fill.h"
#include "kernels/gemm.h"
#include "kernels/norm.h"
#include "kernels/squared_norm.h"
#include "realrun/bench/kernel_caller.h"

namespace plait {
namespace {

/// Calls are carried out at once; it says where the kernels are.
struct HostQueue {};

#define PLAIT_ON_HOST(kernel)             \
  template <class... A>                   \
  void kernel(HostQueue, A... operands) { \
    kernels::kernel(operands...);         \
  }
PLAIT_ON_HOST(gemm_nt)
PLAIT_ON_HOST(gemm_nn)
PLAIT_ON_HOST(gemm_tn)
PLAIT_ON_HOST(attention_fused_forward)
PLAIT_ON_HOST(attention_fused_backward)
PLAIT_ON_HOST(attention_unfused_forward)
PLAIT_ON_HOST(attention_unfused_backward)
PLAIT_ON_HOST(layer_norm_forward)
PLAIT_ON_HOST(layer_norm_backward)
PLAIT_ON_HOST(rms_norm_forward)
PLAIT_ON_HOST(rms_norm_backward)
PLAIT_ON_HOST(activation_forward)
PLAIT_ON_HOST(activation_backward)
PLAIT_ON_HOST(rope_forward)
PLAIT_ON_HOST(rope_backward)
PLAIT_ON_HOST(embedding_forward)
PLAIT_ON_HOST(embedding_backward)
PLAIT_ON_HOST(positions_forward)
PLAIT_ON_HOST(positions_backward)
PLAIT_ON_HOST(cross_entropy_max)
PLAIT_ON_HOST(cross_entropy_sums)
PLAIT_ON_HOST(cross_entropy_loss)
PLAIT_ON_HOST(cross_entropy_gradient)
PLAIT_ON_HOST(add)
PLAIT_ON_HOST(add_dropout)
PLAIT_ON_HOST(add_dropout_backward)
PLAIT_ON_HOST(bias_grad)
PLAIT_ON_HOST(squared_norm)
PLAIT_ON_HOST(adam)
#undef PLAIT_ON_HOST

/// Between types that are both fp32 in a real run.
void cast(HostQueue, float* out, const float* in, std::int64_t elements) {
  std::copy(in, in + elements, out);
}

struct Host {
  OperandPool& operands;

  OperandPool& pool() const { return operands; }
  static HostQueue queue() { return {}; }
  template <class F>
  static void with_type(DType, F&& f) {
    f(float{});
  }
  static void zero(float* out, std::int64_t elements) { kernels::fill(out, 0.0F, elements); }
};

}  // namespace

std::function<void()> kernel_call(const Compute& op, OperandPool& pool) {
  return [op, host = Host{pool}]() mutable { std::visit(KernelCaller<Host>(host), op); };
}

}  // namespace plait
