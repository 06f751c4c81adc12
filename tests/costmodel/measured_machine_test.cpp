// Of which GPU and hosts measurements are.
#include "costmodel/fit/measured_machine.h"

#include <gtest/gtest.h>

namespace plait::measured_machine_test {

RunRow run_on(const std::string& processor, const std::string& host = "a") {
  RunRow out;
  out.processor = processor, out.host = host;
  return out;
}

TEST(MeasuredMachine, TheGpuIsTheOneThatIsAskedForOrThatItsDriverReports) {
  Warnings warnings;
  const std::vector<Row> rows = {run_on("NVIDIA H100 80GB HBM3"), GpuRow()};
  EXPECT_EQ(measured_gpu(rows, "", warnings)->name, "h100-sxm");
  EXPECT_EQ(measured_gpu(rows, "h100-sxm", warnings)->name, "h100-sxm");
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(measured_gpu(rows, "a100-80-sxm", warnings)->name, "a100-80-sxm");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].code, "W034");
}

TEST(MeasuredMachine, AGpuThatTheCatalogueHasNotIsTold) {
  Warnings warnings;
  EXPECT_FALSE(measured_gpu({run_on("Some Processor")}, "", warnings));
  EXPECT_TRUE(warnings.empty()) << "a processor is none";
  EXPECT_FALSE(measured_gpu({run_on("Some GPU"), GpuRow()}, "", warnings));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].code, "W009");
}

TEST(MeasuredMachine, SeveralHostsAreTold) {
  Warnings warnings;
  warn_of_hosts({run_on("x", "a"), run_on("x", "a")}, warnings);
  EXPECT_TRUE(warnings.empty());
  warn_of_hosts({run_on("x", "a"), run_on("x", "b")}, warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].code, "W015");
}

}  // namespace plait::measured_machine_test
