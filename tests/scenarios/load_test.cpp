#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/json.h"
#include "core/new_file.h"
#include "core/sha256.h"
#include "scenarios/scenario.h"

namespace plait::load_test {

const std::string kFolder = std::string(PLAIT_SOURCE_DIR) + "/scenarios/";

/// A scenario on `nodes` nodes of eight H100, with `strategy` and `model` as given.
std::string scenario(const std::string& strategy, int nodes = 1,
                     const std::string& model = "\"tiny\"") {
  return R"({"name":"s","model":)" + model +
         R"(,"workload":{"sequence_length":64,"global_batch":16},"strategy":)" + strategy +
         R"(,"cluster":{"preset":"hgx-h100","nodes":)" + std::to_string(nodes) + "}}";
}

Scenario parse(const std::string& text, const std::vector<Override>& overrides = {}) {
  return parse_scenario(text, "s.json", overrides);
}

TEST(Strategy, AbsentDpTakesWhatIsLeft) {
  const Scenario s = parse(scenario(R"({"pp":2,"tp":4})", 4));
  EXPECT_EQ(s.cluster.world_size(), 4 * 8);
  EXPECT_EQ(s.strategy.mesh[Axis::kDp], 4 * 8 / (2 * 4));
}

/// A scenario whose sequences of 64 tokens hold `documents`.
Scenario of_documents(const std::string& documents) {
  return parse(scenario("{}"), {{"workload.documents", documents}});
}

TEST(Documents, ArePackedWhereTheyHaveALengthAndNothingElseIsSaid) {
  EXPECT_EQ(of_documents(R"({"length":16})").workload.documents.packing, Packing::kPacked);
  EXPECT_EQ(of_documents(R"({"lengths":[16,8]})").workload.documents.packing, Packing::kPacked);
  const Scenario padded = of_documents(R"({"packing":"padded","lengths":[16,8]})");
  EXPECT_EQ(padded.workload.documents, (Documents{Packing::kPadded, 0, {16, 8}}));
  for (const Scenario& s : {padded, of_documents(R"({"length":16})")})
    EXPECT_TRUE(s.warnings.empty());
}

TEST(Documents, WithoutEffectAreWarnedAbout) {
  for (const char* idle : {R"({"packing":"none","length":16})", R"({"packing":"packed"})"}) {
    const Scenario s = of_documents(idle);
    ASSERT_EQ(s.warnings.size(), 1U);
    EXPECT_TRUE(printed(s.warnings[0]).starts_with("W001: workload.documents has no effect"))
        << s.warnings[0].text;
  }
}

/// What a small model with `more` fields is told of.
std::string told_of(const std::string& more) {
  const std::string model =
      R"({"layers":4,"hidden":64,"ffn_hidden":128,"heads":4,"vocab":512,)" + more + "}";
  std::string out;
  for (const Warning& w : parse(scenario("{}", 1, model)).warnings) out += printed(w) + ";";
  return out;
}

TEST(Model, SaysWhichOfItsFieldsDoNothing) {
  const std::string experts = R"("experts":4,"experts_per_token":2,"expert_ffn_hidden":32,)";
  const std::string states = R"("state_size":16,"state_heads":4,"state_head_dim":32,)";
  EXPECT_EQ(told_of(experts + R"("first_dense_layers":4)"),
            "W001: model.experts has no effect: model.first_dense_layers leaves them no layer;");
  EXPECT_EQ(told_of(experts + R"("first_dense_layers":3)"), "");
  EXPECT_EQ(told_of(experts + R"("layer_pattern":"*-*-")"),
            "W001: model.experts has no effect: no layer of model.layer_pattern has them;");
  EXPECT_EQ(told_of(experts + R"("layer_pattern":"*E*E","first_dense_layers":1,"moe_every":2)"),
            "W001: model.first_dense_layers has no effect: model.layer_pattern says which layers "
            "have experts;W001: model.moe_every has no effect: model.layer_pattern says which "
            "layers have experts;");
  EXPECT_EQ(told_of(experts + R"("layer_pattern":"aaaa","first_dense_layers":1,"moe_every":2)"),
            "");
  EXPECT_EQ(told_of(experts + R"("shared_expert_gate":true)"),
            "W001: model.shared_expert_gate has no effect: model.shared_ffn_hidden is 0;");
  EXPECT_EQ(told_of(states + R"("layer_pattern":"MMMM","attention_window":8)"),
            "W001: model.attention_window has no effect: no layer of the model has attention;");
}

TEST(Model, HeadsWiderThanFlashAttentionHasCodeForAreToldOf) {
  EXPECT_EQ(told_of(R"("head_dim":512)").substr(0, 4), "W023");
  EXPECT_EQ(told_of(R"("head_dim":256)"), "");
}

TEST(Adapters, AreReadWithTheirTargetsAndAreAllFourProductsByDefault) {
  const auto lora = [](const std::string& text) {
    return parse(scenario("{}"), {{"workload.lora", text}}).workload.lora;
  };
  EXPECT_EQ(lora(R"({"rank":16})"), (LowRankAdapters{.rank = 16}));
  EXPECT_EQ(lora(R"({"rank":8,"alpha":16,"targets":["q","v"]})"),
            (LowRankAdapters{8, 16, {AdapterTarget::kQ, AdapterTarget::kV}}));
  EXPECT_EQ(lora(R"({"rank":8,"alpha":16})").scale(), 2);
  EXPECT_EQ(lora(R"({"rank":8})").scale(), 1);
}

TEST(Adapters, OfNoRankAreWarnedAboutAndNotPartOfTheScenariosHash) {
  const Scenario idle = parse(scenario("{}"), {{"workload.lora", R"({"alpha":16})"}});
  ASSERT_EQ(idle.warnings.size(), 1U);
  EXPECT_EQ(printed(idle.warnings[0]), "W001: workload.lora has no effect: its rank is 0");
  EXPECT_EQ(idle.canonical_json, parse(scenario("{}")).canonical_json);
}

TEST(Documents, OfWhichNothingIsSaidAreNotPartOfTheScenariosHash) {
  EXPECT_EQ(of_documents(R"({"packing":"none"})").canonical_json,
            parse(scenario("{}")).canonical_json);
}

TEST(Strategy, AbsentZeroStageFollowsFsdp) {
  EXPECT_EQ(parse(scenario(R"({"fsdp":8})")).strategy.zero_stage, 3);
  EXPECT_EQ(parse(scenario(R"({"dp":8})")).strategy.zero_stage, 0);
  EXPECT_EQ(parse(scenario(R"({"fsdp":8,"zero_stage":1})")).strategy.zero_stage, 1);
}

TEST(Strategy, EveryFieldArrives) {
  const Scenario s = parse(scenario(R"({"pp":2,"dp":1,"fsdp":2,"tp":2,"sequence_parallel":true,
      "zero_stage":3,"keep_weight_shard":true,
      "pipeline":{"schedule":"interleaved","chunks":3,"first_stage_layers":1,"last_stage_layers":2},
      "recompute":{"kind":"full","layers":1},"data":{"bucket":"1 MiB","overlap":false},
      "fsdp_options":{"reshard_after_forward":false,"prefetch":2}})"));
  const Strategy& st = s.strategy;
  EXPECT_EQ(st.mesh.size, (std::array<std::int64_t, kAxes>{2, 1, 2, 1, 1, 1, 2, 1}));
  EXPECT_TRUE(st.sequence_parallel && st.keep_weight_shard);
  EXPECT_EQ(st.zero_stage, 3);
  EXPECT_EQ(st.pipeline.schedule, Schedule::kInterleaved);
  EXPECT_EQ(st.pipeline.chunks, 3);
  EXPECT_EQ(st.pipeline.first_stage_layers, 1);
  EXPECT_EQ(st.pipeline.last_stage_layers, 2);
  EXPECT_EQ(st.recompute.kind, Recompute::kFull);
  EXPECT_EQ(st.recompute.layers, 1);
  EXPECT_EQ(st.data.bucket.value, 1 << 20);
  EXPECT_FALSE(st.data.overlap);
  EXPECT_FALSE(st.fsdp.reshard_after_forward);
  EXPECT_EQ(st.fsdp.prefetch, 2);
}

std::string refused_with(const std::string& text) {
  try {
    parse(text);
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

TEST(Strategy, ListedTensorDegreesSayHowManyStagesAndRanksThereAre) {
  const Strategy s = parse(scenario(R"({"stage_tp":[4,2,2]})")).strategy;
  EXPECT_EQ(s.mesh[Axis::kPp], 3);
  EXPECT_EQ(s.mesh[Axis::kTp], 4);
  EXPECT_EQ(s.mesh[Axis::kDp], 8 / (4 + 2 + 2));
  EXPECT_EQ(s.pipeline.stage_tp, (std::vector<std::int64_t>{4, 2, 2}));
  EXPECT_EQ(parse(scenario(R"({"stage_tp":[2,1,1]})")).strategy.mesh[Axis::kDp], 8 / (2 + 1 + 1));
  for (const char* wrong : {R"({"pp":2,"stage_tp":[4,2,2]})", R"({"tp":2,"stage_tp":[4,2,2]})"}) {
    EXPECT_EQ(refused_with(scenario(wrong)), "S052");
  }
  EXPECT_EQ(refused_with(scenario(R"({"stage_tp":[4,2]})")), "S002");  // 6 ranks of 8
}

TEST(Strategy, IdleOptionsAreWarnings) {
  const Scenario s = parse(scenario(R"({"sequence_parallel":true,"pipeline":{"chunks":1}})"));
  ASSERT_EQ(s.warnings.size(), 2U);
  EXPECT_NE(s.warnings[0].text.find("strategy.sequence_parallel"), std::string::npos);
  EXPECT_NE(s.warnings[1].text.find("strategy.pipeline"), std::string::npos);
}

TEST(ModelPart, PresetWithChanges) {
  const Scenario s =
      parse(scenario("{}", 1, R"({"preset":"llama-3.1-8b","layers":4,"name":"short"})"));
  EXPECT_EQ(s.model.layers, 4);
  EXPECT_EQ(s.model.name, "short");
  EXPECT_EQ(s.model.hidden, 4096);
  EXPECT_EQ(s.model.kv_heads, 8);
}

TEST(ModelPart, ChangedWidthChangesTheHeadsThatFollowFromIt) {
  const Scenario s = parse(scenario("{}", 1, R"({"preset":"tiny","hidden":128,"heads":8})"));
  EXPECT_EQ(s.model.head_dim, 128 / 8);
  EXPECT_EQ(s.model.kv_heads, 8);
}

TEST(ModelPart, WrittenOutWithWhatFollows) {
  const Scenario s = parse(scenario("{}", 1, R"({"layers":2,"hidden":64,"heads":4,"vocab":100})"));
  EXPECT_EQ(s.model.name, "custom");
  EXPECT_EQ(s.model.ffn_hidden, 4 * 64);
  EXPECT_EQ(s.model.kv_heads, 4);
  EXPECT_EQ(s.model.head_dim, 64 / 4);
  EXPECT_EQ(s.model.max_positions, s.workload.sequence_length);
}

TEST(ModelPart, ConfigJsonRelativeToTheScenario) {
  std::string folder = testing::TempDir() + "plaitXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  write_file(folder + "/config.json",
             R"({"model_type":"llama","hidden_size":64,"intermediate_size":128,
                 "num_hidden_layers":2,"num_attention_heads":4,"vocab_size":100,
                 "rope_theta":10000.0})");
  write_file(folder + "/s.json", scenario("{}", 1, R"({"hf_config":"config.json","layers":3})"));
  const Scenario s = load_scenario(folder + "/s.json");
  EXPECT_EQ(s.model.layers, 3);
  EXPECT_EQ(s.model.hidden, 64);
  EXPECT_FALSE(s.warnings.empty());  // ignored keys are told
  std::filesystem::remove_all(folder);
}

TEST(Calibration, IsRelativeToTheScenarioAndQuotedByItsContent) {
  std::string folder = testing::TempDir() + "plaitXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  write_file(folder + "/s.json", scenario("{}"));
  const Scenario without = load_scenario(folder + "/s.json");
  EXPECT_EQ(without.calibration, "");
  const auto with = [&](const std::string& content) {
    write_file(folder + "/box.json", content);
    return load_scenario(folder + "/s.json", {{"calibration", "box.json"}});
  };
  const Scenario one = with("one"), other = with("other");
  EXPECT_EQ(one.calibration, folder + "/box.json");
  EXPECT_NE(one.canonical_json, without.canonical_json);
  EXPECT_NE(one.canonical_json, other.canonical_json);
  std::filesystem::remove_all(folder);
}

TEST(WorkloadPart, PrecisionTextStandsForItsWeights) {
  const auto precision = [](const std::string& value) {
    return parse(scenario("{}"), {{"workload.precision", value}}).workload.precision;
  };
  EXPECT_EQ(precision("fp16").weights, DType::kFp16);
  EXPECT_EQ(precision("fp16").gradients, DType::kFp32);
  EXPECT_TRUE(precision("fp16").has_master());
  EXPECT_FALSE(precision("fp32").has_master());
  EXPECT_EQ(precision(R"({"gradients":"bf16"})").reduction, DType::kBf16);
  EXPECT_EQ(precision(R"({"gradients":"bf16","reduction":"fp32"})").reduction, DType::kFp32);
}

TEST(WorkloadPart, ProductsAreInTheTypeOfTheWeightsOrNarrower) {
  const auto precision = [](const std::string& json) {
    return parse(scenario("{}"), {{"workload.precision", json}}).workload.precision;
  };
  EXPECT_EQ(precision("fp32").matmul, DType::kFp32);
  EXPECT_EQ(precision(R"({"matmul":"fp8"})").products(), DType::kFp8);
  EXPECT_EQ(precision(R"({"matmul":"fp8"})").weights, DType::kBf16);
  EXPECT_EQ(precision(R"({"matmul":"nvfp4"})").products(), DType::kNvfp4);
  EXPECT_THROW(precision(R"({"weights":"fp32","matmul":"bf16"})"), InputError);
}

TEST(ClusterPart, TextAndObjectMeanTheSame) {
  const std::string text = scenario("{}");
  const Scenario a = parse(text, {{"cluster", "hgx-h100"}});
  const Scenario b = parse(text, {{"cluster", R"({"preset":"hgx-h100"})"}});
  EXPECT_EQ(a.canonical_json, b.canonical_json);
}

TEST(ClusterPart, DeviceNodeAndFabricTakeChanges) {
  const Scenario s =
      parse(scenario("{}", 2), {{"cluster.device.memory", "40 GiB"},
                                {"cluster.fabric", "roce100"},
                                {"cluster.fabric.oversubscription", "2"},
                                {"cluster.node.nics", "4"},
                                {"cluster.slowdowns", R"([{"device":3,"factor":1.5}])"},
                                {"cluster.jitter", "0.1"}});
  EXPECT_EQ(s.cluster.device.memory.value, std::int64_t{40} << 30);
  EXPECT_EQ(s.cluster.device.name, parse(scenario("{}")).cluster.device.name);
  EXPECT_EQ(s.cluster.nics_per_node, 4);
  ASSERT_EQ(s.cluster.slowdowns.size(), 1U);
  EXPECT_EQ(s.cluster.slowdowns[0].factor, 1.5);
  EXPECT_EQ(s.cluster.jitter, 0.1);
}

TEST(ClusterPart, OtherNodesAreAsTheRestUnlessTheySayOtherwise) {
  const Scenario s =
      parse(scenario("{}", 8), {{"cluster.device.memory", "70 GiB"}, {"cluster.other_nodes", R"([
      {"nodes":[1,2],"device":{"peak_bf16":"500 TFLOP/s"}},
      {"nodes":[4,5],"preset":"dgx-a100"},
      {"nodes":[7,7],"device":"h200-sxm"}])"}});
  const Cluster& c = s.cluster;
  ASSERT_EQ(c.kinds(), 4U);
  EXPECT_EQ(c.kind(1).device.peak_bf16.value, 500e12);
  EXPECT_EQ(c.kind(1).device.memory.value, std::int64_t{70} << 30);
  EXPECT_EQ(c.kind(2).device.name, "a100-80-sxm");
  EXPECT_EQ(c.kind(2).cpu, "amd");
  EXPECT_EQ(c.kind(3).device.name, "h200-sxm");
  EXPECT_EQ(c.kind_of(5 * 8 + 7), 2U);
}

TEST(ClusterPart, OnlyOtherNodesAreInTheCanonicalForm) {
  const std::string text = scenario("{}", 2);
  EXPECT_EQ(parse(text).canonical_json.find("other_nodes"), std::string::npos);
  const std::string others = R"([{"nodes":[1,1],"preset":"dgx-a100"}])";
  const std::string with = parse(text, {{"cluster.other_nodes", others}}).canonical_json;
  EXPECT_NE(with.find(R"("other_nodes":[{"device":{"compute_capability":80)"), std::string::npos)
      << "written out, so that a changed catalogue is a changed scenario";
}

TEST(ClusterPart, WrittenOutInFull) {
  const std::string text = R"({"model":"tiny","workload":{"sequence_length":64,"global_batch":4},
    "cluster":{"nodes":2,
      "node":{"name":"box","device":"own","family":"pcie","devices":2,"sockets":1,"nics":1,
              "pcie_bandwidth":"25 GB/s","pcie_latency":"500 ns"},
      "device":{"name":"own","peak_fp32":"10 TFLOP/s","peak_bf16":"100 TFLOP/s",
                "vector_fp32":"10 TFLOP/s","memory":"16 GiB","memory_bandwidth":"500 GB/s",
                "sms":40,"pcie_bandwidth":"25 GB/s","host_bandwidth":"20 GB/s",
                "launch_overhead":{"value":"3 us","source":"measured"}},
      "fabric":{"name":"wire","link":"ethernet","bandwidth":"100 Gbps","bus_bandwidth":"25 GB/s"}}})";
  const Scenario s = parse(text);
  EXPECT_EQ(s.cluster.world_size(), 4);
  EXPECT_EQ(s.cluster.device.launch_overhead.value, 3e-6);
  EXPECT_EQ(s.name, "s");  // from the file's name
}

