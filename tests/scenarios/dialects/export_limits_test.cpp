// What a program refuses is not written, and what it can do is.

#include "tests/scenarios/dialects/exported.h"

namespace plait::export_limits_test {

using export_test::scenario_at;

constexpr const char* kDense = "llama/llama-3.1-8b-8xh100-fsdp";

Settings settings_of(Dialect dialect, const std::vector<Override>& changes) {
  return plait::settings_of(scenario_at(kDense, changes), dialect, Launcher::kNone);
}
/// "-" where it is not written.
std::string value_of(const Settings& settings, const std::string& key) {
  const auto found = std::ranges::find(settings.settings, key, &Setting::key);
  return found == settings.settings.end() ? "-" : found->value;
}
bool lists(const Settings& settings, const std::string& field) {
  return std::ranges::count(settings.unsaid, field) == 1;
}

TEST(ExportTorchtitan, SchedulesHaveTheNamesOfPyTorch) {
  const auto schedule = [](const char* name) {
    const Settings s = settings_of(Dialect::kTorchtitan, {{"strategy.pp", "4"},
                                                          {"strategy.fsdp", "2"},
                                                          {"strategy.pipeline.chunks", "2"},
                                                          {"strategy.pipeline.schedule", name}});
    return value_of(s, "pipeline_parallel_schedule");
  };
  EXPECT_EQ(schedule("interleaved"), "\"Interleaved1F1B\"");
  EXPECT_EQ(schedule("zb-v"), "\"ZBVZeroBubble\"");
  EXPECT_EQ(schedule("dualpipe-v"), "-");
}

// torchtitan/distributed/fsdp.py: "default" is not to reshard where there are pipeline stages.
TEST(ExportTorchtitan, InAPipelineWeightsAreGatheredAgainWhereThatIsSaid) {
  const auto settings = [](const char* pp, const char* fsdp, const char* last) {
    return settings_of(Dialect::kTorchtitan,
                       {{"strategy.pp", pp},
                        {"strategy.fsdp", fsdp},
                        {"strategy.zero_stage", "3"},
                        {"strategy.fsdp_options.reshard_after_forward", "true"},
                        {"strategy.fsdp_options.reshard_last_layer", last}});
  };
  const char* const key = "fsdp_reshard_after_forward";
  const std::string field = "strategy.fsdp_options.reshard_last_layer = false";
  EXPECT_EQ(value_of(settings("1", "8", "false"), key), "\"default\"");
  EXPECT_FALSE(lists(settings("1", "8", "false"), field));
  EXPECT_EQ(value_of(settings("4", "2", "false"), key), "\"always\"");
  EXPECT_TRUE(lists(settings("4", "2", "false"), field));
  EXPECT_EQ(value_of(settings("4", "2", "true"), key), "\"always\"");
}

// parallelize.py: "DDP has not supported > 1D parallelism".
TEST(ExportTorchtitan, ReplicasGoWithNoOtherParallelism) {
  const std::vector<Override> whole = {{"strategy.zero_stage", "0"}, {"strategy.fsdp", "1"}};
  std::vector<Override> alone = whole, split = whole;
  alone.push_back({"strategy.dp", "8"});
  split.insert(split.end(), {{"strategy.dp", "4"}, {"strategy.tp", "2"}});
  EXPECT_EQ(value_of(settings_of(Dialect::kTorchtitan, alone), "data_parallel_replicate_degree"),
            "8");
  const Settings refused = settings_of(Dialect::kTorchtitan, split);
  EXPECT_EQ(value_of(refused, "data_parallel_replicate_degree"), "-");
  EXPECT_TRUE(lists(refused, "strategy.dp = 4"));
  EXPECT_TRUE(lists(refused, "strategy.zero_stage = 0"));
}

// parallelize.py, apply_tp: SequenceParallel of every norm.
TEST(ExportTorchtitan, TensorParallelismIsAlongTheSequenceToo) {
  const auto listed = [](const char* tp, const char* along) {
    return lists(settings_of(Dialect::kTorchtitan, {{"strategy.tp", tp},
                                                    {"strategy.fsdp", "4"},
                                                    {"strategy.sequence_parallel", along}}),
                 std::string("strategy.sequence_parallel = ") + along);
  };
  EXPECT_TRUE(listed("2", "false"));
  EXPECT_FALSE(listed("2", "true"));
  EXPECT_FALSE(listed("1", "false"));
}

// parallelize.py: the sequence is a multiple of seq_len_divisor, 2 * tp * cp.
TEST(ExportTorchtitan, ASequenceHasPiecesForAllItsRanks) {
  const auto exported = [](const char* length) {
    return settings_of(Dialect::kTorchtitan, {{"strategy.tp", "2"},
                                              {"strategy.cp", "2"},
                                              {"strategy.fsdp", "2"},
                                              {"strategy.sequence_parallel", "true"},
                                              {"workload.sequence_length", length}});
  };
  EXPECT_EQ(value_of(exported("4104"), "seq_len"), "4104");
  try {
    exported("4100");
    FAIL() << "8 does not divide 4,100";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "D009");
    EXPECT_EQ(e.text().cure, "--set workload.sequence_length=4104");
  }
}

