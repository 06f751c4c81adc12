// Stages as Megatron-LM's command lines have them.

#include "tests/scenarios/dialects/exported.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::export_test {

/// 32 layers; how they are split, as written and read back.
struct RoundTrip {
  std::string layout;
  PipelineOptions back;
};
RoundTrip round_trip(const std::vector<Override>& changes) {
  std::vector<Override> all = {{"strategy.pp", "4"}, {"strategy.fsdp", "2"}};
  all.insert(all.end(), changes.begin(), changes.end());
  const Settings settings = settings_of(scenario_at("llama/llama-3.1-8b-8xh100-fsdp", all),
                                        Dialect::kMegatronCore, Launcher::kTorchrun);
  const auto found =
      std::ranges::find(settings.settings, "--pipeline-model-parallel-layout", &Setting::key);
  const std::string script = render(settings, Launcher::kTorchrun);
  return {found == settings.settings.end() ? "" : found->value,
          import_test::imported(Dialect::kMegatronCore, script).strategy.pipeline};
}

TEST(MegatronPipeline, StagesThatDifferAreALayout) {
  const RoundTrip one = round_trip({{"strategy.pipeline.stage_layers", "[8, 9, 8, 7]"}});
  EXPECT_EQ(one.layout, "'Et*8|t*9|t*8|t*7L'");
  EXPECT_EQ(one.back.stage_layers, (std::vector<std::int64_t>{8, 9, 8, 7}));
  EXPECT_EQ(one.back.chunks, 1);
  const RoundTrip two = round_trip({{"strategy.pipeline.schedule", "interleaved"},
                                    {"strategy.pipeline.chunks", "2"},
                                    {"strategy.pipeline.first_stage_layers", "3"},
                                    {"strategy.pipeline.last_stage_layers", "5"}});
  EXPECT_EQ(two.layout, "'Et*3|t*4|t*4|t*4|t*4|t*4|t*4|t*5L'");
  EXPECT_EQ(two.back.stage_layers, (std::vector<std::int64_t>{3, 4, 4, 4, 4, 4, 4, 5}));
  EXPECT_EQ(two.back.chunks, 2);
  EXPECT_EQ(two.back.schedule, Schedule::kInterleaved);
  EXPECT_EQ(round_trip({}).layout, "");
}

// The example of pipeline_parallel_layer_layout.py, and what DeepSeek-V3 is trained with.
TEST(MegatronPipeline, RepeatsOfALayoutAreWrittenOut) {
  const auto pipeline = [](const std::string& layout, int layers) {
    const std::string text = "--num-layers " + std::to_string(layers) +
                             " --hidden-size 64 --num-attention-heads 4 --padded-vocab-size 512 "
                             "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout " +
                             layout;
    return import_test::imported(Dialect::kMegatronCore, text).strategy.pipeline;
  };
  const PipelineOptions deepseek = pipeline("\"Et*2|(tt|)*22t|(tt|)*7mL\"", 61);
  std::vector<std::int64_t> expected(32, 2);
  expected[23] = 1, expected[31] = 0;
  EXPECT_EQ(deepseek.stage_layers, expected);
  EXPECT_EQ(deepseek.chunks, 8);
  EXPECT_EQ(pipeline("'Ettt|(t*2|)*2,tL'", 8).stage_layers,
            (std::vector<std::int64_t>{3, 2, 2, 1}));
}

// "Et*3|(tt|)*29,m|L" of Megatron-LM's guide to DeepSeek-V3: a scenario has no piece between others
// that no layer is in.
TEST(MegatronPipeline, APieceOfTheMAloneHasALayerOfTheOneBefore) {
  const std::string text =
      "--num-layers 7 --hidden-size 64 --num-attention-heads 4 --padded-vocab-size 512 "
      "--mtp-num-layers 1 --pipeline-model-parallel-size 3 "
      "--pipeline-model-parallel-layout \"Et|(tt|)*3,m|L\" ";
  const std::string base = R"({"cluster": {"preset": "hgx-h100", "devices_per_node": 3},
    "workload": {"sequence_length": 64, "global_batch": 4}})";
  const Scenario s =
      import_test::imported(Dialect::kMegatronCore, text + "--bf16 --micro-batch-size 1", base);
  EXPECT_EQ(s.strategy.pipeline.stage_layers, (std::vector<std::int64_t>{1, 2, 2, 1, 1, 0}));
}

TEST(MegatronPipeline, RefusesAtTheLine) {
  const auto refused = [](const std::string& layout) {
    return import_test::refusal(
        Dialect::kMegatronCore,
        "--pipeline-model-parallel-size 4\n--pipeline-model-parallel-layout " + layout);
  };
  EXPECT_EQ(refused("'Et|t|t|x'"), "D003 line 2");
  EXPECT_EQ(refused("'Et|t|tL'"), "D004 line 2");
  EXPECT_EQ(refused("'Et*999999|t|t|tL'"), "D003 line 2");
  EXPECT_EQ(refused("'Et|t|t|tL' --num-virtual-stages-per-pipeline-rank 2"), "D004 line 2");
}

TEST(MegatronPipeline, ALauncherStartsAsManyRanksAsTheProgramHas) {
  try {
    settings_of(scenario_at("systems/hexgen-asymmetric"), Dialect::kMegatronCore,
                Launcher::kTorchrun);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "D007");
  }
}

}  // namespace plait::export_test
