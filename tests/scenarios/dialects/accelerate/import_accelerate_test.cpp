// Accelerate's YAML: maps in maps, both versions of FSDP, and what is refused at which line.

#include <gtest/gtest.h>

#include "scenarios/dialects/yaml_map.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test {

TEST(ImportAccelerate, ReadsBothVersionsOfFsdp) {
  const Scenario hybrid = imported(Dialect::kAccelerate, R"(
distributed_type: FSDP   # the first version
num_machines: 2
num_processes: 16
mixed_precision: 'bf16'
fsdp_config:
  fsdp_sharding_strategy: HYBRID_SHARD
  fsdp_activation_checkpointing: true
tpu_env: []
)");
  EXPECT_EQ(hybrid.strategy.mesh[Axis::kDp], 2);
  EXPECT_EQ(hybrid.strategy.mesh[Axis::kFsdp], 8);
  EXPECT_EQ(hybrid.strategy.recompute.kind, Recompute::kFull);
  const Scenario kept = imported(Dialect::kAccelerate,
                                 "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
                                 "  fsdp_reshard_after_forward: false\n");
  EXPECT_EQ(kept.strategy.mesh[Axis::kFsdp], 8);
  EXPECT_FALSE(kept.strategy.fsdp.reshard_after_forward);
}

TEST(ImportAccelerate, RanksThatSplitNoLayerHaveNoSequenceToShare) {
  const Scenario s = imported(Dialect::kAccelerate, "distributed_type: MULTI_GPU\n", R"({
      "model": "tiny", "cluster": "hgx-h100",
      "workload": {"sequence_length": 64, "global_batch": 64},
      "strategy": {"tp": 8, "sequence_parallel": true}})");
  EXPECT_EQ(s.strategy.mesh[Axis::kTp], 1);
  EXPECT_FALSE(s.strategy.sequence_parallel);
}

// dataclasses.py, FullyShardedDataParallelPlugin: where no strategy is named FSDP1 takes it from
// there, and FSDP2 has a switch there.
TEST(ImportAccelerate, TheFirstVersionsStrategyMayBeUnderTheSecondsKey) {
  const auto strategy = [](const std::string& name, const std::string& more = "") {
    return imported(Dialect::kAccelerate,
                    "distributed_type: FSDP\nnum_machines: 2\nnum_processes: 16\nfsdp_config:\n" +
                        more + "  fsdp_reshard_after_forward: " + name + "\n")
        .strategy;
  };
  for (const char* version : {"", "  fsdp_version: 1\n"}) {
    const Strategy full = strategy("FULL_SHARD", version);
    EXPECT_EQ(full.mesh[Axis::kFsdp], 16);
    EXPECT_TRUE(full.fsdp.reshard_after_forward);
    const Strategy hybrid = strategy("HYBRID_SHARD_ZERO2", version);
    EXPECT_EQ(hybrid.mesh[Axis::kDp], 2);
    EXPECT_EQ(hybrid.mesh[Axis::kFsdp], 8);
    EXPECT_FALSE(hybrid.fsdp.reshard_after_forward);
    EXPECT_FALSE(strategy("SHARD_GRAD_OP", version).fsdp.reshard_after_forward);
    EXPECT_TRUE(strategy("HYBRID_SHARD", version).fsdp.reshard_after_forward);
    EXPECT_EQ(strategy("NO_SHARD", version).zero_stage, 0);
  }
  EXPECT_EQ(strategy("FULL_SHARD", "  fsdp_sharding_strategy: NO_SHARD\n").zero_stage, 0);
  EXPECT_EQ(refusal(Dialect::kAccelerate,
                    "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
                    "  fsdp_reshard_after_forward: FULL_SHARD\n"),
            "D003 line 4");
}

TEST(ImportAccelerate, OtherUnitsThanLayersAreRefusedOrNamed) {
  const auto file = [](const std::string& policy) {
    return "distributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: " + policy + "\n";
  };
  EXPECT_EQ(refusal(Dialect::kAccelerate, file("TRANSFORMER_BASED_WRAP")), "accepted");
  EXPECT_EQ(warnings(Dialect::kAccelerate, file("TRANSFORMER_BASED_WRAP")), "");
  EXPECT_EQ(refusal(Dialect::kAccelerate, file("SIZE_BASED_WRAP")), "accepted");
  EXPECT_EQ(warnings(Dialect::kAccelerate, file("SIZE_BASED_WRAP")),
            "W008: fsdp_config.fsdp_auto_wrap_policy is SIZE_BASED_WRAP: units are read as a layer "
            "each\n");
  EXPECT_EQ(refusal(Dialect::kAccelerate, file("NO_WRAP")), "D006 line 3");
  EXPECT_EQ(refusal(Dialect::kAccelerate, file("ANY_WRAP")), "D003 line 3");
}

