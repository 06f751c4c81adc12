// Ranks of experts in torchtitan's TOML.

#include <gtest/gtest.h>

#include "tests/scenarios/dialects/imported.h"

namespace plait::torchtitan_experts_test {

using import_test::imported;
using import_test::refusal;
using import_test::warnings;

TEST(ImportTorchtitan, ExpertsThatTensorParallelismDoesNotSplitAreDealtAlongIt) {
  const std::string file =
      "[model]\nname = \"qwen3\"\nflavor = \"30B-A3B\"\n[training]\nlocal_batch_size = 1\n"
      "[parallelism]\ntensor_parallel_degree = 2\nexpert_parallel_degree = 4\n";
  const std::string base = R"({"cluster": "hgx-h100"})";
  const Strategy split = imported(Dialect::kTorchtitan, file, base).strategy;
  EXPECT_EQ(split.mesh[Axis::kEp], 4);
  EXPECT_FALSE(split.experts.axes.has(Axis::kTp));
  EXPECT_NE(warnings(Dialect::kTorchtitan, file).find("expert_tensor_parallel_degree is absent"),
            std::string::npos);
  const Strategy whole =
      imported(Dialect::kTorchtitan, file + "expert_tensor_parallel_degree = 1\n", base).strategy;
  EXPECT_EQ(whole.mesh[Axis::kEp], 2);
  EXPECT_TRUE(whole.experts.axes.has(Axis::kTp));
  EXPECT_EQ(refusal(Dialect::kTorchtitan, file + "expert_tensor_parallel_degree = 3\n", base),
            "D003 line 9");
}

}  // namespace plait::torchtitan_experts_test
