#include "topologies/reported_names.h"

#include <gtest/gtest.h>

#include <string>

#include "topologies/catalogue.h"

namespace plait::reported_names_test {

TEST(ReportedNames, AreOfDevicesOfTheCatalogue) {
  for (const char* name : {"NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB",
                           "Tesla V100-SXM2-32GB", "NVIDIA GeForce RTX 4090"}) {
    const auto device = device_reported_as(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ(find_device(std::string(*device)).name, *device);
  }
  EXPECT_EQ(device_reported_as("NVIDIA H200"), "h200-sxm");
  EXPECT_EQ(device_reported_as("NVIDIA H200 NVL"), "h200-nvl");
}

// Near names are other products.
TEST(ReportedNames, ANameIsTakenWholeOrNotAtAll) {
  for (const char* name : {"", "H200", "NVIDIA H100", "NVIDIA GeForce RTX 4090 D", "AMD EPYC"})
    EXPECT_FALSE(device_reported_as(name)) << name;
}

}  // namespace plait::reported_names_test
