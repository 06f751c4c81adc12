#include "kernels/cuda/adam.h"
#include "kernels/cuda/squared_norm.h"
#include "kernels/squared_norm.h"
#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::optimizer_test {

template <class W, class M, class G>
void adam_equals_its_twin(bool copies_weights) {
  Random random;
  for (const std::int64_t n : {1, 6, 1031, 4096}) {
    for (const std::int64_t shift : {0, 1}) {
      for (const float norm : {0.0F, 0.25F, 16.0F}) {  // none, below and above the limit
        const auto master = numbers<M>(random, n);
        const auto gradient = numbers<G>(random, n);
        auto first = random.values<float>(n), second = random.values<float>(n);
        for (float& v : second) v = std::abs(v) + 0.01F;
        OnDevice<W> weight(unwritten<W>(n), shift);
        OnDevice<M> device_master(master.narrow, shift);
        OnDevice<G> device_gradient(gradient.narrow, shift);
        OnDevice<float> device_first(first, shift), device_second(second, shift);
        OnDevice<float> device_norm({norm});
        AdamSettings settings;
        settings.step = 3, settings.learning_rate = 0.01;
        adam(queue(), copies_weights ? weight.data() : nullptr, device_master.data(),
             device_first.data(), device_second.data(), device_gradient.data(),
             norm > 0 ? device_norm.data() : nullptr, n, settings);
        std::vector<float> want = master.wide;
        kernels::adam<float>(nullptr, want.data(), first.data(), second.data(),
                             gradient.wide.data(), norm > 0 ? &norm : nullptr, n, settings);
        expect_close(device_first, first, 4);
        expect_close(device_second, second, 4);
        expect_close(device_master, want, 4);
        if (copies_weights) expect_close(weight, want, 4);
      }
    }
  }
}
TEST(CudaAdam, EqualsItsTwin) {
  adam_equals_its_twin<float, float, float>(false);
  adam_equals_its_twin<float, float, __nv_bfloat16>(false);
  adam_equals_its_twin<__nv_bfloat16, float, float>(true);
  adam_equals_its_twin<__nv_bfloat16, float, __nv_bfloat16>(true);
  adam_equals_its_twin<__nv_bfloat16, __nv_bfloat16, float>(false);
  adam_equals_its_twin<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(false);
}

template <class T>
class CudaSquaredNorm : public ::testing::Test {};
TYPED_TEST_SUITE(CudaSquaredNorm, Elements);

TYPED_TEST(CudaSquaredNorm, EqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for (const std::int64_t n : {1, 8, 1031, 20000}) {
    for (const std::int64_t shift : {0, 1}) {
      for (const bool accumulate : {false, true}) {
        const auto x = numbers<T>(random, n);
        std::vector<float> want = {accumulate ? 3.0F : std::nanf("")};
        OnDevice<float> out(want);
        OnDevice<T> device_x(x.narrow, shift);
        squared_norm(queue(), out.data(), device_x.data(), n, accumulate);
        kernels::squared_norm(want.data(), x.wide.data(), n, accumulate);
        // Eight squares are added up in float, all else in double.
        const std::vector<float> got = out.values();
        EXPECT_NEAR(got[0], want[0], 16 * kRoundingError<float> * static_cast<double>(want[0]));
      }
    }
  }
}

}  // namespace plait::kernels::cuda::optimizer_test
