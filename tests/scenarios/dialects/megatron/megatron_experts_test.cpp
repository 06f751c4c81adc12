// Mixtures of experts as Megatron-LM's command lines have them.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "scenarios/dialects/dialects.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::megatron_experts_test {

constexpr const char* kBase = R"({"model": "llama-3.1-8b",
  "workload": {"sequence_length": 4096, "global_batch": 64}, "cluster": "hgx-h100"})";

Scenario imported(const std::string& text) {
  const Imported settings = read_settings(text, "run.sh", Dialect::kMegatronCore);
  return parse_scenario(scenario_json(settings, "run.sh", {kBase, "base.json"}, ""), "out.json");
}

// parallel_state.py: of tp 4 ranks pairs split an expert, so the four that exchange tokens are two
// along tp, then those along cp, then replicas.
TEST(MegatronExperts, ExpertsAreOnTheRanksThatLieClosest) {
  const std::string usual =
      "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 64 --micro-batch-size "
      "1 "
      "--global-batch-size 8 --disable-bias-linear --num-experts 8 --moe-layer-freq "
      "'([0]*1+[1]*3)' "
      "--moe-token-dispatcher-type alltoall --tensor-model-parallel-size 4 --sequence-parallel "
      "--vocab-size 128 ";
  const auto strategy = [&](const std::string& more) { return imported(usual + more).strategy; };
  const Strategy pairs = strategy("--expert-tensor-parallel-size 2 --expert-model-parallel-size 4");
  EXPECT_EQ(pairs.mesh[Axis::kEp], 2);
  EXPECT_EQ(pairs.mesh[Axis::kTp], 2);
  EXPECT_EQ(pairs.mesh[Axis::kEtp], 2);
  const Strategy whole = strategy("--expert-tensor-parallel-size 1 --expert-model-parallel-size 8");
  EXPECT_EQ(whole.mesh[Axis::kEp], 2);
  EXPECT_EQ(whole.axes_of_experts(), AxisSet(Axis::kEp) | Axis::kTp);
  const Strategy split = strategy("--expert-model-parallel-size 2");
  EXPECT_EQ(split.mesh[Axis::kEp], 2);
  EXPECT_EQ(split.axes_of_experts(), AxisSet(Axis::kEp));
  const Strategy with_cp = strategy(
      "--expert-tensor-parallel-size 2 --expert-model-parallel-size 4 --context-parallel-size 2");
  EXPECT_EQ(with_cp.mesh[Axis::kEp], 1);
  EXPECT_EQ(with_cp.axes_of_experts(), kContextAxes | Axis::kEp | Axis::kTp);
  const Model m = imported(usual).model;
  EXPECT_EQ(m.first_dense_layers, 1);
  EXPECT_EQ(m.experts_per_token, 2);
  EXPECT_EQ(m.expert_ffn_hidden, 4 * 64);
  EXPECT_THROW(strategy("--expert-tensor-parallel-size 8"), InputError);
  EXPECT_THROW(strategy("--expert-tensor-parallel-size 1 --expert-model-parallel-size 2"),
               InputError);
}

// megatron/training/arguments.py: allgather where nothing is said. What flex sends tokens with is
// left to another option.
TEST(MegatronExperts, TokensAreGatheredOrExchanged) {
  const auto read = [](const std::string& more) {
    const std::string text =
        "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 64 "
        "--micro-batch-size 1 --global-batch-size 8 --disable-bias-linear --num-experts 8 "
        "--vocab-size 128 --expert-model-parallel-size 2 --moe-grouped-gemm ";
    const auto warnings = read_settings(text + more, "run.sh", Dialect::kMegatronCore).warnings;
    return std::pair(
        imported(text + more).strategy.experts.dispatch,
        std::ranges::count_if(warnings, [](const Warning& w) { return w.code == "W008"; }));
  };
  using Read = std::pair<ExpertDispatch, std::ptrdiff_t>;
  const std::string option = "--moe-token-dispatcher-type ";
  EXPECT_EQ(read(""), Read(ExpertDispatch::kAllGather, 0));
  EXPECT_EQ(read(option + "allgather"), Read(ExpertDispatch::kAllGather, 0));
  EXPECT_EQ(read(option + "alltoall"), Read(ExpertDispatch::kAllToAll, 0));
  EXPECT_EQ(read(option + "flex"), Read(ExpertDispatch::kAllToAll, 1));
  EXPECT_EQ(read(option + "flex --moe-enable-deepep"), Read(ExpertDispatch::kAllToAll, 0));
}

