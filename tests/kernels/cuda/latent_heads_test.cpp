#include "kernels/cuda/latent_heads.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::latent_heads_test {

template <class T>
class CudaLatentHeads : public ::testing::Test {};
TYPED_TEST_SUITE(CudaLatentHeads, Elements);

/// Heads of whole vectors, and of parts of them; rows that begin at vectors and that do not.
TYPED_TEST(CudaLatentHeads, EqualsItsTwin) {
  using T = TypeParam;
  Random random;
  const LatentShape whole{.rows = 5, .heads = 3, .own = 16, .rope = 8, .values = 24};
  const LatentShape odd{.rows = 4, .heads = 2, .own = 6, .rope = 3, .values = 5};
  for (const LatentShape& s : {whole, odd}) {
    for (const std::int64_t shift : {0, 1}) {
      const std::int64_t queries = s.rows * s.heads * (s.own + s.rope);
      const std::int64_t kv = s.rows * s.heads * (s.own + s.values), rotary = s.rows * s.rope;
      const std::int64_t packed = 2 * queries + s.rows * s.heads * s.values;
      const auto x = numbers<T>(random, queries), y = numbers<T>(random, kv);
      const auto z = numbers<T>(random, rotary), dpacked = numbers<T>(random, packed);
      std::vector<float> want(static_cast<std::size_t>(packed));
      OnDevice<T> a(x.narrow, shift), b(y.narrow), c(z.narrow), out(unwritten<T>(packed));
      kernels::latent_heads_forward(want.data(), x.wide.data(), y.wide.data(), z.wide.data(), s);
      latent_heads_forward(queue(), out.data(), a.data(), b.data(), c.data(), s);
      expect_close(out, want, 0);

      std::vector<float> dx(x.wide.size()), dy(y.wide.size()), dz(z.wide.size());
      OnDevice<T> gradient(dpacked.narrow, shift), da(unwritten<T>(queries));
      OnDevice<T> db(unwritten<T>(kv)), dc(unwritten<T>(rotary));
      kernels::latent_heads_backward(dx.data(), dy.data(), dz.data(), dpacked.wide.data(), s);
      latent_heads_backward(queue(), da.data(), db.data(), dc.data(), gradient.data(), s);
      expect_close(da, dx, 0);
      expect_close(db, dy, 0);
      expect_close(dc, dz, s.heads);
    }
  }
}

}  // namespace plait::kernels::cuda::latent_heads_test
