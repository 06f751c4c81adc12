#include "kernels/cuda/rope.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::rope_test {

template <class T>
class CudaRope : public ::testing::Test {};
TYPED_TEST_SUITE(CudaRope, Elements);

TYPED_TEST(CudaRope, EqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for (const std::int64_t head_dim : {2, 6, 32, 128, 1024}) {
    for (const std::int64_t shift : {0, 1}) {
      RopeShape shape;
      shape.sequence = 20, shape.batch = 3, shape.heads = 3, shape.head_dim = head_dim;
      shape.skipped = head_dim == 32 ? 8 : head_dim == 128 ? 3 : 0;
      shape.row_width = 4 * (head_dim + shape.skipped);  // the last head stays as it is
      shape.place = {131070, 7, 1000003};
      const auto start = numbers<T>(random, 60 * shape.row_width);
      std::vector<float> forward = start.wide, backward = start.wide;
      OnDevice<T> there(start.narrow, shift), back(start.narrow, shift);
      kernels::rope_forward(forward.data(), shape);
      rope_forward(queue(), there.data(), shape);
      kernels::rope_backward(backward.data(), shape);
      rope_backward(queue(), back.data(), shape);
      expect_close(there, forward, 4, 2);
      expect_close(back, backward, 4, 2);
    }
  }
}

}  // namespace plait::kernels::cuda::rope_test
