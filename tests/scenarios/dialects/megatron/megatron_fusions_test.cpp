// Kernels that Megatron-LM's command lines fuse, or leave apart.
#include "tests/scenarios/dialects/exported.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::export_test {

constexpr const char* kFusionArguments =
    "--num-layers 2 --hidden-size 256 --num-attention-heads 4 --padded-vocab-size 512 --bf16 "
    "--swiglu --disable-bias-linear --position-embedding-type rope --num-experts 8 "
    "--moe-grouped-gemm ";

constexpr const char* kOnMegatron = R"({"framework": "megatron-core", "cluster": "hgx-h100",
  "workload": {"sequence_length": 4096, "global_batch": 64}})";

Kernels fused_by(const std::string& more) {
  return import_test::imported(Dialect::kMegatronCore, kFusionArguments + more, kOnMegatron)
      .kernels;
}

TEST(MegatronFusions, WhatIsSwitchedOffIsApart) {
  const Kernels usual = fused_by("");
  EXPECT_EQ(usual.rope, Fusion::kFused);
  EXPECT_EQ(usual.activation, Fusion::kFunction);
  EXPECT_EQ(usual.dropout, Fusion::kFused);
  EXPECT_EQ(usual.gradient_sum, Fusion::kFused);
  EXPECT_EQ(fused_by("--no-rope-fusion").rope, Fusion::kEager);
  EXPECT_EQ(fused_by("--no-bias-swiglu-fusion").activation, Fusion::kEager);
  EXPECT_EQ(fused_by("--no-bias-dropout-fusion").dropout, Fusion::kEager);
  EXPECT_EQ(fused_by("--no-gradient-accumulation-fusion").gradient_sum, Fusion::kEager);
}

TEST(MegatronFusions, WhatIsAskedForIsInOne) {
  EXPECT_EQ(fused_by("").cross_entropy, Fusion::kParallel);
  EXPECT_EQ(fused_by("--cross-entropy-loss-fusion --cross-entropy-fusion-impl te").cross_entropy,
            Fusion::kFused);
  EXPECT_EQ(fused_by("").routing, Fusion::kEager);
  EXPECT_EQ(fused_by("--moe-router-fusion --moe-permute-fusion").routing, Fusion::kFused);
}

// Half of the routing is no choice that there is.
TEST(MegatronFusions, OneOfTheTwoOfRoutingIsNotRead) {
  for (const char* one : {"--moe-router-fusion", "--moe-permute-fusion"}) {
    EXPECT_EQ(fused_by(one).routing, Fusion::kEager);
    EXPECT_EQ(import_test::warnings(Dialect::kMegatronCore, std::string(kFusionArguments) + one),
              std::string("W007: not read: ") + one + "\n");
  }
}

// They would be idle (W001).
TEST(MegatronFusions, WhatTheModelHasNotIsNotTakenApart) {
  const std::string gpt =
      "--num-layers 2 --hidden-size 256 --num-attention-heads 4 --padded-vocab-size 512 --bf16 "
      "--hidden-dropout 0 --attention-dropout 0 --no-rope-fusion --no-bias-swiglu-fusion "
      "--no-bias-dropout-fusion ";
  const Kernels kernels = import_test::imported(Dialect::kMegatronCore, gpt).kernels;
  EXPECT_EQ(kernels.rope, Fusion::kFused);
  EXPECT_EQ(kernels.dropout, Fusion::kFused);
  EXPECT_NE(kernels.activation, Fusion::kEager);
  EXPECT_EQ(import_test::warnings(Dialect::kMegatronCore, gpt), "");
}

TEST(MegatronFusions, AScenariosKernelsComeBack) {
  Scenario s = scenario_at("systems/megatron-moe-mixtral-8x7b");
  Kernels& k = s.kernels;
  k.rope = k.activation = k.gradient_sum = Fusion::kEager;
  k.cross_entropy = k.routing = Fusion::kFused;
  const std::string script =
      render(settings_of(s, Dialect::kMegatronCore, Launcher::kTorchrun), Launcher::kTorchrun);
  const Kernels back = import_test::imported(Dialect::kMegatronCore, script).kernels;
  EXPECT_EQ(back.rope, Fusion::kEager);
  EXPECT_EQ(back.activation, Fusion::kEager);
  EXPECT_EQ(back.gradient_sum, Fusion::kEager);
  EXPECT_EQ(back.cross_entropy, Fusion::kFused);
  EXPECT_EQ(back.routing, Fusion::kFused);
}

}  // namespace plait::export_test
