// What Megatron-LM's own checks want of its arguments (megatron/training/arguments.py,
// validate_args; megatron/core/optimizer/optimizer_config.py).

#include "tests/scenarios/dialects/exported.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::export_test {

/// The arguments, each behind a space.
std::string arguments_of(const std::string& path, const std::vector<Override>& changes) {
  std::string out;
  const Settings all =
      settings_of(scenario_at(path, changes), Dialect::kMegatronCore, Launcher::kNone);
  for (const Setting& s : all.settings) out += " " + s.key + (s.value.empty() ? "" : "=" + s.value);
  return out + " ";
}
bool has(const std::string& arguments, const std::string& one) {
  return arguments.find(" " + one + " ") != std::string::npos;
}

constexpr const char* kDense = "llama/llama-3.1-8b-8xh100-fsdp";
constexpr const char* kMixture = "systems/megatron-moe-qwen3-235b";

TEST(MegatronChecks, AnOptimizerInHostMemoryIsPrecisionAwareAndDistributed) {
  const Override host = {"strategy.offload.optimizer", "cpu"};
  for (const char* stage : {"1", "3"}) {
    const std::string args = arguments_of(kDense, {host, {"strategy.zero_stage", stage}});
    EXPECT_TRUE(has(args, "--optimizer-cpu-offload")) << args;
    EXPECT_TRUE(has(args, "--use-precision-aware-optimizer")) << args;
    EXPECT_TRUE(has(args, "--use-distributed-optimizer")) << args;
  }
  const std::vector<Override> whole = {
      host, {"strategy.zero_stage", "0"}, {"strategy.fsdp", "1"}, {"strategy.dp", "8"}};
  EXPECT_FALSE(has(arguments_of(kDense, whole), "--optimizer-cpu-offload"));
}

TEST(MegatronChecks, LogitsStayIn16BitsInFp16Alone) {
  const Override narrow = {"workload.precision.narrow_logits", "true"};
  const auto args = [&](const char* type) {
    return arguments_of(
        kDense, {{"workload.precision", std::string("{\"weights\": \"") + type + "\"}"}, narrow});
  };
  EXPECT_TRUE(has(args("fp16"), "--fp16-lm-cross-entropy"));
  EXPECT_FALSE(has(args("bf16"), "--fp16-lm-cross-entropy"));
}

TEST(MegatronChecks, MegatronFsdpIsADistributedOptimizer) {
  const std::string args = arguments_of(kDense, {{"strategy.data.overlap", "true"}});
  for (const char* one : {"--use-megatron-fsdp", "--use-distributed-optimizer",
                          "--overlap-grad-reduce", "--overlap-param-gather"}) {
    EXPECT_TRUE(has(args, one)) << one << args;
  }
}

TEST(MegatronChecks, ExpertsAreOneLayerInBf16AloneAndStayWhereTheyAreInFp16) {
  EXPECT_TRUE(has(arguments_of(kMixture, {}), "--moe-grouped-gemm"));
  EXPECT_FALSE(has(arguments_of(kMixture, {{"workload.precision", "fp32"}}), "--moe-grouped-gemm"));
  try {
    arguments_of(kMixture, {{"workload.precision", "fp16"}});
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "D009");
    EXPECT_EQ(e.text().where.path, "workload.precision.weights");
  }
}

/// "D009 strategy.cp", or "".
std::string refused(const std::string& path, const std::vector<Override>& changes) {
  try {
    arguments_of(path, changes);
  } catch (const InputError& e) {
    return e.text().code + " " + e.text().where.path;
  }
  return "";
}

// megatron/core/transformer/moe/moe_layer.py, MoELayer.forward.
TEST(MegatronChecks, ExpertsBesideTensorParallelismWantSequenceParallelism) {
  const std::string mixtral = "systems/megatron-moe-mixtral-8x7b";
  const auto split = [](const char* tp, const char* shares) {
    return std::vector<Override>{
        {"strategy.tp", tp}, {"strategy.dp", "1"}, {"strategy.sequence_parallel", shares}};
  };
  EXPECT_EQ(refused(mixtral, split("2", "false")), "D009 strategy.sequence_parallel");
  EXPECT_EQ(refused(mixtral, split("2", "true")), "");
  EXPECT_EQ(refused(mixtral, {}), "");
}

TEST(MegatronChecks, ExpertsOnOldDevicesAreLayersOfTheirOwn) {
  EXPECT_FALSE(
      has(arguments_of(kMixture, {{"cluster.device", "v100-sxm2-32"}}), "--moe-grouped-gemm"));
}

