// What profiles of frameworks fill in.
#include "scenarios/framework.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "scenarios/scenario.h"

namespace plait::framework_test {

std::string scenario_with(const std::string& more) {
  return R"({"framework": "megatron-lm-2021", "model": "gpt2", "cluster": "dgx-a100",
             "workload": {"sequence_length": 1024, "global_batch": 8)" +
         more + "}}";
}

TEST(Framework, FillsInWhatTheScenarioDoesNotSay) {
  EXPECT_FALSE(parse_scenario(scenario_with(""), "x").workload.flash_attention);
  EXPECT_TRUE(
      parse_scenario(scenario_with(R"(, "flash_attention": true)"), "x").workload.flash_attention);
}

TEST(Framework, MessagesNameItAsThePlaceOfWhatItSays) {
  const Scenario s = parse_scenario(scenario_with(""), "x");
  const Json* fused = s.source->root().find_path("workload.flash_attention");
  ASSERT_NE(fused, nullptr);
  EXPECT_EQ(fused->where().file, "framework megatron-lm-2021");
}

// torchtitan's tensor parallelism shards norms and residuals along the sequence.
TEST(Framework, TorchtitanSplitsLayersAlongTheSequenceToo) {
  const auto read = [](const std::string& strategy) {
    const std::string text = R"({"model": "gpt2", "cluster": "dgx-a100", "framework": "torchtitan",
        "workload": {"sequence_length": 1024, "global_batch": 8}, "strategy": )" +
                             strategy + "}";
    return parse_scenario(text, "x");
  };
  EXPECT_TRUE(read(R"({"tp": 2, "fsdp": 4})").strategy.sequence_parallel);
  EXPECT_FALSE(
      read(R"({"tp": 2, "fsdp": 4, "sequence_parallel": false})").strategy.sequence_parallel);
  const Scenario whole = read(R"({"fsdp": 8})");
  EXPECT_FALSE(whole.strategy.sequence_parallel);
  EXPECT_TRUE(whole.warnings.empty());
}

// DeepSpeed's profiles keep a weight shard, which only stage 3 has: layouts of that stage have it
// from a scenario of another one.
TEST(Framework, AHabitOfShardedWeightsDoesNothingWithoutThem) {
  const auto read = [](const std::string& strategy) {
    const std::string text = R"({"model": "gpt2", "cluster": "dgx-a100",
        "workload": {"sequence_length": 1024, "global_batch": 8}, )" +
                             strategy + "}";
    return parse_scenario(text, "x");
  };
  const auto shards = [](const Scenario& s) {
    const Plan plan = make_plan(s.model, s.workload, s.strategy);
    return std::ranges::any_of(plan.tensors,
                               [](const Tensor& t) { return t.name.ends_with(".weight_shard"); });
  };
  const std::string deepspeed = R"("framework": "deepspeed-zero3", "strategy": {"zero_stage": )";
  Scenario two = read(deepspeed + "2}");
  EXPECT_TRUE(shards(read(deepspeed + "3}")));
  EXPECT_FALSE(shards(two));
  EXPECT_TRUE(two.warnings.empty());
  two.strategy.zero_stage = 3;
  EXPECT_TRUE(shards(two));
  const Scenario written = read(R"("strategy": {"zero_stage": 2, "keep_weight_shard": true})");
  EXPECT_FALSE(shards(written));
  ASSERT_EQ(written.warnings.size(), 1U);
  EXPECT_TRUE(
      printed(written.warnings[0]).starts_with("W001: strategy.keep_weight_shard has no effect"));
}

