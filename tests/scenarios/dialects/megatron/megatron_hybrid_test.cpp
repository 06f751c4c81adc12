// Hybrids as Megatron-LM's command lines have them.

#include "core/file.h"
#include "model/presets.h"
#include "scenarios/fields.h"
#include "tests/scenarios/dialects/exported.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::export_test {

constexpr const char* kSizes =
    "--num-layers 8 --hidden-size 256 --num-attention-heads 4 --padded-vocab-size 512 ";

Model hybrid(const std::string& more) {
  return import_test::imported(Dialect::kMegatronCore, kSizes + more).model;
}

TEST(MegatronHybrid, AScenarioComesBackWithItsModel) {
  const std::string path = "nemotron/nemotron-h-8b-64xh100";
  const Scenario s = scenario_at(path);
  const std::string script =
      render(settings_of(s, Dialect::kMegatronCore, Launcher::kTorchrun), Launcher::kTorchrun);
  EXPECT_NE(script.find("pretrain_mamba.py"), std::string::npos);
  const std::string base = read_text_file(kRoot + "/scenarios/" + path + ".json");
  Model back = import_test::imported(Dialect::kMegatronCore, script, base).model;
  back.name = s.model.name;
  EXPECT_EQ(model_table().write(back), model_table().write(s.model));
}

TEST(MegatronHybrid, SizesOfStatesHaveMegatronsDefaults) {
  const Model m = hybrid("--hybrid-override-pattern 'M-M*M-M-'");
  EXPECT_EQ(m.layer_pattern, "M-M*M-M-");
  EXPECT_EQ(m.state_size, 128);
  EXPECT_EQ(m.state_head_dim, 64);
  EXPECT_EQ(m.state_heads, 2 * 256 / 64);
  EXPECT_EQ(m.state_groups, 8);
  const Model small = hybrid(
      "--is-hybrid-model --mamba-state-dim 16 --mamba-head-dim 32 --mamba-num-groups 2 "
      "--mamba-num-heads 6");
  EXPECT_EQ(small.layer_pattern, "MMMMMMMM");
  EXPECT_EQ(small.state_size, 16);
  EXPECT_EQ(small.state_head_dim, 32);
  EXPECT_EQ(small.state_heads, 6);
  EXPECT_EQ(small.state_groups, 2);
  EXPECT_EQ(hybrid("").layer_pattern, "");
}

// mamba_hybrid_layer_allocation.py: one of 8 layers is attention, behind a section of 7 / 2; of
// the 7 others 4 are MLPs, each behind 3 / 4 of a layer.
TEST(MegatronHybrid, LayersAreDealtByRatios) {
  EXPECT_EQ(hybrid("--hybrid-attention-ratio 0.125").layer_pattern, "MMMM*MMM");
  const std::string both =
      hybrid("--hybrid-attention-ratio 0.125 --hybrid-mlp-ratio 0.5").layer_pattern;
  EXPECT_EQ(std::ranges::count(both, '-'), 4);
  EXPECT_EQ(both[4], '*');
  EXPECT_EQ(both.back(), '-');
}

/// "D009 model.layer_pattern", or what --hybrid-override-pattern is.
std::string exported_pattern(const std::string& path, const std::vector<Override>& changes = {}) {
  try {
    const Settings s =
        settings_of(scenario_at(path, changes), Dialect::kMegatronCore, Launcher::kNone);
    const auto found = std::ranges::find(s.settings, "--hybrid-override-pattern", &Setting::key);
    return found == s.settings.end() ? "none" : found->value;
  } catch (const InputError& e) {
    return e.text().code + " " + e.text().where.path;
  }
}

