// Predictions beside measurements that others have published. Nothing is fitted to these rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "serving/capacity.h"
#include "serving/layer_maps.h"
#include "serving/serve.h"
#include "serving/step_costs.h"
#include "serving/summary.h"
#include "tests/serving/served.h"

namespace plait::published_test {

nlohmann::json published(const std::string& name) {
  std::ifstream in(std::string(PLAIT_SOURCE_DIR) + "/tests/serving/published/" + name);
  return nlohmann::json::parse(in);
}

ServiceSummary summary(const ServedModel& s, const Load& load, const EngineLimits& limits = {}) {
  StepCosts costs(s);
  const std::vector<Request> requests = draw_requests(load);
  ServerOptions options;
  options.limits = limits;
  options.blocks = 1 << 20, options.batches_in_flight = s.layout.mesh[Axis::kPp];
  const Service service =
      serve(requests, load, options,
            [&](const Step& step, std::size_t) -> const StepTime& { return costs(step); });
  return summarize(service, requests, load.kinds, s.cluster.world_size(), 1);
}

// Time per token over tensor parallelism, of users who ask again when answered.
TEST(PublishedServing, TimePerTokenOverTensorParallelism) {
  const nlohmann::json file = published("tpot.json");
  for (const auto& row : file.at("rows")) {
    ServedModel s = served({.tp = row["tp"], .model = row["model"], .cluster = row["cluster"]});
    const bool vllm = row["engine"] == "vllm";
    s.costs.engine_all_reduce = vllm ? EngineReduce::kVllm : EngineReduce::kTensorRtLlm;
    s.precision.fused_elementwise = !vllm;
    if (!row.contains("bf16")) s.precision.products = DType::kFp8;
    Load load;
    load.arrivals = Arrivals::kClosed, load.concurrency = row["concurrency"];
    load.count = 4 * load.concurrency;
    load.kinds = {{"all", 1, row["prompt_tokens"], row["output_tokens"], 0}};
    // Users out of step, as independent ones are in the long run: their first requests are spread
    // over the time that one takes.
    const double users = static_cast<double>(load.concurrency);
    load.ramp = summary(s, load).all.end_to_end.mean / users;
    const double predicted = summary(s, load).all.per_token.mean.value * 1e3;
    const double error = predicted / row["tpot_ms"].get<double>() - 1;
    fmt::print("{:7} {:14} {:9} tp {}: {:6.2f} ms, measured {:6.2f}, {:+5.1f} %\n",
               row["engine"].get<std::string>(), row["model"].get<std::string>(),
               row["cluster"].get<std::string>(), row["tp"].get<int>(), predicted,
               row["tpot_ms"].get<double>(), 100 * error);
    EXPECT_LT(std::abs(error), vllm ? 0.10 : 0.15);
  }
}

/// Prints a row and returns its relative error.
double compared(const std::string& what, double predicted, double measured) {
  const double error = predicted / measured - 1;
  fmt::print("{:44} {:9.4g}, measured {:9.4g}, {:+5.1f} %\n", what, predicted, measured,
             100 * error);
  return error;
}

/// One device on PCIe, or several, with a processor.
ServedModel on_pcie(const Model& model, const std::string& device, std::int64_t devices,
                    const std::string& processor) {
  ServedModel s;
  s.model = model;
  s.layout.mesh[Axis::kPp] = devices;
  ClusterSpec spec;
  spec.preset = "rtx-4090-8", spec.devices_per_node = devices, spec.device = find_device(device);
  s.cluster = make_cluster(spec);
  if (!processor.empty()) s.costs.machine.processor = find_device(processor);
  s.graphs = false;
  return s;
}

Step one_token(std::int64_t context) { return {{}, {1, 1, context}, 1}; }

/// In Q4_0 by llama.cpp of 2023 and 2024, on the machine of its llama-bench.
ServedModel in_q4_0(const char* model) {
  ServedModel s = on_pcie(*find_preset(model), "rtx-3090-ti", 1, "core-i9-13900k");
  s.precision.activations = s.precision.kv_cache = DType::kFp16;
  s.precision.weights = WeightFormat::kQ4_0, s.precision.head = WeightFormat::kQ6K;
  s.precision.fused_attention = false;
  s.costs.kernels.qkv = s.costs.kernels.gate = s.costs.kernels.activation = Fusion::kEager;
  return s;
}

// llama.cpp: what is on the processor takes its bytes over DRAM's bandwidth.
TEST(PublishedServing, TokensPerSecondOverGpuLayers) {
  ServedModel s = in_q4_0("llama-2-7b");
  const nlohmann::json file = published("llama-bench.json");
  for (const auto& row : file.at("rows")) {
    LayerRule rule;
    rule.dealing = Dealing::kGpuLayers;
    rule.gpu_layers = row["gpu_layers"], rule.cache_on_host = row["cache_on_host"];
    s.layout.map = deal_layers(s, rule, {}, {});
    const double seconds = to_seconds(time_step(s, one_token(64)).total()).value;
    const double error = compared(fmt::format("llama-bench tg128, ngl {}", rule.gpu_layers),
                                  1 / seconds, row["tg128"]);
    // Where both processors work: docs/serving.md says what is not described.
    const bool mixed = rule.gpu_layers > 0 && rule.cache_on_host;
    if (!mixed) {
      EXPECT_LT(std::abs(error), 0.15);
    }
  }
}

// The same of 2026.
TEST(PublishedServing, TokensPerSecondOverGpuLayersOfToday) {
  ServedModel s = on_pcie(*find_preset("qwen-2.5-14b"), "rtx-5060-ti", 1, "core-i7-8700");
  s.costs.machine.processor.memory_bandwidth = BytesPerSecond(38.4e9);  // DDR4-2400
  s.precision.activations = s.precision.kv_cache = DType::kFp16;
  s.precision.weights = WeightFormat::kQ4KM, s.precision.head = WeightFormat::kQ6K;
  s.costs.kernels.qkv = Fusion::kEager;
  const nlohmann::json file = published("llama-ngl.json");
  for (const auto& row : file.at("rows")) {
    LayerRule rule;
    rule.dealing = Dealing::kGpuLayers, rule.gpu_layers = row["gpu_layers"];
    s.layout.map = deal_layers(s, rule, {}, {});
    const double seconds = to_seconds(time_step(s, one_token(64)).total()).value;
    const double error = compared(fmt::format("qwen-2.5-14b, rtx-5060-ti, ngl {}", rule.gpu_layers),
                                  1 / seconds, row["generation"]);
    EXPECT_LT(std::abs(error), 0.15);
  }
}

// Prompts: layers off the device are copied to it, from the mapped file.
TEST(PublishedServing, PromptsOverGpuLayers) {
  ServedModel s = in_q4_0("llama-2-70b");
  copy_pageable(s.cluster);
  const nlohmann::json file = published("llama-prompts.json");
  for (const auto& row : file.at("rows")) {
    LayerRule rule;
    rule.dealing = Dealing::kGpuLayers, rule.gpu_layers = row["gpu_layers"];
    s.layout.map = deal_layers(s, rule, {}, {});
    for (const std::int64_t tokens : {512, 1024}) {
      const double seconds = to_seconds(time_step(s, {{1, tokens, tokens}, {}, 1}).total()).value;
      const std::string key = fmt::format("pp{}", tokens);
      const double error =
          compared(fmt::format("llama-2-70b {}, rtx-3090-ti, ngl {}", key, rule.gpu_layers),
                   static_cast<double>(tokens) / seconds, row[key]);
      // 29 GB and more of the file come at 6.5 GB/s, less at 9.3: docs/serving.md. Products are
      // those of today's release.
      EXPECT_LT(std::abs(error), rule.gpu_layers < 30 ? 0.56 : 0.15);
    }
  }
}

// llama.cpp's --n-cpu-moe. Prompts: each micro-batch copies the experts of those layers. The
// processor of the machine is not stated.
TEST(PublishedServing, TokensPerSecondWithExpertsInHostMemory) {
  ServedModel s = on_pcie(*find_preset("gpt-oss-120b"), "rtx-3090", 1, "core-i9-13900k");
  s.precision.experts = WeightFormat::kMxfp4, s.precision.fused_experts = false;
  LayerRule rule;
  rule.dealing = Dealing::kGpuLayers, rule.gpu_layers = 99;
  const nlohmann::json file = published("llama-experts.json");
  for (const auto& row : file.at("rows")) {
    rule.host_experts = row["host_experts"];
    s.layout.map = deal_layers(s, rule, {}, {});
    const std::int64_t step = row["step_tokens"], prompt = row["prompt_tokens"];
    SimTime prefill = 0;
    for (std::int64_t at = step; at <= prompt; at += step)
      prefill += time_step(s, {{1, step, at}, {}, at == prompt ? 1 : 0}).total();
    const std::string what = fmt::format("gpt-oss-120b, experts of {} layers", rule.host_experts);
    const double per_token = to_seconds(time_step(s, one_token(64)).total()).value;
    EXPECT_LT(std::abs(compared(what + ", tokens per second", 1 / per_token, row["generation"])),
              0.10);
    const double prompts = static_cast<double>(prompt) / to_seconds(prefill).value;
    const double error =
        compared(fmt::format("{}, prompts by {}", what, step), prompts, row["prefill"]);
    // Real tokens of small steps meet fewer of the experts than tokens that choose freely.
    if (step >= 2048) {
      EXPECT_LT(std::abs(error), 0.15);
    }
  }
}

Model opt_30b() {
  Model m;
  m.name = "opt-30b";
  m.layers = 48, m.hidden = 7168, m.ffn_hidden = 28672, m.heads = m.kv_heads = 56;
  m.head_dim = 128, m.vocab = 50272, m.max_positions = 2050;
  m.norm = NormKind::kLayerNorm, m.activation = ActivationKind::kRelu, m.gated_mlp = false;
  m.positions = PositionKind::kLearned, m.tied_embeddings = true;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  return m;
}
Model gpt_neox_20b() {
  Model m = opt_30b();
  m.name = "gpt-neox-20b";
  m.layers = 44, m.hidden = 6144, m.ffn_hidden = 24576, m.heads = m.kv_heads = 64, m.head_dim = 96;
  m.vocab = 50432, m.activation = ActivationKind::kGelu, m.positions = PositionKind::kRotary;
  m.tied_embeddings = false;
  return m;
}

/// Layers on each GPU and in host memory are those that the row shows: between what they weigh and
/// a layer more, since embedding, masks and rounding are in the row too.
void expect_dealt(const ServedModel& s, const nlohmann::json& on_gpus, double host,
                  std::int64_t type) {
  const double layer =
      static_cast<double>(count_parameters(s.model).layer * type) / (1000.0 * (1 << 20));
  const auto weight = [&](const LayerPlace& place) {
    return layer * static_cast<double>(std::ranges::count(s.layout.map.layers, place));
  };
  for (std::int32_t stage = 0; stage < 2; ++stage) {
    const double shown = on_gpus[static_cast<std::size_t>(stage)];
    EXPECT_NEAR(weight({stage, Residence::kDevice}), shown - layer / 2, layer / 2 + 0.1) << stage;
  }
  EXPECT_NEAR(weight({0, Residence::kHost}), host, 0.5);
}

// Accelerate: what is not on a device crosses PCIe, and perhaps the drive, for every token.
TEST(PublishedServing, SecondsPerTokenOfADeviceMap) {
  const nlohmann::json file = published("accelerate.json");
  for (const auto& row : file.at("rows")) {
    const bool opt = row["model"] == "opt-30b";
    ServedModel s = on_pcie(opt ? opt_30b() : gpt_neox_20b(), "titan-rtx", 2, "");
    copy_pageable(s.cluster);
    s.costs.machine.storage_bandwidth = BytesPerSecond(3.5e9);
    const DType type = row["dtype"] == "fp16" ? DType::kFp16 : DType::kFp32;
    s.precision.activations = s.precision.kv_cache = type;
    s.precision.fused_attention = false;
    // Up to half of the last digit that is given.
    const auto bytes = [](double thousand_mib) {
      return Bytes(static_cast<std::int64_t>((thousand_mib + 0.05) * 1000 * (1 << 20)));
    };
    LayerRule rule;
    rule.dealing = Dealing::kSequential;
    rule.device_memory = bytes(file["gpu"]);
    // What is used, and the room for a layer that Accelerate keeps besides.
    const Bytes layer(count_parameters(s.model).layer * size_of(type));
    rule.host_memory = bytes(row["host"]) + layer;
    s.layout.map = deal_layers(s, rule, {}, {});
    const double seconds = to_seconds(time_step(s, one_token(64)).total()).value;
    const double error = compared(fmt::format("device_map {} {}", row["model"].get<std::string>(),
                                              row["dtype"].get<std::string>()),
                                  seconds, row["seconds_per_token"]);
    EXPECT_LT(std::abs(error), 0.17);
    expect_dealt(s, row["on_gpus"], row["host"], size_of(type));
  }
}

// TensorRT-LLM: throughput over pipeline stages, 3,000 requests of one length asked at once, as the
// page has it. Sequences are admitted where there is room for all of their tokens
// (GUARANTEED_NO_EVICT). Products run at the data sheet's fp4 rate, a type that plans do not have:
// twice fp8.
TEST(PublishedServing, ThroughputOverPipelineStages) {
  const nlohmann::json file = published("pipeline.json");
  double first = 0, measured_first = 0;
  for (const auto& row : file.at("rows")) {
    const std::int64_t pp = row["pp"];
    ServedModel s = on_pcie(*find_preset("llama-3.1-70b"), "rtx-pro-6000", pp, "");
    s.cluster.device.peak_bf16 = s.cluster.device.peak_fp8 * 2;
    s.layout.map = even_layers(s.model.layers, pp);
    s.precision.weights = WeightFormat::kInt4, s.precision.kv_cache = DType::kFp8;
    s.precision.fused_elementwise = true;
    EngineLimits limits;
    limits.max_context = 2000;
    limits.max_tokens = 2048;  // what trtllm-bench chooses (bench/build/tuning.py)
    limits.engine = ServingEngine::kTensorRtLlm;
    Load load;
    load.arrivals = Arrivals::kClosed;
    load.kinds = {{"all", 1, 1000, 1000, 0}};
    load.concurrency = load.count = 3000;
    const CacheCapacity capacity = cache_capacity(s, limits, {});
    limits.max_sequences = static_cast<std::int64_t>(capacity.concurrency(limits));
    const double rate = summary(s, load, limits).output_tokens_per_s;
    const double measured = row["tokens_per_s"];
    if (pp == 1) first = rate, measured_first = measured;
    compared(fmt::format("pp {}: {} sequences, tokens/s", pp, limits.max_sequences), rate,
             measured);
    const double error = compared("  over pp 1", rate / first, measured / measured_first);
    if (pp <= 2) {
      EXPECT_LT(std::abs(error), 0.10);
    }
  }
}

}  // namespace plait::published_test