// PyTorch's FSDP moves parameters with their optimizer. What the Trainer runs with the optimizer
// alone on the host is DeepSpeed, which keeps shards of weights on the device (else S101).
TEST(Framework, TheOptimizerAloneOnTheHostIsDeepSpeeds) {
  const auto of = [](const std::string& framework, const std::string& offload) {
    const std::string text = R"({"model": "gpt2", "cluster": "dgx-a100", "framework": ")" +
                             framework + R"(", "strategy": {"fsdp": 8, "offload": )" + offload +
                             R"(}, "workload": {"sequence_length": 1024, "global_batch": 8}})";
    return parse_scenario(text, "x");
  };
  for (const char* named : {"pytorch", "transformers"}) {
    for (const char* alone : {R"("cpu")", R"({"optimizer": "nvme", "parameters": "none"})"}) {
      const Scenario s = of(named, alone);
      EXPECT_EQ(s.framework, "deepspeed-zero3") << named;
      EXPECT_TRUE(s.strategy.keep_weight_shard) << named;
      ASSERT_EQ(s.warnings.size(), 1) << named;
      EXPECT_TRUE(printed(s.warnings[0]).starts_with("W025: strategy.offload.optimizer"))
          << s.warnings[0].text;
      EXPECT_EQ(s.canonical_json, of("deepspeed-zero3", alone).canonical_json);
    }
    for (const char* other : {R"({"optimizer": "cpu", "parameters": "cpu"})", R"("none")",
                              R"({"activations": "cpu"})"}) {
      EXPECT_EQ(of(named, other).framework, named) << other;
      for (const Warning& w : of(named, other).warnings) EXPECT_NE(w.code, "W025");
    }
  }
}

// What the Trainer runs from a ds_config.json is no FSDP: gradients are reduced in each microbatch,
// and buckets and optimizer are DeepSpeed's.
TEST(Framework, CopiesOfDeepSpeedAreDeepSpeeds) {
  const auto of = [](const std::string& framework, const std::string& copies) {
    const std::string text = R"({"model": "gpt2", "cluster": "dgx-a100", "framework": ")" +
                             framework +
                             R"(", "strategy": {"fsdp": 8, "fsdp_options": {"copies": ")" + copies +
                             R"("}}, "workload": {"sequence_length": 1024,
                             "global_batch": 16, "micro_batch": 1}})";
    return parse_scenario(text, "x");
  };
  for (const char* named : {"pytorch", "transformers"}) {
    const Scenario s = of(named, "deepspeed");
    EXPECT_EQ(s.framework, "deepspeed-zero3") << named;
    EXPECT_EQ(s.strategy.fsdp.no_sync, NoSync::kNever) << named;
    ASSERT_EQ(s.warnings.size(), 1) << named;
    EXPECT_TRUE(printed(s.warnings[0]).starts_with("W025: strategy.fsdp_options.copies"))
        << s.warnings[0].text;
    EXPECT_EQ(s.canonical_json, of("deepspeed-zero3", "deepspeed").canonical_json);
    EXPECT_EQ(of(named, "fsdp1").framework, named);
  }
}

TEST(Framework, AnotherProgramIsAProfileToo) {
  for (const Framework& f : frameworks()) {
    for (const FrameworkInstead& other : f.instead) {
      EXPECT_NE(find_framework(other.profile), nullptr) << f.name;
      EXPECT_FALSE(other.where.empty() || other.source.empty()) << f.name;
    }
  }
}

TEST(Framework, AShortFormStaysWhatItSays) {
  const Scenario s = parse_scenario(scenario_with(R"(, "precision": "bf16")"), "x");
  EXPECT_EQ(s.workload.precision.weights, DType::kBf16);
  EXPECT_EQ(s.workload.precision.gradients, DType::kFp16) << "from the profile";
}

// Megatron-LM sets accumulate_allreduce_grads_in_fp32 with bf16 alone.
TEST(Framework, SomeDefaultsAreOthersWithFp16) {
  const auto gradients = [](const std::string& precision) {
    return parse_scenario(R"({"framework": "megatron-lm", "model": "gpt2", "cluster": "dgx-a100",
               "workload": {"sequence_length": 1024, "global_batch": 8)" +
                              precision + "}}",
                          "fp16")
        .workload.precision.gradients;
  };
  EXPECT_EQ(gradients(""), DType::kFp32);
  EXPECT_EQ(gradients(R"(, "precision": "bf16")"), DType::kFp32);
  EXPECT_EQ(gradients(R"(, "precision": "fp16")"), DType::kFp16);
  EXPECT_EQ(gradients(R"(, "precision": {"weights": "fp16"})"), DType::kFp16);
  EXPECT_EQ(gradients(R"(, "precision": {"weights": "fp16", "gradients": "fp32"})"), DType::kFp32);
}