// megatron/training/arguments.py and megatron/core/transformer/transformer_config.py: DeepEP is one
// of the things that flex sends tokens with, and no other dispatcher does.
TEST(MegatronExperts, TokensTravelByDeepEpAndBesidePassesOnRequest) {
  const std::string text =
      "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 64 "
      "--micro-batch-size 1 --global-batch-size 8 --disable-bias-linear --num-experts 8 "
      "--vocab-size 128 --expert-model-parallel-size 2 --moe-grouped-gemm "
      "--moe-token-dispatcher-type ";
  const Scenario plain = imported(text + "alltoall");
  EXPECT_EQ(plain.kernels.exchange, Dispatcher::kNccl);
  EXPECT_EQ(plain.strategy.pipeline.exchange_overlap, ExchangeOverlap::kSchedule);
  const Scenario fast =
      imported(text + "flex --moe-enable-deepep --overlap-moe-expert-parallel-comm");
  EXPECT_EQ(fast.kernels.exchange, Dispatcher::kDeepEp);
  EXPECT_EQ(fast.strategy.pipeline.exchange_overlap, ExchangeOverlap::kPasses);
  EXPECT_THROW(imported(text + "alltoall --moe-enable-deepep"), InputError);
}

// megatron/core/transformer/transformer_config.py of core 0.16: the name of what flex sends with.
TEST(MegatronExperts, DeepEpHasANewerName) {
  const std::string text =
      "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 64 "
      "--micro-batch-size 1 --global-batch-size 8 --disable-bias-linear --num-experts 8 "
      "--vocab-size 128 --expert-model-parallel-size 2 --moe-grouped-gemm "
      "--moe-flex-dispatcher-backend ";
  const auto warnings = [](const std::string& of) {
    return read_settings(of, "run.sh", Dialect::kMegatronCore).warnings;
  };
  const std::string flex = " --moe-token-dispatcher-type flex";
  EXPECT_EQ(imported(text + "deepep" + flex).kernels.exchange, Dispatcher::kDeepEp);
  EXPECT_TRUE(warnings(text + "deepep" + flex).empty());
  EXPECT_EQ(imported(text + "hybridep" + flex).kernels.exchange, Dispatcher::kDeepEp);
  EXPECT_EQ(warnings(text + "hybridep" + flex).size(), 1U);
  EXPECT_EQ(imported(text + "deepep --moe-token-dispatcher-type alltoall").kernels.exchange,
            Dispatcher::kNccl);
}

// megatron/training/arguments.py: experts are layers of their own unless --moe-grouped-gemm is
// given.
TEST(MegatronExperts, ExpertsAreOneLayerWhereTheArgumentsSaySo) {
  const std::string text =
      "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 64 --micro-batch-size "
      "1 --global-batch-size 8 --disable-bias-linear --num-experts 8 --vocab-size 128 ";
  const auto near = [](const std::string& of) {
    const auto warnings = read_settings(of, "run.sh", Dialect::kMegatronCore).warnings;
    return warnings.size();
  };
  EXPECT_EQ(near(text + "--moe-grouped-gemm"), 0U);
  EXPECT_EQ(near(text), 1U);
  EXPECT_EQ(imported(text + "--moe-grouped-gemm").kernels.experts, Fusion::kFused);  // the base's
  EXPECT_EQ(imported(text).kernels.experts, Fusion::kEager);
  for (const char* path : {"systems/megatron-moe-qwen3-235b", "systems/deepseek-v3"}) {
    const Scenario s = load_scenario(PLAIT_SOURCE_DIR "/scenarios/" + std::string(path) + ".json");
    const auto settings = settings_of(s, Dialect::kMegatronCore, Launcher::kNone).settings;
    EXPECT_EQ(std::ranges::count(settings, "--moe-grouped-gemm", &Setting::key), 1) << path;
  }
}