TEST(ExportTorchtitan, StateInHostMemoryAndProductsBesideTrafficAreSwitches) {
  const Settings s = settings_of(Dialect::kTorchtitan, {{"strategy.offload.optimizer", "cpu"},
                                                        {"strategy.offload.parameters", "cpu"},
                                                        {"strategy.fsdp", "4"},
                                                        {"strategy.tp", "2"},
                                                        {"strategy.sequence_parallel", "true"},
                                                        {"strategy.tensor.overlap", "ring"}});
  for (const char* key : {"enable_cpu_offload", "enable_async_tensor_parallel", "compile"}) {
    EXPECT_EQ(value_of(s, key), "true") << key;
  }
  const Settings plain = settings_of(Dialect::kTorchtitan, {{"kernels.norm", "eager"}});
  for (const char* key : {"enable_cpu_offload", "enable_async_tensor_parallel", "compile"}) {
    EXPECT_EQ(value_of(plain, key), "-") << key;
  }
}

// Four ranks of data parallelism, two of which have different experts.
TEST(ExportTorchtitan, ExpertsAreOnRanksThatShard) {
  const Scenario s = scenario_at("gpt-oss/gpt-oss-20b-8xh100-fsdp",
                                 {{"strategy.ep", "2"}, {"strategy.fsdp", "4"}});
  const Settings settings = plait::settings_of(s, Dialect::kTorchtitan, Launcher::kNone);
  EXPECT_EQ(value_of(settings, "expert_parallel_degree"), "2");
  EXPECT_EQ(value_of(settings, "data_parallel_shard_degree"), "8");
}

const std::vector<Override> kReplicas = {{"strategy.fsdp", "1"}, {"strategy.dp", "8"}};

// Accelerate has stages 1 and 2 by DeepSpeed alone.
TEST(ExportAccelerate, OptimizerStateIsShardedByDeepSpeed) {
  const DialectRow& row = row_of(Dialect::kAccelerate);
  for (const char* stage : {"1", "2"}) {
    std::vector<Override> changes = kReplicas;
    changes.push_back({"strategy.zero_stage", stage});
    const Scenario s = scenario_at(kDense, changes);
    export_test::expect_known(s, row, export_test::known_options(row));
    const Settings settings = plait::settings_of(s, Dialect::kAccelerate, Launcher::kNone);
    EXPECT_EQ(value_of(settings, "distributed_type"), "DEEPSPEED");
    EXPECT_EQ(value_of(settings, "zero_stage"), stage);
    EXPECT_EQ(value_of(settings, "offload_optimizer_device"), "none");
    EXPECT_FALSE(lists(settings, std::string("strategy.zero_stage = ") + stage));
  }
  std::vector<Override> whole = kReplicas, offloaded = kReplicas;
  whole.push_back({"strategy.zero_stage", "0"});
  EXPECT_EQ(value_of(settings_of(Dialect::kAccelerate, whole), "distributed_type"), "MULTI_GPU");
  offloaded.insert(offloaded.end(),
                   {{"strategy.zero_stage", "2"}, {"strategy.offload.optimizer", "cpu"}});
  EXPECT_EQ(value_of(settings_of(Dialect::kAccelerate, offloaded), "offload_optimizer_device"),
            "cpu");
}