// Megatron-LM's default is a habit of GPTs that one writes out; a preset says what the model has.
TEST(Framework, LeavesPresetsAsTheyAre) {
  const auto dropout = [](const std::string& model) {
    return parse_scenario(R"({"framework": "megatron-lm", "cluster": "dgx-a100", "model": )" +
                              model + R"(, "workload": {"sequence_length": 1024,
                              "global_batch": 8}})",
                          "x")
        .model.dropout;
  };
  const std::string sizes = R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 512})";
  EXPECT_EQ(dropout(sizes), 0.1);
  EXPECT_EQ(dropout(R"("llama-3-8b")"), 0);
  EXPECT_EQ(dropout(R"({"preset": "llama-3-8b"})"), 0);
  EXPECT_EQ(dropout(R"({"preset": "llama-3-8b", "dropout": 0.2})"), 0.2);
}

TEST(Framework, IsCalledAsItsFile) {
  std::vector<std::string> called;
  for (const Framework& f : frameworks()) called.push_back(f.name);
  EXPECT_EQ(called, framework_names());
  EXPECT_GT(called.size(), 5U);
}

/// Blocks of one range of addresses, as PyTorch's allocator places them in an expandable segment:
/// in the smallest hole that fits, else at the end.
class Range {
 public:
  void add(const std::string& name, int size) {
    const int none = end_ + size;
    int best = none, begin = 0, at = end_;
    const auto look = [&](int until) {
      const int hole = until - begin;
      if (until < end_ && hole >= size && hole < best) best = hole, at = begin;
    };
    for (const auto& [from, block] : blocks_) look(from), begin = from + block.second;
    if (best == none) at = begin;
    blocks_[at] = {name, size};
    end_ = std::max(end_, at + size);
    most_ = std::max(most_, live());
  }
  void drop(const std::string& name) {
    std::erase_if(blocks_, [&](const auto& b) { return b.second.first == name; });
  }
  int held() const { return end_; }
  int most_live() const { return most_; }

 private:
  int live() const {
    int sum = 0;
    for (const auto& [from, block] : blocks_) sum += block.second;
    return sum;
  }
  std::map<int, std::pair<std::string, int>> blocks_;  // by address
  int end_ = 0, most_ = 0;
};

constexpr int kPlanned = 2 + 4;  // bytes per logit that a plan has: in 16 bits and in fp32

FrameworkMemory memory_of_torchtitan() {
  return parse_scenario(R"({"framework": "torchtitan", "model": "gpt2", "cluster": "dgx-a100",
             "workload": {"sequence_length": 1024, "global_batch": 8}})",
                        "torchtitan")
      .memory;
}

// torch.nn.functional.cross_entropy(pred.float(), labels), del pred, loss.backward().
TEST(Framework, TorchtitansLossHoldsItsLogitsThreeTimes) {
  Range r;
  r.add("pred", 2), r.add("float", 4), r.add("log_softmax", 4);
  r.drop("float"), r.drop("pred");
  r.add("gradient of nll_loss", 4), r.add("gradient of log_softmax", 4);
  const FrameworkMemory m = memory_of_torchtitan();
  EXPECT_EQ(m.loss_bytes_per_logit, r.most_live() - kPlanned);
  EXPECT_EQ(m.loss_gap_bytes_per_logit, r.held() - r.most_live());
}

// _log_softmax and _nll_loss_and_log_softmax_backward of torch/distributed/tensor/parallel/loss.py.
TEST(Framework, TorchtitansLossOverSharesOfTheVocabularyHoldsThemFourTimes) {
  Range r;
  r.add("pred", 2), r.add("float", 4), r.add("shifted", 4), r.add("exp", 4);
  r.drop("exp"), r.add("result", 4);
  for (const char* gone : {"shifted", "float", "pred"}) r.drop(gone);
  r.add("grad_input", 4), r.add("exp", 4), r.add("sum", 4);
  r.drop("exp"), r.add("product", 4);
  const FrameworkMemory m = memory_of_torchtitan();
  EXPECT_EQ(m.split_loss_bytes_per_logit, r.most_live() - kPlanned);
  EXPECT_EQ(m.loss_gap_bytes_per_logit, r.held() - r.most_live());
}