// dataclasses.py, set_mixed_precision: reduction has its type. A shard is kept as its parameter is
// (_runtime_utils.py, _cast_grad_to_param_dtype), in fp32.
TEST(ImportAccelerate, ShardsOfGradientsAreReducedInMixedPrecisionAndKeptInFp32) {
  const auto precision = [](const std::string& type) {
    return imported(Dialect::kAccelerate, "distributed_type: FSDP\nmixed_precision: " + type + "\n")
        .workload.precision;
  };
  EXPECT_EQ(precision("bf16").reduction, DType::kBf16);
  EXPECT_EQ(precision("fp16").reduction, DType::kFp16);
  EXPECT_EQ(precision("'no'").reduction, DType::kFp32);
  for (const char* type : {"bf16", "fp16", "'no'"}) {
    EXPECT_EQ(precision(type).gradients, DType::kFp32) << type;
  }
}

// accelerator.py, prepare_model: without FSDP parameters stay in fp32, and forward is wrapped in
// torch.autocast. 8 bits are Transformer Engine's.
TEST(ImportAccelerate, MixedPrecisionWithoutFsdpIsAutocast) {
  const auto precision = [](const std::string& type) {
    return imported(Dialect::kAccelerate,
                    "distributed_type: MULTI_GPU\nmixed_precision: " + type + "\n")
        .workload.precision;
  };
  for (const auto& [name, type] :
       {std::pair("bf16", DType::kBf16), std::pair("fp16", DType::kFp16)}) {
    const Precision p = precision(name);
    EXPECT_EQ(p.autocast, type);
    EXPECT_EQ(p.products(), type);
    for (const DType t : {p.weights, p.gradients, p.reduction, p.master, p.moments})
      EXPECT_EQ(t, DType::kFp32) << name;
  }
  for (const char* name : {"'no'", "fp8"}) EXPECT_FALSE(precision(name).autocast) << name;
  EXPECT_FALSE(imported(Dialect::kAccelerate, "distributed_type: FSDP\nmixed_precision: bf16\n")
                   .workload.precision.autocast);
}

// What the script says of it (TrainingArguments, gradient_checkpointing) no such file knows.
TEST(ImportAccelerate, OnlyCheckpointingThatItTurnsOnIsItsOwn) {
  const auto recompute = [](const std::string& more, const std::string& base) {
    return imported(Dialect::kAccelerate,
                    "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n"
                    "  fsdp_version: 2\n" +
                        more,
                    base)
        .strategy.recompute;
  };
  const std::string key = "  fsdp_activation_checkpointing: ";
  for (const char* kind : {"full", "selective"}) {
    const std::string base = std::string(kBase).substr(0, std::string(kBase).size() - 1) +
                             R"(, "strategy": {"recompute": ")" + kind + R"("}})";
    const Recompute of_base = parse_scenario(base, "base.json").strategy.recompute.kind;
    EXPECT_EQ(recompute("", base).kind, of_base);
    EXPECT_EQ(recompute(key + "false\n", base).kind, of_base);
    EXPECT_EQ(recompute(key + "true\n", base).kind, Recompute::kFull);
  }
  EXPECT_EQ(recompute(key + "false\n", kBase).kind, Recompute::kNone);
}

TEST(ImportAccelerate, ReadsOffloadedParameters) {
  const Scenario s = imported(
      Dialect::kAccelerate,
      "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  fsdp_offload_params: true\n");
  EXPECT_EQ(s.strategy.offload.optimizer, Offload::kCpu);
  EXPECT_EQ(s.strategy.offload.parameters, Offload::kCpu);
}