TEST(Override, IsCheckedLikeTheFile) {
  EXPECT_EQ(parse(scenario("{}"), {{"strategy.tp", "4"}}).strategy.mesh[Axis::kTp], 4);
  EXPECT_EQ(parse(scenario("{}"), {{"model.layers", "3"}}).model.layers, 3);
  EXPECT_EQ(parse(scenario("{}"), {{"strategy.recompute", "full"}}).strategy.recompute.kind,
            Recompute::kFull);
  EXPECT_EQ(
      parse(scenario("{}"), {{"strategy.tp", "4"}, {"strategy.tp", "2"}}).strategy.mesh[Axis::kTp],
      2);  // the last one wins
  EXPECT_THROW(parse(scenario("{}"), {{"strategy.tp", "many"}}), InputError);
}

TEST(Canonical, IsSortedCompleteAndBlindToSpelling) {
  const Scenario a = parse(scenario(R"({"fsdp":8})"));
  const auto json = nlohmann::json::parse(a.canonical_json);
  EXPECT_EQ(json.dump(), a.canonical_json);  // the library sorts its keys
  EXPECT_EQ(json["strategy"]["dp"], 1);
  EXPECT_EQ(json["strategy"]["zero_stage"], 3);
  EXPECT_EQ(json["strategy"]["data"]["bucket"], "25 MiB");
  EXPECT_EQ(json["model"]["layers"], a.model.layers);
  EXPECT_TRUE(json["cluster"]["device"]["memory_bandwidth"].is_string());
  const Scenario b = parse(scenario("// comment\n {\"zero_stage\" : 3.0, \"fsdp\":8, \"dp\":1}"));
  EXPECT_EQ(sha256(a.canonical_json), sha256(b.canonical_json));
  const Scenario c = parse(scenario(R"({"fsdp":8})"), {{"cluster.device.memory", "79 GiB"}});
  EXPECT_NE(sha256(a.canonical_json), sha256(c.canonical_json));
}

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

