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

// Transformer Engine's scales of blocks go with E4M3 alone, and one of a tensor with E5M2 for
// gradients; a scenario tells neither from the other.
TEST(MegatronPrecision, FormatsOf8BitsComeBackOrAreNamed) {
  const auto came_back = [](const std::string& eight) {
    const std::string text = "--micro-batch-size 1 --bf16 " + eight;
    const Scenario s = imported(Dialect::kMegatronCore, text);
    return render(settings_of(s, Dialect::kMegatronCore, Launcher::kNone), Launcher::kNone)
               .find(eight) != std::string::npos;
  };
  const auto said = [](const std::string& eight) {
    return import_test::warnings(Dialect::kMegatronCore, "--micro-batch-size 1 --bf16 " + eight);
  };
  for (const char* usual : {"--fp8-format hybrid", "--fp8-format e4m3\n--fp8-recipe blockwise"}) {
    EXPECT_TRUE(came_back(usual)) << usual;
    EXPECT_EQ(said(usual), "") << usual;
  }
  EXPECT_EQ(said("--fp8-format e4m3"),
            "W008: --fp8-format e4m3 is read as hybrid: a scenario has one format of products in 8 "
            "bits\n");
}

// optimizer_config.py: the precision-aware optimizer's alone.
TEST(MegatronPrecision, MasterWeightsMayBeInFp16) {
  const auto master = [](const std::string& more) {
    return imported(Dialect::kMegatronCore, "--micro-batch-size 1 --bf16 " + more)
        .workload.precision.master;
  };
  EXPECT_EQ(master("--use-precision-aware-optimizer --main-params-dtype fp16"), DType::kFp16);
  EXPECT_EQ(master("--use-precision-aware-optimizer"), DType::kFp32);
  EXPECT_EQ(master("--main-params-dtype fp16"), DType::kFp32);
  const Scenario s = imported(Dialect::kMegatronCore,
                              "--micro-batch-size 1 --bf16 --use-distributed-optimizer "
                              "--use-precision-aware-optimizer --main-params-dtype fp16");
  const Settings back = settings_of(s, Dialect::kMegatronCore, Launcher::kNone);
  EXPECT_NE(render(back, Launcher::kNone).find("--main-params-dtype fp16"), std::string::npos);
}

}  // namespace plait::megatron_precision_test