TEST(ImportAccelerate, RefusesAtTheLine) {
  const auto refused = [](const std::string& text) { return refusal(Dialect::kAccelerate, text); };
  EXPECT_EQ(refused("distributed_type: FSDP\nnum_machines: 3\nnum_processes: 8"), "D004 line 3");
  EXPECT_EQ(refused("distributed_type: TPU"), "D003 line 1");
  EXPECT_EQ(refused("distributed_type: FSDP\nnonsense"), "D002 line 2");
  EXPECT_EQ(refused("distributed_type: MEGATRON_LM"), "D006 line 1");
  EXPECT_EQ(refused("distributed_type: NO\nuse_cpu: no\nuse_cpu: no"), "D004 line 3");
}

// What `accelerate config default` writes on 8 GPUs (commands/config/default.py).
constexpr const char* kDefaultConfig = R"({
  "compute_environment": "LOCAL_MACHINE",
  "debug": false,
  "distributed_type": "MULTI_GPU",
  "downcast_bf16": false,
  "enable_cpu_affinity": false,
  "machine_rank": 0,
  "main_training_function": "main",
  "mixed_precision": "bf16",
  "num_machines": 1,
  "num_processes": 8,
  "rdzv_backend": "static",
  "same_network": false,
  "tpu_use_cluster": false,
  "tpu_use_sudo": false,
  "use_cpu": false
})";

// What accelerate's questions about FSDP write, and what of it is another plan.
TEST(ImportAccelerate, WordsThatChangeNoStepAreReadWhereTheyDoNot) {
  const auto told = [](const std::string& prefetch) {
    return warnings(Dialect::kAccelerate,
                    "distributed_type: FSDP\nfsdp_config:\n  fsdp_backward_prefetch: " + prefetch +
                        "\n  fsdp_forward_prefetch: false\n  fsdp_sync_module_states: true\n"
                        "  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\n"
                        "  fsdp_use_orig_params: true\n");
  };
  EXPECT_EQ(told("BACKWARD_PRE"), "");
  EXPECT_EQ(told("NO_PREFETCH"), "W007: not read: fsdp_config.fsdp_backward_prefetch\n");
}

TEST(ImportAccelerate, ItsDefaultFileIsJson) {
  EXPECT_EQ(detect_dialect(kDefaultConfig, "default_config.json"), Dialect::kAccelerate);
  const Scenario s = imported(Dialect::kAccelerate, kDefaultConfig);
  EXPECT_EQ(s.strategy.mesh[Axis::kDp], 8);
  EXPECT_EQ(s.strategy.zero_stage, 0);
  EXPECT_EQ(s.workload.precision.weights, DType::kFp32);
  EXPECT_EQ(s.workload.precision.autocast, DType::kBf16);
  EXPECT_EQ(warnings(Dialect::kAccelerate, kDefaultConfig), "");
  const std::string nested =
      "{\"distributed_type\": \"FSDP\", \"fsdp_config\":\n{\"fsdp_version\": 2,\n"
      "\"fsdp_reshard_after_forward\": ";
  EXPECT_FALSE(
      imported(Dialect::kAccelerate, nested + "false}}").strategy.fsdp.reshard_after_forward);
  EXPECT_EQ(refusal(Dialect::kAccelerate, nested + "3}}"), "D003 line 3");
  EXPECT_EQ(refusal(Dialect::kAccelerate, nested + "false}"), "J005 line 3");
}

TEST(YamlMap, JsonIsYaml) {
  std::string paths;
  const auto entries =
      read_yaml_map("\n{\"a\": 1, \"b\": {\"c\": null, \"d\": [2]}, \"e\": true}", "f");
  for (const ConfigEntry& e : entries.list()) {
    paths += e.path + "=" + e.text + ";";
  }
  EXPECT_EQ(paths, "a=1;b=;b.c=;b.d=[...];e=true;");
}

TEST(YamlMap, PathsOfNestedMaps) {
  const auto entries =
      read_yaml_map("a: 1\nb:\n  c: 'x y' # z\n  d:\n    e: null\nf: \"#\"\n", "f");
  std::vector<std::string> paths;
  for (const ConfigEntry& e : entries.list()) paths.push_back(e.path + "=" + e.text);
  const std::vector<std::string> expected = {"a=1", "b=", "b.c=x y", "b.d=", "b.d.e=", "f=#"};
  EXPECT_EQ(paths, expected);
}