// What DeepSpeed does where the file says nothing: deepspeed::read.
TEST(ExportAccelerate, ListsWhatDeepSpeedDoesOtherwise) {
  const auto listed = [](const char* precision, std::vector<Override> more) {
    more.insert(more.end(), kReplicas.begin(), kReplicas.end());
    more.insert(more.end(), {{"strategy.zero_stage", "2"}, {"workload.precision", precision}});
    std::string out;
    for (const std::string& field : settings_of(Dialect::kAccelerate, more).unsaid) {
      const bool one =
          field.starts_with("workload.precision.") || field.starts_with("strategy.data.");
      if (one) out += field + ";";
    }
    return out;
  };
  const std::vector<Override> as_done = {{"strategy.data.overlap", "false"},
                                         {"strategy.data.overlap_gathers", "false"},
                                         {"strategy.data.bucket", "1 GB"}};
  EXPECT_EQ(listed(R"({"weights": "bf16", "gradients": "bf16"})", as_done), "");
  EXPECT_EQ(listed(R"({"weights": "bf16", "gradients": "fp32", "reduction": "bf16"})",
                   {{"strategy.data.overlap", "true"},
                    {"strategy.data.overlap_gathers", "false"},
                    {"strategy.data.bucket", "1 MiB"}}),
            "workload.precision.gradients = fp32;strategy.data.bucket = 1 MiB;"
            "strategy.data.overlap = true;");
}

// parallelism_config.py refuses sizes whose product is not the number of processes, and has none
// for experts.
TEST(ExportAccelerate, NamesNoSizesBesideExpertParallelism) {
  const auto sizes = [](const char* dp, const char* fsdp, const char* ep) {
    const Scenario s =
        scenario_at("gpt-oss/gpt-oss-20b-8xh100-fsdp",
                    {{"strategy.dp", dp}, {"strategy.fsdp", fsdp}, {"strategy.ep", ep}});
    const Settings out = plait::settings_of(s, Dialect::kAccelerate, Launcher::kNone);
    EXPECT_TRUE(ep == std::string("1") || lists(out, std::string("strategy.ep = ") + ep));
    return value_of(out, "parallelism_config_dp_shard_size");
  };
  EXPECT_EQ(sizes("2", "4", "1"), "4");
  EXPECT_EQ(sizes("2", "2", "2"), "-");
}

TEST(ExportAccelerate, OtherAxesBesideShardedStateAreRefused) {
  const auto told = [](const std::vector<Override>& changes) {
    try {
      settings_of(Dialect::kAccelerate, changes);
    } catch (const InputError& e) {
      EXPECT_NE(e.text().cure.find("--to deepspeed"), std::string::npos);
      return e.text().code + " " + e.text().where.path;
    }
    return std::string("accepted");
  };
  const Override one = {"strategy.zero_stage", "1"}, two = {"strategy.zero_stage", "2"};
  EXPECT_EQ(told({one, {"strategy.fsdp", "8"}}), "accepted");
  EXPECT_EQ(told({two, {"strategy.fsdp", "4"}, {"strategy.tp", "2"}}), "D009 strategy.zero_stage");
  EXPECT_EQ(told({one, {"strategy.fsdp", "4"}, {"strategy.pp", "2"}}), "D009 strategy.zero_stage");
  EXPECT_EQ(told({two, {"strategy.fsdp", "4"}, {"strategy.cp", "2"}}), "D009 strategy.zero_stage");
  EXPECT_EQ(told({two, {"strategy.fsdp", "4"}, {"strategy.dp", "2"}}), "D009 strategy.zero_stage");
  EXPECT_EQ(told({two, {"strategy.offload.optimizer", "nvme"}}), "D009 strategy.offload.optimizer");
  EXPECT_EQ(told({{"strategy.fsdp", "4"}, {"strategy.tp", "2"}}), "accepted");
}

