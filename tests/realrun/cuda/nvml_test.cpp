// Which of a machine's GPUs is asked how it does.
#include "realrun/compute/cuda/nvml.h"

#include <gtest/gtest.h>

namespace plait::cuda::nvml_test {

TEST(VisibleDevice, IsTheOneThatTheProcessComputesOn) {
  EXPECT_EQ(visible_device(nullptr, 0), "0");
  EXPECT_EQ(visible_device(nullptr, 3), "3");
  EXPECT_EQ(visible_device("3", 0), "3");
  EXPECT_EQ(visible_device("5,6,7", 0), "5");
  EXPECT_EQ(visible_device("5,6,7", 2), "7");
  EXPECT_EQ(visible_device("GPU-8932f937-d72c,1", 0), "GPU-8932f937-d72c");
}
TEST(VisibleDevice, IsCudasOwnNumberWhereTheListNamesNone) {
  EXPECT_EQ(visible_device("", 0), "0");
  EXPECT_EQ(visible_device("5,6", 2), "2");
}

}  // namespace plait::cuda::nvml_test
