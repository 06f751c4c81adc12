// What a dialect says of a scenario, it reads back: over random scenarios, each field that an
// export claims to say has the same value after the import, over a base that says nothing of what
// the settings leave to the program.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/strategies/pieces.h"
#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/export_draft.h"
#include "scenarios/fields.h"

namespace plait::round_trip_test {

using nlohmann::json;
using rc::gen::element;

std::int64_t size(std::initializer_list<std::int64_t> of) {
  return *rc::gen::elementOf(std::vector<std::int64_t>(of));
}
std::string word(std::initializer_list<const char*> of) {
  return *rc::gen::elementOf(std::vector<std::string>(of.begin(), of.end()));
}
bool coin() { return *rc::gen::arbitrary<bool>(); }

/// One time in four latents, in another one a partial rotation.
void turn(json& model) {
  const std::int64_t of_four = size({0, 1, 2, 3});
  if (of_four > 1) return;
  model["positions"] = "rotary";
  model["rope_head_dim"] = size({16, 24});
  if (of_four == 1) return;
  model["kv_heads"] = model["heads"], model["qk_norm"] = false;
  model["kv_lora_rank"] = size({32, 512}), model["q_lora_rank"] = size({0, 48});
  model["v_head_dim"] = size({48, 64});
}

json random_model() {
  if (coin()) return word({"llama-3.1-8b", "mistral-7b", "falcon-40b", "gpt2", "pythia-6.9b"});
  const std::int64_t heads = size({8, 16});
  json model = {{"layers", 16},
                {"hidden", heads * 64},
                {"ffn_hidden", size({1024, 3000})},
                {"heads", heads},
                {"kv_heads", coin() ? heads : 8},
                {"head_dim", size({64, 80})},
                {"vocab", size({50304, 32000})},
                {"max_positions", size({512, 4096})},
                {"norm", word({"layernorm", "rmsnorm"})},
                {"activation", word({"gelu", "silu", "relu"})},
                {"gated_mlp", coin()},
                {"positions", word({"rotary", "none"})},
                {"tied_embeddings", coin()},
                {"qkv_bias", coin()},
                {"attention_output_bias", coin()},
                {"mlp_bias", coin()},
                {"qk_norm", coin()},
                {"attention_window", size({0, 0, 128})},
                {"full_attention_first", size({0, 0, 3})},
                {"full_attention_every", size({0, 2, 5})},
                {"mtp_layers", size({0, 0, 1, 2})},
                {"dropout", coin() ? 0.1 : 0.0},
                {"attention_dropout", coin() ? 0.2 : -1.0}};
  turn(model);
  return model;
}

/// Megatron-LM has no experts in fp16.
json random_precision(bool mixes) {
  const std::string weights = mixes ? word({"bf16", "fp32"}) : word({"bf16", "fp16", "fp32"});
  return {{"weights", weights},
          {"gradients", word({"bf16", "fp16", "fp32"})},
          {"reduction", word({"bf16", "fp16", "fp32"})},
          {"moments", word({"bf16", "fp32"})},
          {"matmul", coin() ? weights : word({"fp8", "nvfp4"})},
          {"narrow_weights", word({"none", "kept", "gathered"})},
          {"plain_first", size({0, 0, 1})},
          {"plain_last", size({0, 0, 1})}};
}

json random_documents() {
  const std::string packing = word({"none", "packed", "padded"});
  return packing == "none" ? json::object()
                           : json{{"packing", packing}, {"length", size({64, 500})}};
}

/// One time in two, experts in all layers or in some.
void mix(json& model) {
  if (!model.is_object() || coin()) return;
  model["mlp_bias"] = false;
  model["experts"] = 16, model["experts_per_token"] = size({1, 4});
  model["expert_ffn_hidden"] = size({256, 512}), model["shared_ffn_hidden"] = size({0, 512});
  model["first_dense_layers"] = size({0, 0, 1, 15}), model["moe_every"] = size({1, 1, 2, 3});
}

void deal_experts(json& strategy, std::int64_t& ranks) {
  const std::int64_t ep = size({1, 2});
  ranks *= ep;
  strategy["ep"] = ep;
  strategy["expert_axes"] = word({"ep", "ep+tp", "cp+ep", "cp+ep+tp"});
  strategy["expert_tp"] = size({1, 2});
  strategy["expert_gates"] = word({"results", "activations"});
  strategy["expert_dispatch"] = word({"all_to_all", "all_gather"});
}

json random_recompute() {
  json recompute = {{"kind", word({"none", "selective", "full", "ops", "modules"})}};
  if (recompute["kind"] == "modules") recompute["modules"] = {"norms", "mlp"};
  if (recompute["kind"] == "full" && coin()) recompute["layers"] = 1;
  if (recompute["kind"] == "full" && coin()) recompute["every"] = 2;
  return recompute;
}

json random_strategy(std::int64_t& ranks) {
  const std::int64_t pp = size({1, 1, 2, 4}), tp = size({1, 2, 4}), cp = size({1, 1, 2});
  const std::int64_t dp = size({1, 2}), fsdp = size({1, 1, 2, 4});
  ranks = pp * tp * cp * dp * fsdp;
  const bool shards = dp * fsdp > 1;
  const std::int64_t chunks = pp > 1 ? size({1, 1, 2}) : 1;
  json pipeline = {{"schedule", chunks > 1 ? "interleaved" : word({"1f1b", "gpipe"})},
                   {"chunks", chunks}};
  if (chunks > 1 && coin()) pipeline["microbatch_group"] = pp;
  if (pp > 1 && coin()) pipeline["first_stage_layers"] = size({0, 1, 3});
  if (pp > 1 && coin()) pipeline["last_stage_layers"] = size({0, 1, 3});
  json context = {{"kind", word({"all_gather", "ring", "ulysses", "hybrid"})}};
  if (context["kind"] == "hybrid" && cp > 1) context["ulysses"] = size({1, cp});
  json offload = {{"optimizer", word({"none", "cpu", "nvme"})}};
  if (offload["optimizer"] != "none") offload["parameters"] = word({"none", "cpu", "nvme"});
  return {{"offload", offload},
          {"pp", pp},
          {"tp", tp},
          {"cp", cp},
          {"context", context},
          {"dp", dp},
          {"fsdp", fsdp},
          {"sequence_parallel", tp > 1 && coin()},
          {"zero_stage", !shards    ? 0
                         : fsdp > 1 ? size({1, 2, 3})
                                    : size({0, 1, 2, 3})},
          {"zero_plus_plus",
           {{"secondary_shard", coin()},
            {"quantized_weights", coin()},
            {"quantized_gradients", coin()}}},
          {"pipeline", pipeline},
          {"recompute", random_recompute()},
          {"data",
           {{"overlap", coin()},
            {"overlap_gathers", coin()},
            {"bucket", word({"25 MiB", "160 MB", "1 TB", "1001 B"})}}},
          {"fsdp_options",
           {{"reshard_after_forward", coin()},
            {"reshard_last_layer", coin()},
            {"root", coin()},
            {"copies", word({"none", "fsdp1", "fsdp2", "deepspeed"})}}}};
}

json machine_of(std::int64_t ranks) {
  const std::int64_t each = std::min<std::int64_t>(ranks, 8);
  return {{"preset", "hgx-h100"}, {"nodes", ranks / each}, {"devices_per_node", each}};
}

json random_placement() {
  const std::string inner = R"("tp","ep","cp")";
  return {{"order", json::parse(fmt::format("[{},{}]", inner,
                                            word({R"("fsdp","dp","pp")", R"("pp","fsdp","dp")",
                                                  R"("pp","dp","fsdp")"})))}};
}

Scenario random_scenario(bool mixes) {
  std::int64_t ranks = 1;
  json strategy = random_strategy(ranks), model = random_model();
  if (mixes) mix(model);
  if (model.contains("experts")) deal_experts(strategy, ranks);
  json scenario = {{"model", model},
                   {"workload",
                    {{"documents", random_documents()},
                     {"sequence_length", size({512, 1024})},
                     {"global_batch", size({64, 192})},
                     {"micro_batch", size({1, 2})},
                     {"precision", random_precision(mixes)},
                     {"flash_attention", coin()},
                     {"capacity_factor", size({0, 0, 2})},
                     {"gradient_clipping", coin()}}},
                   {"strategy", strategy},
                   {"kernels", {{"amax", word({"fused", "eager", "blocks"})}}},
                   {"cluster", machine_of(ranks)}};
  if (coin()) scenario["placement"] = random_placement();
  if (coin()) scenario["training"] = {{"tokens", size({1, 1 << 20, 1'000'000'000'000})}};
  return parse_scenario(scenario.dump(), "random.json");
}

json random_serving() {
  json out = {{"dtype", word({"bf16", "fp16", "fp32"})},
              {"products", word({"plain", "fp8"})},
              {"expert_parallel", coin()},
              {"engine",
               {{"max_num_batched_tokens", size({8192, 16384})},
                {"max_num_seqs", size({16, 1024})},
                {"block_size", size({16, 32})},
                {"max_model_len", size({4096, 8192})},
                {"gpu_memory_utilization", coin() ? 0.9 : 0.85},
                {"chunked_prefill", coin()},
                {"admission", word({"chunk", "prompt"})},
                {"cuda_graphs", coin()},
                {"custom_all_reduce", coin()},
                {"async_scheduling", coin()},
                {"enable_prefix_caching", coin()}}}};
  if (coin()) out["kv_cache"] = word({"bf16", "fp8"});
  if (coin()) out["state_cache"] = word({"bf16", "fp16", "fp32"});
  return out;
}

Scenario random_server() {
  const std::int64_t tp = size({1, 2, 4}), pp = size({1, 2}), dp = size({1, 2});
  const json scenario = {{"model", word({"mixtral-8x7b", "qwen3-30b-a3b"})},
                         {"serving", random_serving()},
                         {"strategy", {{"tp", tp}, {"pp", pp}, {"dp", dp}}},
                         {"cluster", machine_of(tp * pp * dp)}};
  return parse_scenario(scenario.dump(), "random.json");
}

/// One that serves and agrees with another in nothing but the machine.
BaseScenario other_server(const Scenario& scenario) {
  const json other = {{"model", "deepseek-v2-lite"},
                      {"serving",
                       {{"dtype", "fp16"},
                        {"kv_cache", "fp32"},
                        {"engine", {{"max_num_seqs", 77}, {"block_size", 8}}}}},
                      {"strategy", {{"tp", 1}}},
                      {"cluster", machine_of(scenario.cluster.world_size())}};
  return {other.dump(), "base.json"};
}

/// A scenario that agrees with another in nothing but, where that is to be kept, the machine.
BaseScenario other_scenario(const Scenario& scenario, bool same_machine) {
  const json cluster = same_machine ? machine_of(scenario.cluster.world_size())
                                    : json{{"preset", "dgx-a100"}, {"nodes", 3}};
  const json other = {
      {"model", {{"preset", "megatron-1.7b"}, {"dropout", 0.5}}},
      {"workload", {{"sequence_length", 77}, {"global_batch", 5}, {"precision", "fp16"}}},
      {"strategy", {{"recompute", "selective"}, {"data", {{"bucket", "7 MiB"}}}}},
      {"cluster", cluster}};
  return {other.dump(), "base.json"};
}

/// Where they can be had.
void list_layers_of_stages(const Scenario& s, json& pipeline) {
  const PipelineOptions& p = s.strategy.pipeline;
  const std::int64_t pieces = s.strategy.mesh[Axis::kPp] * p.chunks;
  if (p.stage_layers.empty() && !can_share_evenly(s.model.layers, pieces, p)) return;
  pipeline["stage_layers"] = first_layers(s.model.layers, pieces, p);
  for (const char* end : {"first_stage_layers", "last_stage_layers"}) pipeline.erase(end);
}

/// The canonical JSON, with dp and fsdp by what they hold, a model whatever its name, and a
/// placement and stages as the devices and the layers that they come to.
json values_of(const Scenario& s) {
  json out = json::parse(s.canonical_json);
  list_layers_of_stages(s, out["strategy"]["pipeline"]);
  out["kernels"] = json::parse(kernels_table().write(s.kernels));
  if (!s.placement.empty()) out["placement"] = s.placement;
  const Replicas r = replicas_of(s.strategy);
  out["strategy"]["dp"] = r.dp, out["strategy"]["fsdp"] = r.fsdp;
  out["model"].erase("name");
  return out;
}

/// Of llama.cpp: layers and experts on devices or not, over pp or tp of them.
Scenario random_desktop() {
  const std::int64_t devices = size({1, 2, 4}), layers = size({-1, 0, 5, 33});
  const bool rows = coin(), even = coin();
  json serving = random_serving();
  serving["engine"]["block_size"] = 16;
  serving["flash_attention"] = coin();
  serving["weights"] = serving["products"] != "plain" ? "plain" : word({"plain", "q4_0", "q8_0"});
  serving["layers"] = {{"deal", even ? "even" : "gpu_layers"},
                       {"cache_on_host", coin()},
                       {"host_experts", size({0, 0, 3})},
                       {"split", rows && coin() ? "row" : "layer"}};
  if (!even) serving["layers"]["gpu_layers"] = layers;
  const json scenario = {{"model", word({"mixtral-8x7b", "llama-2-7b"})},
                         {"serving", serving},
                         {"strategy", {{rows ? "tp" : "pp", devices}, {"dp", size({1, 2})}}}};
  json whole = scenario;
  whole["cluster"] = machine_of(devices * scenario["strategy"]["dp"].get<std::int64_t>());
  return parse_scenario(whole.dump(), "random.json");
}

enum class Task : std::uint8_t { kTrains, kServes, kServesAtHome };
Scenario random_of(Task task, Dialect dialect) {
  switch (task) {
    case Task::kTrains: return random_scenario(dialect == Dialect::kMegatronCore);
    case Task::kServes: return random_server();
    case Task::kServesAtHome: return random_desktop();
  }
  return {};
}

/// Null: as by default, where that is not written.
json written_at(const json& values, const std::string& path) {
  const json* found = value_at(values, path);
  return found == nullptr ? json() : *found;
}

/// Not all layouts are for all programs.
Settings settings_or_discard(const Scenario& scenario, Dialect dialect, Launcher launcher) {
  try {
    return settings_of(scenario, dialect, launcher);
  } catch (const InputError& e) {
    if (e.text().code == "D009") RC_DISCARD();
    throw;
  }
}

/// An import leaves out what has none.
bool has_effect(const std::string& path, const Strategy& s) {
  if (path == "strategy.data.overlap_gathers") return s.data.overlap;
  return path != "strategy.data.bucket" || s.zero_stage < 2;
}

void expect_same(Dialect dialect, Launcher launcher, Task task = Task::kTrains) {
  const bool serves = task != Task::kTrains;
  const Scenario scenario = random_of(task, dialect);
  const Settings settings = settings_or_discard(scenario, dialect, launcher);
  const std::string text = render(settings, launcher);
  RC_ASSERT(detect_dialect(text, "file") == dialect);
  const bool counts = std::ranges::count(settings.said, "cluster.nodes") != 0;
  const Imported imported = read_settings(text, "file", dialect);
  const BaseScenario base = serves ? other_server(scenario) : other_scenario(scenario, !counts);
  const Scenario back = parse_scenario(scenario_json(imported, "file", base, ""), "back.json");
  const json values = values_of(scenario), values_back = values_of(back);
  for (const std::string& path : settings.said) {
    const json expected = written_at(values, path), found = written_at(values_back, path);
    if (expected != found && has_effect(path, back.strategy)) {
      RC_FAIL(fmt::format("{}: {} became {}\n{}", path, expected.dump(), found.dump(), text));
    }
  }
}

RC_GTEST_PROP(RoundTrip, MegatronArguments, ()) {
  expect_same(Dialect::kMegatronCore, Launcher::kNone);
}
RC_GTEST_PROP(RoundTrip, MegatronScripts, ()) {
  expect_same(Dialect::kMegatronCore, *element(Launcher::kTorchrun, Launcher::kSlurm));
}
RC_GTEST_PROP(RoundTrip, DeepSpeed, ()) { expect_same(Dialect::kDeepSpeed, Launcher::kNone); }
RC_GTEST_PROP(RoundTrip, Accelerate, ()) { expect_same(Dialect::kAccelerate, Launcher::kNone); }
RC_GTEST_PROP(RoundTrip, Vllm, ()) { expect_same(Dialect::kVllm, Launcher::kNone); }
RC_GTEST_PROP(RoundTrip, VllmServing, ()) {
  expect_same(Dialect::kVllm, Launcher::kNone, Task::kServes);
}
RC_GTEST_PROP(RoundTrip, LlamaCpp, ()) {
  expect_same(Dialect::kLlamaCpp, Launcher::kNone, Task::kServesAtHome);
}

/// Each field of the format is said by an export, or listed, or has its default: none is lost in
/// silence.
TEST(RoundTrip, AMegatronScriptSaysAUsualScenarioButTheMachine) {
  const Scenario s = load_scenario(PLAIT_SOURCE_DIR "/scenarios/gpt3/gpt3-175b-64xa100.json");
  const Settings settings = settings_of(s, Dialect::kMegatronCore, Launcher::kSlurm);
  const std::vector<std::string> machine = {"cluster.node", "cluster.device", "cluster.fabric"};
  EXPECT_EQ(settings.unsaid, machine);
}

TEST(RoundTrip, WhatHasNoArgumentIsListed) {
  const Scenario s =
      load_scenario(PLAIT_SOURCE_DIR "/scenarios/gpt3/gpt3-175b-64xa100.json",
                    {{"strategy.pipeline.schedule", "zb-h1"}, {"strategy.pipeline.chunks", "1"}});
  const Settings settings = settings_of(s, Dialect::kMegatronCore, Launcher::kNone);
  EXPECT_EQ(std::ranges::count(settings.unsaid, "strategy.pipeline.schedule = zb-h1"), 1);
  EXPECT_NE(render(settings, Launcher::kNone).find("\n# not represented: strategy.pipeline"),
            std::string::npos);
}

}  // namespace plait::round_trip_test
