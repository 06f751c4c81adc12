// Types that the arguments of Megatron-LM say.
#include "tests/scenarios/dialects/imported.h"

namespace plait::megatron_precision_test {

using import_test::imported;
using import_test::refusal;

TEST(MegatronPrecision, MainGradientsMayBeNarrow) {
  const auto of = [](const std::string& more) {
    return imported(Dialect::kMegatronCore, "--micro-batch-size 1 --bf16 " + more)
        .workload.precision;
  };
  const std::string narrow = "--use-precision-aware-optimizer --main-grads-dtype bf16";
  EXPECT_EQ(of(narrow).gradients, DType::kBf16);
  EXPECT_EQ(of(narrow).reduction, DType::kBf16);
  EXPECT_EQ(of("--use-precision-aware-optimizer").gradients, DType::kFp32);
  EXPECT_EQ(
      refusal(Dialect::kMegatronCore, "--accumulate-allreduce-grads-in-fp32\n--bf16 " + narrow),
      "D004 line 2");
}

}  // namespace plait::megatron_precision_test
