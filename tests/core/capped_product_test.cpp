#include "core/capped_product.h"

#include <gtest/gtest.h>

namespace plait::capped_product_test {

TEST(CappedProduct, IsTheProductOrTheCap) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 31;
  EXPECT_EQ(capped_product({}), 1);
  EXPECT_EQ(capped_product({3, 4, 5}), 60);
  EXPECT_EQ(capped_product({kHalf, kHalf}), std::int64_t{1} << 62);
  EXPECT_EQ(capped_product({kHalf, kHalf, 2}), kCap);
  EXPECT_EQ(capped_product({kHalf, kHalf, kHalf, 0}), 0);
}

}  // namespace plait::capped_product_test