// engine.py: stage 3 is refused with automatic tensor parallelism.
TEST(ExportDeepSpeed, TensorParallelismGoesWithNoStage3) {
  const auto tp = [](const char* stage) {
    return settings_of(
        Dialect::kDeepSpeed,
        {{"strategy.zero_stage", stage}, {"strategy.fsdp", "4"}, {"strategy.tp", "2"}});
  };
  EXPECT_EQ(value_of(tp("2"), "autotp_size"), "2");
  EXPECT_EQ(value_of(tp("3"), "autotp_size"), "-");
  EXPECT_TRUE(lists(tp("3"), "strategy.tp = 2"));
}

TEST(ExportDeepSpeed, AsksWhereDrivesAre) {
  const Settings s = settings_of(Dialect::kDeepSpeed, {{"strategy.offload.optimizer", "nvme"}});
  const nlohmann::json config = nlohmann::json::parse(render(s, Launcher::kNone));
  EXPECT_EQ(config["zero_optimization"]["offload_optimizer"]["nvme_path"], "NVME_PATH");
  EXPECT_EQ(config["_to_be_added"][0], "zero_optimization.offload_optimizer.nvme_path");
}

// deepspeed/runtime/config.py divides the ranks by it: 8 of them are 2 replicas of 4.
TEST(ExportDeepSpeed, RanksOfASequenceAreNoReplicas) {
  const Settings s = settings_of(
      Dialect::kDeepSpeed,
      {{"strategy.fsdp", "2"}, {"strategy.cp", "4"}, {"strategy.context.kind", "ulysses"}});
  EXPECT_EQ(value_of(s, "sequence_parallel_size"), "4");
  EXPECT_FALSE(lists(s, "strategy.cp = 4"));
  EXPECT_EQ(value_of(settings_of(Dialect::kDeepSpeed, {}), "sequence_parallel_size"), "-");
}

// _do_optimizer_sanity_check: the types of weights and sums are the same, or bf16 and fp32.
TEST(ExportDeepSpeed, SumsOfGradientsHaveATypeThatItAccepts) {
  const auto type = [](const char* stage, const char* weights) {
    const std::string precision =
        std::string(R"({"weights": ")") + weights + R"(", "gradients": "fp32"})";
    const Settings s = settings_of(Dialect::kDeepSpeed, {{"strategy.zero_stage", stage},
                                                         {"strategy.fsdp", "1"},
                                                         {"strategy.dp", "8"},
                                                         {"workload.precision", precision}});
    return value_of(s, "grad_accum_dtype");
  };
  EXPECT_EQ(type("0", "fp16"), "-");
  EXPECT_EQ(type("0", "bf16"), "\"fp32\"");
  EXPECT_EQ(type("1", "fp16"), "\"fp32\"");
}

// What one kernel each makes of chains is torch.compile, which the import reads.
TEST(ExportLimits, TorchtitanCompilesWhereKernelsAreFused) {
  const auto value = [](const std::vector<Override>& changes, const char* key) {
    const Settings s = settings_of(scenario_at("llama/llama-3.1-8b-8xh100-fsdp", changes),
                                   Dialect::kTorchtitan, Launcher::kNone);
    const auto found = std::ranges::find(s.settings, key, &Setting::key);
    return found == s.settings.end() ? std::string("absent") : found->value;
  };
  EXPECT_EQ(value({{"framework", "torchtitan-2025"}}, "compile"), "true");
  EXPECT_EQ(value({{"framework", "torchtitan"}}, "compile"), "absent");
  EXPECT_EQ(value({{"model", "qwen3-8b"}}, "name"), R"("qwen3")");
}

}  // namespace plait::export_limits_test
