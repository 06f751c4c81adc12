// cuDNN's attention beside the CPU twin, on a device.

#include "kernels/cuda/attention_cudnn.h"
#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::attention_test {

/// [b, heads, s] from [s, b, heads].
std::vector<float> by_head(const std::vector<float>& lse, const AttentionShape& s) {
  std::vector<float> out;
  for (std::int64_t column = 0; column < s.batch * s.heads; ++column) {
    for (std::int64_t i = 0; i < s.sequence; ++i) {
      out.push_back(lse[static_cast<std::size_t>(i * s.batch * s.heads + column)]);
    }
  }
  return out;
}

/// As for the own kernels (attention_test.cpp): up to eight roundings to bf16 in a row.
void expect_sums_close(const OnDevice<__nv_bfloat16>& got, const std::vector<float>& want) {
  double largest = 0;
  for (const float v : want) largest = std::max(largest, std::abs(static_cast<double>(v)));
  const auto values = got.values();
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(to_float(values[i]), want[i], 8 * kRoundingError<__nv_bfloat16> * largest) << i;
  }
}

TEST(CudnnAttention, EqualsTheTwin) {
  using T = __nv_bfloat16;
  CudnnAttention attention;
  for (const std::int64_t kv_heads : {4, 2}) {
    for (const bool causal : {true, false}) {
      const AttentionShape s{192, 2, 4, kv_heads, 64, causal};
      ASSERT_TRUE(CudnnAttention::takes(s, {}));
      Random random;
      const std::int64_t rows = s.sequence * s.batch, width = s.heads * s.head_dim;
      const auto qkv = numbers<T>(random, rows * s.row_width());
      const auto dcontext = numbers<T>(random, rows * width);
      std::vector<float> context(dcontext.wide.size()), dqkv(qkv.wide.size());
      std::vector<float> lse(static_cast<std::size_t>(rows * s.heads));
      kernels::attention_fused_forward(context.data(), lse.data(), qkv.wide.data(), s, {});
      kernels::attention_fused_backward(dqkv.data(), dcontext.wide.data(), qkv.wide.data(),
                                        context.data(), lse.data(), s, {});
      OnDevice<T> device_qkv(qkv.narrow), device_dcontext(dcontext.narrow);
      OnDevice<T> device_context(unwritten<T>(rows * width));
      OnDevice<T> device_dqkv(unwritten<T>(rows * s.row_width()));
      OnDevice<float> device_lse(unwritten<float>(rows * s.heads));
      void* workspace = allocate(attention.workspace_bytes(s));
      attention.forward(queue(), device_context.data(), device_lse.data(), device_qkv.data(), s,
                        workspace);
      attention.backward(queue(), device_dqkv.data(), device_dcontext.data(), device_qkv.data(),
                         device_context.data(), device_lse.data(), s, workspace);
      expect_sums_close(device_context, context);
      expect_close(device_lse, by_head(lse, s), s.head_dim);
      expect_sums_close(device_dqkv, dqkv);
      release(workspace);
    }
  }
}

TEST(CudnnAttention, LeavesDropoutAndContextParallelismToTheOwnKernels) {
  const AttentionShape s{192, 2, 4, 4, 64, true};
  Dropout dropout;
  dropout.probability = 0.1;
  EXPECT_FALSE(CudnnAttention::takes(s, dropout));
  AttentionShape apart = s;
  apart.other_keys = 384;
  EXPECT_FALSE(CudnnAttention::takes(apart, {}));
  AttentionShape packed = s;
  packed.documents = 2;
  EXPECT_FALSE(CudnnAttention::takes(packed, {}));
  AttentionShape later = s;
  later.place.first = 5;
  EXPECT_FALSE(CudnnAttention::takes(later, {}));
}

}  // namespace plait::kernels::cuda::attention_test