TEST(YamlMap, MapsInBracesAreMaps) {
  const auto entries = read_yaml_map("a: {b: 1, c: {d: 'x, }'}, e: [1, 2]}  # f\ng: {}\n", "f");
  std::string paths;
  for (const ConfigEntry& e : entries.list()) paths += e.path + "=" + e.text + ";";
  EXPECT_EQ(paths, "a=;a.b=1;a.c=;a.c.d=x, };a.e=[1, 2];g=;");
  for (const char* text : {"a: {b: 1", "a: {b}", "a: {b: 1} c", "a: {: 1}"}) {
    EXPECT_THROW(read_yaml_map(text, "f"), InputError) << text;
  }
  std::string deep = "a: ";
  for (int i = 0; i < 1000; ++i) deep += "{a: ";
  EXPECT_THROW(read_yaml_map(deep + std::string(1000, '}'), "f"), InputError);
}

TEST(ImportAccelerate, DeepSpeedsSequenceParallelismExchangesTokensForHeads) {
  const std::string file =
      "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  zero_stage: 3\n"
      "parallelism_config:\n  parallelism_config_dp_shard_size: 4\n"
      "  parallelism_config_sp_size: 2\n";
  const Strategy s = imported(Dialect::kAccelerate, file).strategy;
  EXPECT_EQ(s.mesh.size_of(kContextAxes), 2);
  EXPECT_EQ(s.context.kind, ContextKind::kUlysses);
  EXPECT_EQ(s.mesh[Axis::kFsdp], 4);
  EXPECT_EQ(refusal(Dialect::kAccelerate, file + "  parallelism_config_cp_size: 2\n"),
            "D006 line 7");
}

// accelerate/parallelism_config.py: sharded over dp_shard_size alone.
TEST(ImportAccelerate, ReplicasOfOneShardHaveWholeWeights) {
  const std::string text =
      "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\n"
      "fsdp_config:\n  fsdp_version: 2\nparallelism_config:\n"
      "  parallelism_config_dp_shard_size: 1\n";
  const Strategy s =
      imported(Dialect::kAccelerate, text + "  parallelism_config_dp_replicate_size: 8\n").strategy;
  EXPECT_EQ(s.zero_stage, 0);
  EXPECT_EQ(s.mesh[Axis::kDp], 8);
  EXPECT_EQ(refusal(Dialect::kAccelerate, text + "  parallelism_config_dp_replicate_size: 4\n"
                                                 "  parallelism_config_tp_size: 2\n"),
            "D004 line 7");
}

// accelerate/commands/launch.py: simple_launcher.
TEST(ImportAccelerate, WithoutADistributionThereIsOneProcess) {
  const std::string alone = "distributed_type: \"NO\"\nnum_processes: 8\n";
  const Scenario s = imported(Dialect::kAccelerate, alone);
  EXPECT_EQ(s.cluster.world_size(), 1);
  EXPECT_NE(warnings(Dialect::kAccelerate, alone).find("W008: num_processes 8 is read as 1"),
            std::string::npos);
}

TEST(ImportAccelerate, OtherDevicesAndLargeLettersAreTheSame) {
  const auto precision = [](const std::string& text) {
    return imported(Dialect::kAccelerate, text).workload.precision;
  };
  const Precision gpu = precision("distributed_type: MULTI_GPU\nmixed_precision: bf16\n");
  EXPECT_EQ(precision("distributed_type: MULTI_NPU\nmixed_precision: BF16\n").autocast,
            gpu.autocast);
  EXPECT_EQ(gpu.autocast, DType::kBf16);
}

TEST(ImportAccelerate, DeepSpeedSplitsSequencesByHeads) {
  const std::string at = "  parallelism_config_";
  const Scenario s = imported(Dialect::kAccelerate,
                              "distributed_type: DEEPSPEED\nmixed_precision: bf16\n"
                              "num_processes: 8\ndeepspeed_config:\n  zero_stage: 3\n"
                              "parallelism_config:\n" +
                                  at + "cp_size: 2\n" + at + "cp_backend: deepspeed\n" + at +
                                  "dp_shard_size: 4\n");
  EXPECT_EQ(s.strategy.context.kind, ContextKind::kUlysses);
  EXPECT_EQ(s.strategy.mesh.size_of(kContextAxes), 2);
}