// OneFlow has one stream for kernels and collectives where the model is split, else two.
// The planner of adapters keeps masters whole (S162), and no default may ask for halves.
TEST(Framework, SomeDefaultsAreNotBesideAdapters) {
  const auto halves = [](const std::string& more) {
    return parse_scenario(R"({"framework": "nemo-launcher", "model": "llama-2-7b",
        "cluster": "hgx-h100", "workload": {"sequence_length": 4096, "global_batch": 8)" +
                              more + "}}",
                          "x")
        .workload.precision.split_master;
  };
  EXPECT_TRUE(halves(""));
  EXPECT_FALSE(halves(R"(, "lora": {"rank": 8})"));
}

TEST(Framework, SomeDefaultsAskForSplitModels) {
  const auto overlaps = [](const char* strategy) {
    const std::string text = std::string(R"({"framework": "oneflow", "model": "gpt2",
        "cluster": "dgx-a100", "workload": {"sequence_length": 1024, "global_batch": 8},
        "strategy": )") + strategy +
                             "}";
    return parse_scenario(text, "oneflow").strategy.data.overlap;
  };
  EXPECT_TRUE(overlaps(R"({"dp": 8})"));
  EXPECT_TRUE(overlaps(R"({"dp": 8, "tp": 1})"));
  EXPECT_FALSE(overlaps(R"({"dp": 4, "tp": 2})"));
  EXPECT_FALSE(overlaps(R"({"dp": 4, "pp": 2})"));
  EXPECT_TRUE(overlaps(R"({"dp": 4, "tp": 2, "data": {"overlap": true}})"));
}

// 21.8 us on a DGX H100's host, 1.4 times as long on a DGX A100's.
TEST(Framework, ItsTimesAreLongerOnSlowerHosts) {
  const auto host = [](const std::string& cluster, const std::string& own) {
    return parse_scenario(R"({"framework": "megatron-lm-2021", "model": "gpt2", "cluster": )" +
                              cluster + own + R"(, "strategy": {"dp": 8},
            "workload": {"sequence_length": 1024, "global_batch": 8}})",
                          "host")
        .host;
  };
  const std::string h100 = R"("hgx-h100")", a100 = R"("dgx-a100")";
  EXPECT_DOUBLE_EQ(host(h100, "").launch_time.value, 21.8e-6);
  EXPECT_DOUBLE_EQ(host(h100, "").collective_time.value, 89e-6);
  EXPECT_DOUBLE_EQ(host(a100, "").launch_time.value, 1.4 * 21.8e-6);
  EXPECT_DOUBLE_EQ(host(a100, "").collective_time.value, 1.4 * 89e-6);
  const std::string mixed = R"({"preset": "hgx-h100", "nodes": 2,
      "other_nodes": [{"nodes": [1, 1], "preset": "dgx-a100"}], "devices_per_node": 4})";
  EXPECT_DOUBLE_EQ(host(mixed, "").launch_time.value, 1.4 * 21.8e-6) << "the slowest";
  const Host measured = host(a100, R"(, "host": "20 us")");
  EXPECT_DOUBLE_EQ(measured.launch_time.value, 20e-6) << "what the scenario says stands";
  EXPECT_DOUBLE_EQ(measured.collective_time.value, 20e-6);
  const Host apart = host(a100, R"(, "host": {"collective_time": "50 us"})");
  EXPECT_DOUBLE_EQ(apart.launch_time.value, 1.4 * 21.8e-6);
  EXPECT_DOUBLE_EQ(apart.collective_time.value, 50e-6);
}

TEST(Framework, EveryProfileCanBeUsedAndHasSources) {
  for (const Framework& f : frameworks()) {
    const std::string text = R"({"framework": ")" + f.name +
                             R"(", "model": "gpt2", "cluster": "dgx-a100",
        "strategy": {"dp": 8, "zero_stage": 1},
        "workload": {"sequence_length": 1024, "global_batch": 8}})";
    EXPECT_NO_THROW(parse_scenario(text, f.name)) << f.name;
    for (const FrameworkDefault& d : f.defaults) EXPECT_FALSE(d.source.empty()) << d.path;
  }
}

}  // namespace plait::framework_test