// megatron/training/arguments.py, moe_freq_type: a number, or what Python makes of the text.
TEST(MegatronExperts, LayersOfExpertsAreListedAsPythonWritesThem) {
  using Rule = std::pair<std::int64_t, std::int64_t>;  // first with experts, each so many
  const auto rule = [](const std::string& frequency) {
    const Model m = imported(
                        "--num-layers 12 --hidden-size 64 --num-attention-heads 8 "
                        "--seq-length 64 --micro-batch-size 1 --global-batch-size 8 "
                        "--disable-bias-linear --num-experts 8 --vocab-size 128 "
                        "--moe-token-dispatcher-type alltoall --moe-layer-freq " +
                        frequency)
                        .model;
    return Rule(m.first_dense_layers, m.moe_every);
  };
  EXPECT_EQ(rule("2"), Rule(0, 2));
  EXPECT_EQ(rule("'([1, 0])*6'"), Rule(0, 2));
  EXPECT_EQ(rule("'[0]*2 + ([1]+[0]*1)*5'"), Rule(2, 2));
  EXPECT_EQ(rule("'([0]+[1]*11)'"), Rule(1, 1));
  for (const char* text : {"'[1]*11'", "'([1]*3+[0]*1)*3'", "'[1]*12)'", "'([1]*12'", "'[1]*-1'",
                           "'[]*12'", "'[1]*99999999'"}) {
    EXPECT_THROW(rule(text), InputError) << text;
  }
}

// megatron/training/arguments.py: experts' inputs are padded on request alone, and without it have
// as many tokens as come.
TEST(MegatronExperts, ACapacityIsOneWherePaddingFillsIt) {
  const std::string text =
      "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 64 "
      "--micro-batch-size 1 --global-batch-size 8 --disable-bias-linear --num-experts 8 "
      "--vocab-size 128 --moe-expert-capacity-factor 1.25 ";
  const std::string pads = "--moe-pad-expert-input-to-capacity";
  EXPECT_EQ(imported(text + pads).workload.capacity_factor, 1.25);
  EXPECT_EQ(imported(text).workload.capacity_factor, 0);
  const auto warnings = read_settings(text, "run.sh", Dialect::kMegatronCore).warnings;
  EXPECT_TRUE(std::ranges::any_of(warnings, [](const Warning& w) {
    return w.code == "W007" && w.text.find("--moe-expert-capacity-factor") != std::string::npos;
  }));
  const Settings settings =
      settings_of(imported(text + pads), Dialect::kMegatronCore, Launcher::kNone);
  const auto is_padding = [&](const Setting& s) { return s.key == pads; };
  EXPECT_EQ(std::ranges::count_if(settings.settings, is_padding), 1);
}

TEST(MegatronExperts, TheirChoiceMayBeAGraph) {
  const std::string text =
      "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 64 "
      "--micro-batch-size 1 --global-batch-size 8 --disable-bias-linear --num-experts 8 "
      "--vocab-size 128 --cuda-graph-impl transformer_engine --cuda-graph-scope ";
  const auto read = [&](const std::string& scope) {
    const auto warnings = read_settings(text + scope, "run.sh", Dialect::kMegatronCore).warnings;
    const bool all = std::ranges::none_of(warnings, [](const Warning& w) {
      return w.text.find("--cuda-graph-scope") != std::string::npos;
    });
    return std::pair(imported(text + scope).host.routing_graph, all);
  };
  EXPECT_EQ(read("moe_router moe_preprocess"), std::pair(true, true));
  EXPECT_EQ(read("attn moe_router moe_preprocess"), std::pair(true, false));
  EXPECT_EQ(read("attn"), std::pair(false, false));
}

// Names of MindSpeed-LLM.
TEST(MegatronExperts, NamesOfAForkAreRead) {
  const Model m = import_test::imported(
                      Dialect::kMegatronCore,
                      "--bf16 --num-layers 6 --hidden-size 64 --num-attention-heads 4 "
                      "--vocab-size 1000 --micro-batch-size 1 --global-batch-size 8 "
                      "--encoder-seq-length 128 --num-experts 8 --moe-router-topk 2 "
                      "--moe-intermediate-size 96 --n-shared-experts 2 --first-k-dense-replace 1 "
                      "--moe-shared-expert-gate --multi-head-latent-attention --kv-lora-rank 32 "
                      "--qk-nope-head-dim 24 --qk-rope-head-dim 8 --v-head-dim 16 --qk-layernorm "
                      "--disable-bias-linear --moe-grouped-gemm",
                      R"({"cluster": "hgx-h100"})")
                      .model;
  EXPECT_EQ(m.expert_ffn_hidden, 96);
  EXPECT_EQ(m.shared_ffn_hidden, 2 * 96);
  EXPECT_TRUE(m.shared_expert_gate);
  EXPECT_EQ(m.first_dense_layers, 1);
  EXPECT_EQ(m.kv_lora_rank, 32);
  EXPECT_EQ(m.head_dim, 24 + 8);
  EXPECT_EQ(m.rope_head_dim, 8);
}

}  // namespace plait::megatron_experts_test