// validate_args wants the distributed optimizer; mxfp8, by which weights are kept and not gathered,
// is of devices that scale blocks of 32.
TEST(MegatronChecks, WeightsStayIn8BitsWhereMegatronKeepsThem) {
  const auto args = [](const char* weights, const char* stage, const char* device) {
    return arguments_of(kDense, {{"workload.precision.matmul", "fp8"},
                                 {"workload.precision.narrow_weights", weights},
                                 {"strategy.zero_stage", stage},
                                 {"cluster.device", device}});
  };
  EXPECT_TRUE(has(args("gathered", "1", "h100-sxm"), "--fp8-param-gather"));
  EXPECT_FALSE(has(args("gathered", "0", "h100-sxm"), "--fp8-param-gather"));
  EXPECT_TRUE(has(args("kept", "1", "b200"), "--fp8-recipe=mxfp8"));
  const std::string hopper = args("kept", "1", "h100-sxm");
  EXPECT_FALSE(has(hopper, "--fp8-param-gather")) << hopper;
  EXPECT_FALSE(has(hopper, "--fp8-recipe=mxfp8")) << hopper;
}

TEST(MegatronChecks, BiasesAreEverywhereOrOfQueriesKeysAndValuesAlone) {
  const auto biases = [](const char* qkv, const char* output, const char* mlp) {
    const std::string args = arguments_of(kDense, {{"model.qkv_bias", qkv},
                                                   {"model.attention_output_bias", output},
                                                   {"model.mlp_bias", mlp}});
    return std::pair(has(args, "--disable-bias-linear"), has(args, "--add-qkv-bias"));
  };
  EXPECT_EQ(biases("true", "true", "true"), std::pair(false, false));
  EXPECT_EQ(biases("false", "false", "false"), std::pair(true, false));
  EXPECT_EQ(biases("true", "false", "false"), std::pair(true, true));
  EXPECT_EQ(biases("true", "true", "false"), std::pair(true, true));
  const Scenario gpt_oss = scenario_at("gpt-oss/gpt-oss-20b-8xh100-fsdp");
  const Settings settings = settings_of(gpt_oss, Dialect::kMegatronCore, Launcher::kNone);
  EXPECT_EQ(std::ranges::count(settings.unsaid, "model.attention_output_bias = true"), 1);
  const std::string text = render(settings, Launcher::kNone);
  const Scenario back = import_test::imported(Dialect::kMegatronCore, text);
  EXPECT_TRUE(back.model.qkv_bias);
  EXPECT_FALSE(back.model.mlp_bias);
}

TEST(MegatronChecks, BiasesOfExpertsAreReadAsNone) {
  const std::string text =
      "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --padded-vocab-size 512 "
      "--num-experts 4 --moe-grouped-gemm --bf16";
  const Model m = import_test::imported(Dialect::kMegatronCore, text).model;
  EXPECT_TRUE(m.qkv_bias && m.attention_output_bias);
  EXPECT_FALSE(m.mlp_bias);
  EXPECT_NE(import_test::warnings(Dialect::kMegatronCore, text).find("experts' biases"),
            std::string::npos);
}

TEST(MegatronChecks, TheNameThatMegatronFsdpHadBeforeIsRead) {
  const Scenario s = import_test::imported(Dialect::kMegatronCore,
                                           "--use-custom-fsdp --use-distributed-optimizer "
                                           "--data-parallel-sharding-strategy optim_grads");
  EXPECT_EQ(s.strategy.zero_stage, 2);
}

// megatron/core/transformer/transformer_layer.py: mlp is of layers without experts.
TEST(MegatronChecks, RecomputationOfMlpIsOfLayersWithoutExperts) {
  const auto read = [](const std::string& more) {
    return read_settings(
        "pretrain_gpt.py --bf16 --micro-batch-size 1 --moe-grouped-gemm --num-experts 8 "
        "--disable-bias-linear --recompute-granularity selective --recompute-modules " +
            more,
        "run.sh", Dialect::kMegatronCore);
  };
  const auto value = [](const Imported& settings, const char* path) {
    return std::ranges::find(settings.given, path, &Given::path)->value;
  };
  const Imported several = read("moe_act mlp layernorm"), alone = read("mlp"),
                 mixed = read("mlp --moe-layer-freq 2");
  const char *kind = "strategy.recompute.kind", *modules = "strategy.recompute.modules";
  EXPECT_EQ(value(several, modules), R"(["expert-activations", "norms"])");
  EXPECT_EQ(std::ranges::count(printed(several.warnings),
                               "W008: mlp of --recompute-modules (line 1) is left out: all layers "
                               "have experts"),
            1);
  EXPECT_EQ(value(alone, kind), R"("none")");
  EXPECT_EQ(value(mixed, modules), R"(["mlp"])");
}

TEST(MegatronChecks, AnotherOptimizerIsReadAsAdam) {
  const auto said = [](const std::string& more) {
    return import_test::warnings(Dialect::kMegatronCore,
                                 "pretrain_gpt.py --bf16 --micro-batch-size 1 " + more);
  };
  EXPECT_EQ(said("--optimizer adam"), "");
  EXPECT_EQ(said("--optimizer muon"),
            "W008: --optimizer muon (line 1) is read as Adam, with two moments of each weight\n");
}

TEST(MegatronChecks, ASecondNumberIsNotDroppedInSilence) {
  EXPECT_EQ(import_test::warnings(
                Dialect::kMegatronCore,
                "pretrain_gpt.py --bf16 --micro-batch-size 1 --context-parallel-size 2 4"),
            "W007: not read: 4 behind --context-parallel-size\n");
}

}  // namespace plait::export_test
