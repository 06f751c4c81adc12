// How attention meets the tokens of other ranks, as Megatron-LM says it.

#include <gtest/gtest.h>

#include "tests/scenarios/dialects/exported.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::megatron_context_test {

using import_test::imported;
using import_test::refusal;

std::string arguments(const std::string& levels) {
  return "--bf16 --micro-batch-size 1 --context-parallel-size 8 --cp-comm-type a2a+p2p" + levels;
}

// arguments.py: "the first value of the list indicates the group size of the a2a communication
// type, and the second value indicates the group size of the p2p communication type".
TEST(MegatronContext, OfTwoLevelsTheFirstExchangesHeads) {
  const Strategy s =
      imported(Dialect::kMegatronCore, arguments(" --hierarchical-context-parallel-sizes 2 4"))
          .strategy;
  EXPECT_EQ(s.context.kind, ContextKind::kHybrid);
  EXPECT_EQ(s.mesh[Axis::kUlysses], 2);
  EXPECT_EQ(s.mesh[Axis::kCp], 4);
}

TEST(MegatronContext, LevelsHaveToMakeUpTheRanks) {
  const auto refused = [](const std::string& levels) {
    return refusal(Dialect::kMegatronCore, arguments(levels));
  };
  EXPECT_EQ(refused(""), "D003 line 1");
  EXPECT_EQ(refused(" \\\n--hierarchical-context-parallel-sizes 2 2"), "D004 line 2");
  EXPECT_EQ(refused(" \\\n--hierarchical-context-parallel-sizes 2 2 2"), "D003 line 2");
  EXPECT_EQ(refused(" \\\n--hierarchical-context-parallel-sizes 0 8"), "D003 line 2");
}

// arguments.py: "Tensor parallel communication/GEMM overlap can happen only when sequence
// parallelism is enabled".
TEST(MegatronContext, ProductsOverlapOnlyAlongTheSequence) {
  const auto read = [](const std::string& more) {
    return refusal(Dialect::kMegatronCore,
                   "--bf16 --micro-batch-size 1 --tensor-model-parallel-size 2 \\\n" + more);
  };
  EXPECT_EQ(read("--tp-comm-overlap"), "D004 line 2");
  EXPECT_EQ(read("--tp-comm-overlap --sequence-parallel"), "accepted");
}

TEST(MegatronContext, AHybridIsExportedAsTwoLevels) {
  const Scenario s = export_test::scenario_at("systems/usp-hybrid");
  const std::string text =
      render(settings_of(s, Dialect::kMegatronCore, Launcher::kNone), Launcher::kNone);
  EXPECT_NE(text.find("--cp-comm-type a2a+p2p\n--hierarchical-context-parallel-sizes 4 4\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("strategy.context"), std::string::npos) << text;
}

}  // namespace plait::megatron_context_test