TEST(ImportAccelerate, MoreDevicesThanTheMachineHasAreTold) {
  const auto told = [](int processes) {
    const std::string text = "distributed_type: FSDP\nnum_processes: " + std::to_string(processes);
    Warnings out;
    scenario_json(read_settings(text, "a.yaml", Dialect::kAccelerate), "a.yaml",
                  {import_test::kBase, "base.json"}, "", &out);
    return std::ranges::count_if(out, [](const Warning& w) {
      return w.text.find("cluster.devices_per_node is 16 (line 2), more than the 8") !=
             std::string::npos;
    });
  };
  EXPECT_EQ(told(16), 1);
  EXPECT_EQ(told(8), 0);
}

// utils/fsdp_utils.py, fsdp2_prepare_model.
TEST(ImportAccelerate, TheSecondVersionHasNoStrategyByName) {
  const auto text = [](const std::string& name, const std::string& reshards) {
    return "distributed_type: FSDP\nnum_machines: 2\nnum_processes: 16\nfsdp_config:\n"
           "  fsdp_version: 2\n  fsdp_sharding_strategy: " +
           name + "\n  fsdp_reshard_after_forward: " + reshards + "\n";
  };
  for (const char* name : {"HYBRID_SHARD", "NO_SHARD", "SHARD_GRAD_OP"}) {
    const Strategy s = imported(Dialect::kAccelerate, text(name, "true")).strategy;
    EXPECT_EQ(s.zero_stage, 3) << name;
    EXPECT_EQ(s.mesh[Axis::kFsdp], 16) << name;
    EXPECT_TRUE(s.fsdp.reshard_after_forward) << name;
    EXPECT_NE(warnings(Dialect::kAccelerate, text(name, "true")).find("changes nothing"),
              std::string::npos);
  }
  EXPECT_EQ(warnings(Dialect::kAccelerate, text("FULL_SHARD", "true")), "");
  EXPECT_EQ(warnings(Dialect::kAccelerate, text("SHARD_GRAD_OP", "false")), "");
}

// accelerator.py: fp8 turns on autocast too, of parameters in fp32.
TEST(ImportAccelerate, EightBitsWithoutFsdpHaveGradientsInFp32) {
  const std::string file = "distributed_type: MULTI_GPU\nmixed_precision: fp8\n";
  const Precision p = imported(Dialect::kAccelerate, file).workload.precision;
  EXPECT_EQ(p.matmul, DType::kFp8);
  EXPECT_EQ(p.gradients, DType::kFp32);
  EXPECT_EQ(p.reduction, DType::kFp32);
  EXPECT_EQ(warnings(Dialect::kAccelerate, file).substr(0, 36),
            "W008: mixed_precision fp8 is read as");
  EXPECT_EQ(warnings(Dialect::kAccelerate, "distributed_type: FSDP\nmixed_precision: fp8\n"), "");
}

TEST(ImportAccelerate, ProcessorsTrainNothing) {
  EXPECT_EQ(refusal(Dialect::kAccelerate, "distributed_type: MULTI_GPU\nuse_cpu: true\n"),
            "D006 line 2");
  EXPECT_EQ(refusal(Dialect::kAccelerate, "distributed_type: MULTI_GPU\nuse_cpu: false\n"),
            "accepted");
}

TEST(ImportAccelerate, AScriptThatWritesTheFileIsReadAsThat) {
  const std::string script =
      "SIZE=7b\nCONFIG=conf/fsdp_$SIZE.yaml\n"
      "cat > ${CONFIG} <<EOF\ndistributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\n"
      "fsdp_config:\n  fsdp_version: 2\nEOF\n"
      "accelerate launch --config_file conf/fsdp_7b.yaml --num-machines 2 --num_processes=16 "
      "--mixed_precision bf16 train.py --num_processes 4\n";
  EXPECT_EQ(detect_dialect(script, "run.sh"), Dialect::kAccelerate);
  const Scenario s = imported(Dialect::kAccelerate, script);
  EXPECT_EQ(s.cluster.nodes, 2);
  EXPECT_EQ(s.strategy.mesh[Axis::kFsdp], 16);
  EXPECT_EQ(s.workload.precision.weights, DType::kBf16);
  // Its lines are the script's.
  const std::string wrong =
      "cat > a.yaml <<EOF\ndistributed_type: FSDP\nuse_cpu: true\nEOF\n"
      "accelerate launch --config_file a.yaml train.py\n";
  EXPECT_EQ(refusal(Dialect::kAccelerate, wrong), "D006 line 3");
}

}  // namespace plait::import_test