/// Stages may have different numbers of them.
std::int64_t ranks_of(const Strategy& s) {
  std::vector<std::int64_t> tp = s.pipeline.stage_tp;
  if (tp.empty()) tp.assign(static_cast<std::size_t>(s.mesh[Axis::kPp]), s.mesh[Axis::kTp]);
  return s.mesh.size_of(AxisSet(Axis::kDp) | Axis::kFsdp | kContextAxes | Axis::kEp) *
         std::accumulate(tp.begin(), tp.end(), std::int64_t{0});
}

TEST(Files, EachLoadsWithoutWarningAndSaysWhatItShows) {
  const std::vector<std::string> files = scenario_files();
  EXPECT_GE(files.size(), 14U);
  for (const std::string& file : files) {
    try {
      const Scenario s = load_scenario(file);
      EXPECT_GT(s.comment.size(), 40U) << file;
      EXPECT_TRUE(s.warnings.empty()) << file << ": " << s.warnings.front().text;
      EXPECT_EQ(ranks_of(s.strategy), s.cluster.world_size()) << file;
    } catch (const InputError& e) {
      ADD_FAILURE() << file << "\n" << e.what();
    }
  }
}

TEST(Files, NamesAreUnique) {
  std::vector<std::string> names;
  for (const std::string& file : scenario_files()) names.push_back(load_scenario(file).name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(Files, The405bOneIsThePublishedRun) {
  const Scenario s = load_scenario(kFolder + "llama/llama-3.1-405b-16384xh100.json");
  EXPECT_EQ(s.cluster.world_size(), 16'384);
  EXPECT_NEAR(static_cast<double>(s.workload.tokens()), 16e6, 1e6);
  // The first and the last chunk have no layer: 16 stages * 8 chunks - 2 = 126 layers.
  EXPECT_EQ(s.strategy.mesh[Axis::kPp] * s.strategy.pipeline.chunks - 2, s.model.layers);
}

}  // namespace plait::load_test