// mamba_hybrid_layer_allocation.py: M, *, - and E. Without a pattern it would be another model.
TEST(MegatronHybrid, LayersThatItsPatternHasNotAreRefused) {
  const char* const nano = "nemotron-3-nano-30b";
  const std::string hybrid_run = "nemotron/nemotron-h-8b-64xh100";
  EXPECT_EQ(exported_pattern(hybrid_run, {{"model", nano}}),
            "'" + find_preset(nano)->layer_pattern + "'");
  EXPECT_NE(find_preset(nano)->layer_pattern.find('E'), std::string::npos);
  EXPECT_EQ(exported_pattern("qwen/qwen3-next-80b-128xh100"), "D009 model.layer_pattern");
  const auto with_letters = [&](const std::string& letters) {
    std::string pattern;
    while (pattern.size() < 52) pattern += letters;
    return exported_pattern(hybrid_run, {{"model.layer_pattern", pattern}});
  };
  EXPECT_EQ(with_letters("ma"), "D009 model.layer_pattern");
  EXPECT_EQ(with_letters("a"), "none");
}

// hybrid_layer_allocation.py: | ends a stage, and layers are as many as letters.
TEST(MegatronHybrid, TheLaterPatternCountsItsLayers) {
  const std::string sizes =
      "--hidden-size 256 --num-attention-heads 4 --padded-vocab-size 512 --hybrid-layer-pattern ";
  const auto model = [&](const std::string& pattern) {
    return import_test::imported(Dialect::kMegatronCore, sizes + pattern).model;
  };
  for (const char* pattern : {"'M-M*M-'", "'M-M|*M-'"}) {
    EXPECT_EQ(model(pattern).layers, 6) << pattern;
    EXPECT_EQ(model(pattern).layer_pattern, "M-M*M-") << pattern;
  }
  EXPECT_EQ(import_test::warnings(Dialect::kMegatronCore, sizes + "'M-M*|M-'"),
            "W007: not read: stages in --hybrid-layer-pattern\n");
}

TEST(MegatronHybrid, LettersThatAreNoneOfAScenariosAreRefusedByName) {
  const auto refused = [](const std::string& pattern) {
    try {
      import_test::imported(Dialect::kMegatronCore,
                            kSizes + std::string("--hybrid-override-pattern ") + pattern);
    } catch (const InputError& e) {
      return e.text().code + ": " + e.text().problem;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused("'M-MDM-M-'"),
            "D006: --hybrid-override-pattern asks for sparse attention of DeepSeek-V3.2 (D), which "
            "a scenario cannot say");
  EXPECT_EQ(refused("'M-MXM-M-'").substr(0, 4), "D003");
}

constexpr const char* kNets =
    "--bf16 --num-layers 8 --hidden-size 64 --num-attention-heads 4 --vocab-size 1000 "
    "--micro-batch-size 1 --global-batch-size 8 --seq-length 128 --position-embedding-type rope "
    "--experimental-attention-variant gated_delta_net --linear-key-head-dim 16 "
    "--linear-value-head-dim 32 --linear-num-key-heads 2 --linear-num-value-heads 4 "
    "--linear-conv-kernel-dim 4 ";

TEST(MegatronHybrid, GatedDeltaNetsAreLayersOfThePattern) {
  const auto model = [](const std::string& more) {
    return import_test::imported(Dialect::kMegatronCore, kNets + more, R"({"cluster": "hgx-h100"})")
        .model;
  };
  const Model m = model("--linear-attention-freq 4 --attention-output-gate");
  EXPECT_EQ(m.layer_pattern, "gggaggga");
  EXPECT_EQ(m.state_size, 16);
  EXPECT_EQ(m.state_head_dim, 32);
  EXPECT_EQ(m.state_groups, 2);
  EXPECT_EQ(m.state_heads, 4);
  EXPECT_TRUE(m.attention_gate);
  EXPECT_EQ(model("--linear-attention-freq [1,0,1,0,1,1,1,0]").layer_pattern, "gagaggga");
  const auto refused = [](const std::string& more) {
    return import_test::refusal(Dialect::kMegatronCore, more, R"({"cluster": "hgx-h100"})");
  };
  EXPECT_EQ(refused(std::string(kNets) + "\n--linear-attention-freq [1,0]"), "D006 line 2");
  EXPECT_EQ(refused("--num-layers 2 --hidden-size 64\n--experimental-attention-variant dsa"),
            "D006 line 2");
}

}  // namespace plait::export_test
