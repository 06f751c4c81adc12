// Plans that leave attention to a library where it takes it: the same numbers come out, though the
// library keeps its statistics in another order.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "kernels/cuda/attention.h"
#include "realrun/compute/cuda/cuda_device.h"
#include "realrun/matrix/matrix.h"
#include "tests/emulated_cuda/emulated_runtime.h"

namespace plait::cuda::library_attention_test {

using kernels::AttentionShape;
using Bf16 = __nv_bfloat16;

/// As cuDNN's: neither dropout nor context parallelism, log_sum_exp[b, heads, s].
class ByHead : public LibraryAttention {
 public:
  explicit ByHead(std::atomic<int>& calls) : calls_(calls) {}
  bool takes(const AttentionShape& s, const kernels::Dropout& d) override {
    return d.probability == 0 && s.other_keys == 0;
  }
  void forward(const kernels::cuda::Queue& q, Bf16* context, float* log_sum_exp, const Bf16* qkv,
               const AttentionShape& s) override {
    ++calls_;
    const auto rows = statistics(s);
    kernels::cuda::attention_fused_forward<Bf16>(q, context, rows->data(), qkv, s, {});
    emulated::queue_on(q.stream, [=] {
      for (std::int64_t i = 0; i < s.sequence; ++i) {
        for (std::int64_t h = 0; h < s.batch * s.heads; ++h) {
          log_sum_exp[h * s.sequence + i] = (*rows)[at(s, i, h)];
        }
      }
    });
  }
  void backward(const kernels::cuda::Queue& q, Bf16* dqkv, const Bf16* dcontext, const Bf16* qkv,
                const Bf16* context, const float* log_sum_exp, const AttentionShape& s) override {
    ++calls_;
    const auto rows = statistics(s);
    emulated::queue_on(q.stream, [=] {
      for (std::int64_t i = 0; i < s.sequence; ++i) {
        for (std::int64_t h = 0; h < s.batch * s.heads; ++h) {
          (*rows)[at(s, i, h)] = log_sum_exp[h * s.sequence + i];
        }
      }
    });
    kernels::cuda::attention_fused_backward<Bf16>(q, dqkv, dcontext, qkv, context, rows->data(), s,
                                                  {});
    emulated::queue_on(q.stream, [rows] {});  // theirs until here
  }
  Bytes held() const override { return Bytes(0); }

 private:
  static std::shared_ptr<std::vector<float>> statistics(const AttentionShape& s) {
    return std::make_shared<std::vector<float>>(
        static_cast<std::size_t>(s.sequence * s.batch * s.heads));
  }
  static std::size_t at(const AttentionShape& s, std::int64_t i, std::int64_t h) {
    return static_cast<std::size_t>(i * s.batch * s.heads + h);
  }
  std::atomic<int>& calls_;
};

/// Calls of the library in two steps; what comes out is what the own kernels give.
int calls_in(const MatrixCase& c, RunPrecision precision = RunPrecision::kBf16) {
  const Plan plan = make_plan(c.model, in_precision(c.workload, precision), c.strategy);
  std::atomic<int> calls = 0;
  const auto run = [&](const CudaOptions& options) {
    return run_steps(c.model, plan, precision, {.steps = 2, .device = cuda_device(options)});
  };
  const auto library = [&] { return std::make_unique<ByHead>(calls); };
  const Verification v = compare(run({.attention = library}), run({}));
  EXPECT_EQ(v.worst_error, 0) << v.worst_tensor;
  EXPECT_EQ(v.loss_error, 0);
  return calls;
}

/// Two layers, eight sequences in pairs.
MatrixCase pairs() { return gpu_matrix_cases().front(); }
constexpr int kForwards = 2 * 2 * (8 / 2);  // in two steps

TEST(LibraryAttention, DoesBothPasses) { EXPECT_EQ(calls_in(pairs()), 2 * kForwards); }

TEST(LibraryAttention, DoesTheForwardPassAgain) {
  MatrixCase c = pairs();
  c.strategy.recompute.kind = Recompute::kSelective;
  EXPECT_EQ(calls_in(c), 3 * kForwards);
}

TEST(LibraryAttention, DoesARanksShareOfTheHeads) {
  MatrixCase c = pairs();
  c.strategy.mesh[Axis::kTp] = 2;
  EXPECT_EQ(calls_in(c), 2 * 2 * kForwards);
}

TEST(LibraryAttention, LeavesTheRestToTheOwnKernels) {
  MatrixCase unfused = pairs(), with_dropout = pairs(), split = pairs();
  unfused.workload.flash_attention = false;
  with_dropout.model.dropout = 0.1;
  split.strategy.mesh[Axis::kCp] = 2;
  EXPECT_EQ(calls_in(unfused), 0);
  EXPECT_EQ(calls_in(with_dropout), 0);
  EXPECT_EQ(calls_in(split), 0);
  EXPECT_EQ(calls_in(pairs(), RunPrecision::kFp32), 0);
}

}  // namespace plait::cuda::library_attention_test
