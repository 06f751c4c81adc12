// DeepSpeed's settings by way of Accelerate's YAML, ZeRO++, and accumulation steps over a base.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test {

constexpr const char* kFlow =
    "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\n"
    "deepspeed_config: {gradient_accumulation_steps: 4, zero_stage: 3,"
    " offload_optimizer_device: cpu, offload_param_device: cpu, zero3_init_flag: true}\n";

TEST(ImportAccelerate, ReadsDeepSpeedAsItsOwnFileIsRead) {
  const Scenario s = imported(Dialect::kAccelerate, kFlow);
  EXPECT_EQ(s.workload.micro_batch, 64 / 4 / 8);
  EXPECT_EQ(s.strategy.zero_stage, 3);
  EXPECT_EQ(s.strategy.mesh[Axis::kFsdp], 8);
  EXPECT_EQ(s.strategy.offload.optimizer, Offload::kCpu);
  EXPECT_EQ(s.strategy.offload.parameters, Offload::kCpu);
  EXPECT_TRUE(s.strategy.keep_weight_shard);
  EXPECT_EQ(s.strategy.fsdp.copies, FsdpCopies::kDeepSpeed);
  EXPECT_EQ(s.workload.precision.reduction, DType::kBf16);
  EXPECT_EQ(warnings(Dialect::kAccelerate, kFlow), "");
}

TEST(ImportAccelerate, RefusesDeepSpeedsSettingsAtTheLine) {
  const auto refused = [](const std::string& settings) {
    return refusal(Dialect::kAccelerate,
                   "distributed_type: DEEPSPEED\ndeepspeed_config:\n" + settings);
  };
  EXPECT_EQ(refused("  offload_optimizer_device: disk"), "D003 line 3");
  EXPECT_EQ(refused("  gradient_clipping: much"), "D003 line 3");
  EXPECT_EQ(refused("  zero_stage: 2\n  gradient_accumulation_steps: 7"), "D004 line 4");
}

// A base of the Trainer or of PyTorch speaks of FSDP, whose gradients add up whole there.
TEST(ImportDeepSpeed, GradientsAreReducedInEachMicrobatch) {
  for (const char* framework : {"pytorch", "transformers"}) {
    const std::string base = R"({"model": "llama-3.1-8b", "cluster": "hgx-h100",
      "workload": {"sequence_length": 64, "global_batch": 64, "micro_batch": 1}, "framework": ")" +
                             std::string(framework) + R"("})";
    for (const char* stage : {"2", "3"}) {
      const std::string at = framework + std::string(" ") + stage,
                        own = std::string(R"({"zero_optimization": {"stage": )") + stage + "}}",
                        flow = std::string(
                                   "distributed_type: DEEPSPEED\nnum_processes: 8\n"
                                   "mixed_precision: bf16\ndeepspeed_config: "
                                   "{zero_stage: ") +
                               stage + "}\n";
      for (const auto& [dialect, text] :
           {std::pair(Dialect::kDeepSpeed, own), std::pair(Dialect::kAccelerate, flow)}) {
        const Scenario s = imported(dialect, text, base);
        EXPECT_FALSE(s.strategy.sums_whole_gradients()) << at << " " << text;
        EXPECT_EQ(s.framework, stage == std::string("3") ? "deepspeed-zero3" : framework) << at;
        for (const Warning& w : s.warnings) EXPECT_NE(w.code, "W001") << at << w.text;
      }
    }
  }
}

TEST(ImportDeepSpeed, StepsGoWithTheMicrobatchOrTheBatchOfTheBase) {
  const auto workload = [](const std::string& batch) {
    const std::string base =
        R"({"model": "llama-3.1-8b", "cluster": "hgx-h100", "workload": {"sequence_length": 64,)" +
        batch + "}}";
    return imported(Dialect::kDeepSpeed, R"({"gradient_accumulation_steps": 4})", base).workload;
  };
  EXPECT_EQ(workload(R"("global_batch": 96)").micro_batch, 96 / 4 / 8);
  EXPECT_EQ(workload(R"("global_batch": 96, "micro_batch": 2)").global_batch, 2 * 4 * 8);
  EXPECT_EQ(workload(R"("micro_batch": 1)").global_batch, 1 * 4 * 8) << "of the file and the base";
  EXPECT_THROW(workload(R"("global_batch": 40)"), InputError);
}

TEST(ImportDeepSpeed, WhatTrainsChangesNoScenarioThatServes) {
  const char* const base = R"({"model": "llama-3.1-8b", "cluster": "hgx-h100", "serving": {}})";
  EXPECT_EQ(refusal(Dialect::kDeepSpeed, R"({"bf16": {"enabled": true}})", base), "D008 line 0");
}

// deepspeed/runtime/constants.py has both names.
TEST(ImportDeepSpeed, OldNamesOfBf16AreRead) {
  const std::string text = R"({"bfloat16": {"enabled": true}, "zero_optimization": {"stage": 1}})";
  EXPECT_EQ(imported(Dialect::kDeepSpeed, text).workload.precision.weights, DType::kBf16);
  EXPECT_EQ(warnings(Dialect::kDeepSpeed, text), "");
  EXPECT_EQ(refusal(Dialect::kDeepSpeed, R"({"bf16": true})"), "F003 line 1");
}

TEST(ImportDeepSpeed, WhatIsNotShardedStaysOnTheDevice) {
  const auto text = [](int stage, const std::string& part) {
    return R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": )" +
           std::to_string(stage) +
           R"(, "offload_optimizer": {"device": "cpu"}, "offload_param": )" + part + "}}";
  };
  const auto offload = [](const std::string& of) {
    return imported(Dialect::kDeepSpeed, of).strategy.offload;
  };
  const std::string host = R"({"device": "cpu"})", none = R"({"device": "none"})";
  EXPECT_EQ(offload(text(3, host)).parameters, Offload::kCpu);
  EXPECT_EQ(offload(text(2, host)).parameters, Offload::kNone);
  EXPECT_EQ(offload(text(2, host)).optimizer, Offload::kCpu);
  EXPECT_EQ(warnings(Dialect::kDeepSpeed, text(2, host)),
            "W008: offload_param is read as none: it takes stage 3\n");
  EXPECT_EQ(warnings(Dialect::kAccelerate,
                     "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\n"
                     "deepspeed_config: {zero_stage: 2, offload_param_device: cpu}\n"),
            "W008: offload_param is read as none: it takes stage 3\n");
  EXPECT_EQ(offload(text(0, none)).optimizer, Offload::kNone);
  EXPECT_NE(warnings(Dialect::kDeepSpeed, text(0, none))
                .find("W008: offload_optimizer is read as none: it takes stage 1\n"),
            std::string::npos);
}

// MiCS (arXiv 2205.00119): shards within groups of ranks, copies of these between them.
TEST(ImportDeepSpeed, GroupsOfMicsShardAmongThemselves) {
  const auto mesh = [](const std::string& size) {
    return imported(Dialect::kDeepSpeed, R"({"bf16": {"enabled": true}, "zero_optimization":)"
                                         R"( {"stage": 3, "mics_shard_size": )" +
                                             size + "}}")
        .strategy.mesh;
  };
  EXPECT_EQ(mesh("4")[Axis::kFsdp], 4);
  EXPECT_EQ(mesh("4")[Axis::kDp], 8 / 4);
  EXPECT_EQ(mesh("-1")[Axis::kFsdp], 8);
}

// deepspeed/runtime/config.py, _set_batch_related_parameters.
TEST(ImportDeepSpeed, ABatchAloneIsOneOfEachReplica) {
  const char* const base = R"({"model": "llama-3.1-8b", "cluster": "hgx-h100",
    "workload": {"sequence_length": 64, "global_batch": 64, "micro_batch": 1}})";
  const auto micro = [&](const std::string& keys) {
    return imported(Dialect::kDeepSpeed, R"({"train_batch_size": 32)" + keys + "}", base)
        .workload.micro_batch;
  };
  EXPECT_EQ(micro(""), 32 / 8);
  EXPECT_EQ(micro(R"(, "gradient_accumulation_steps": 2)"), 32 / 8 / 2);
  EXPECT_EQ(micro(R"(, "train_micro_batch_size_per_gpu": 2)"), 2);
  EXPECT_EQ(micro(R"(, "train_micro_batch_size_per_gpu": "auto")"), 1);  // the base's
  EXPECT_EQ(refusal(Dialect::kDeepSpeed, R"({"train_batch_size": 12})", base), "D004 line 1");
}

TEST(ImportDeepSpeed, OldNamesOfOffloadingMeanTheHost) {
  const auto offload = [](const std::string& keys) {
    const std::string text =
        R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 3, )" + keys + "}}";
    EXPECT_EQ(warnings(Dialect::kDeepSpeed, text), "");
    return imported(Dialect::kDeepSpeed, text).strategy.offload;
  };
  EXPECT_EQ(offload(R"("cpu_offload": true)").optimizer, Offload::kCpu);
  EXPECT_EQ(offload(R"("cpu_offload": true)").parameters, Offload::kNone);
  const auto both = offload(R"("cpu_offload": true, "cpu_offload_params": true)");
  EXPECT_EQ(both.parameters, Offload::kCpu);
  EXPECT_EQ(offload(R"("cpu_offload": false)").optimizer, Offload::kNone);
  const auto newer = offload(R"("cpu_offload": true, "offload_optimizer": {"device": "none"})");
  EXPECT_EQ(newer.optimizer, Offload::kNone);
}

// 2^28 sequences a step are what a scenario takes.
TEST(ImportDeepSpeed, BatchesAreBoundedAndTheirProductsHaveNoOtherSign) {
  const auto told = [](const std::string& text) {
    try {
      imported(Dialect::kDeepSpeed, text);
    } catch (const InputError& e) {
      return e.text().code + ": " + e.text().expected;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(told(R"({"train_batch_size": 1000000000000})"), "U004: an integer from 0 to 268435456");
  const std::string most = R"("train_micro_batch_size_per_gpu": 268435456,
                              "gradient_accumulation_steps": 268435456)";
  const std::string product = std::to_string((std::int64_t{1} << 56) * 8);
  EXPECT_EQ(told("{" + most + R"(, "train_batch_size": 8})"), "D004: " + product);
  EXPECT_EQ(told("{" + most + "}"), "U004: an integer from 1 to 268435456");
}

TEST(Import, AxesOfAnySizeAreRefusedAsTheScenariosAre) {
  const std::string axes =
      "--tensor-model-parallel-size 1099511627776 "
      "--pipeline-model-parallel-size 1099511627776";
  EXPECT_EQ(refusal(Dialect::kMegatronCore, axes), "U004 line 1");
  const std::string none =
      R"({"model": "llama-3.1-8b", "cluster": "hgx-h100", "strategy": {"ep": 0}})";
  try {
    imported(Dialect::kLlamaCpp, "llama-server -m x", none);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "U004");
    EXPECT_EQ(e.text().where.file, "base.json");
  }
}

TEST(ImportDeepSpeed, WeightsOfATypeThatIsLeftOpenAreThoseOfTheBase) {
  const auto precision = [](const char* enabled) {
    const std::string text = R"({"bf16": {"enabled": )" + std::string(enabled) +
                             R"(}, "zero_optimization": {"stage": 3}})";
    const Scenario s = imported(Dialect::kDeepSpeed, text);
    EXPECT_TRUE(s.strategy.keep_weight_shard) << enabled;
    return s.workload.precision;
  };
  for (const char* enabled : {"true", R"("auto")"}) {
    EXPECT_EQ(precision(enabled).gradients, DType::kBf16);
    EXPECT_EQ(precision(enabled).reduction, DType::kBf16);
  }
  const Scenario plain = imported(Dialect::kDeepSpeed, R"({"zero_optimization": {"stage": 3}})");
  EXPECT_FALSE(plain.strategy.keep_weight_shard);
}

TEST(Import, AMarkOfUtf8IsNoPartOfAFile) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(detect_dialect(mark + R"({"zero_optimization": {"stage": 1}})", "f"),
            Dialect::kDeepSpeed);
  EXPECT_EQ(imported(Dialect::kDeepSpeed, mark + R"({"zero_optimization": {"stage": 1}})")
                .strategy.zero_stage,
            1);
}

TEST(Import, AFileOfAnotherProgramIsRefused) {
  for (const Dialect dialect : {Dialect::kMegatronCore, Dialect::kVllm, Dialect::kLlamaCpp}) {
    EXPECT_EQ(refusal(dialect, "some words --and-an-option 3"), "D010 line 0");
  }
  EXPECT_EQ(refusal(Dialect::kDeepSpeed, R"({"learning_rate": 3})"), "D010 line 0");
  EXPECT_EQ(refusal(Dialect::kAccelerate, "learning_rate: 3"), "D010 line 0");
  try {
    read_settings("some words", "run.sh", Dialect::kVllm);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(e.text().problem.find("vllm serve"), std::string::npos);
    EXPECT_EQ(e.text().cure, "name the dialect that the file is in: --from");
  }
}

// deepspeed/runtime/config.py: replicas are so many fewer.
TEST(ImportDeepSpeed, SequenceParallelismExchangesTokensForHeads) {
  const Scenario s = imported(Dialect::kDeepSpeed,
                              R"({"sequence_parallel_size": 4, "train_micro_batch_size_per_gpu": 2,
                                  "gradient_accumulation_steps": 3,
                                  "zero_optimization": {"stage": 3}})");
  EXPECT_EQ(s.strategy.mesh.size_of(kContextAxes), 4);
  EXPECT_EQ(s.strategy.context.kind, ContextKind::kUlysses);
  EXPECT_EQ(s.strategy.mesh[Axis::kFsdp], 8 / 4);
  EXPECT_EQ(s.workload.global_batch, 2 * 3 * 2);
  EXPECT_EQ(refusal(Dialect::kDeepSpeed, "{\"sequence_parallel_size\":\n\"two\"}"), "F003 line 2");
}

// deepspeed/runtime/torch_autocast.py: products in 16 bits of parameters in 32, which stage 3
// gathers in 16.
TEST(ImportDeepSpeed, TorchsAutocastHasParametersInFp32) {
  const std::string file = R"({"torch_autocast": {"enabled": true, "dtype": "float16"},
                               "zero_optimization": {"stage": )";
  const Scenario s = imported(Dialect::kDeepSpeed, file + "3}}");
  EXPECT_EQ(s.workload.precision.weights, DType::kFp16);
  EXPECT_EQ(s.workload.precision.master, DType::kFp32);
  EXPECT_EQ(s.workload.precision.gradients, DType::kFp32);
  EXPECT_FALSE(s.strategy.keep_weight_shard);
  EXPECT_EQ(warnings(Dialect::kDeepSpeed, file + "3}}"), "");
  const Precision whole = imported(Dialect::kDeepSpeed, file + "2}}").workload.precision;
  EXPECT_EQ(whole.weights, DType::kFp32);
  EXPECT_EQ(whole.autocast, DType::kFp16);
  EXPECT_EQ(whole.gradients, DType::kFp32);
  EXPECT_EQ(whole.reduction, DType::kFp16);
  EXPECT_EQ(warnings(Dialect::kDeepSpeed, file + "2}}"), "");
  const char* const off = R"({"torch_autocast": {"enabled": false}, "bf16": {"enabled": true}})";
  EXPECT_EQ(imported(Dialect::kDeepSpeed, off).workload.precision.weights, DType::kBf16);
}

// deepspeed/runtime/zero/config.py. Over all ranks a secondary shard is the primary one.
TEST(ImportDeepSpeed, ReadsZeroPlusPlus) {
  const auto strategy = [](const std::string& zero, const char* nodes) {
    const std::string base = R"({"model": "llama-3.1-8b",
      "workload": {"sequence_length": 64, "global_batch": 64},
      "cluster": {"preset": "hgx-h100", "nodes": )" +
                             std::string(nodes) + "}}";
    return imported(Dialect::kDeepSpeed, R"({"zero_optimization": {)" + zero + "}}", base).strategy;
  };
  const std::string all =
      R"("stage": 3, "zero_hpz_partition_size": 8, "zero_quantized_weights": true,
         "zero_quantized_gradients": true)";
  const Strategy two = strategy(all, "2");
  EXPECT_EQ(two.mesh[Axis::kDp], 2);
  EXPECT_EQ(two.mesh[Axis::kFsdp], 8);
  EXPECT_TRUE(two.zero_plus_plus.secondary_shard);
  EXPECT_TRUE(two.zero_plus_plus.quantized_weights);
  EXPECT_TRUE(two.zero_plus_plus.quantized_gradients);
  const Strategy one = strategy(all, "1");
  EXPECT_EQ(one.mesh[Axis::kFsdp], 8);
  EXPECT_FALSE(one.zero_plus_plus.secondary_shard);
  EXPECT_FALSE(strategy(R"("stage": 3)", "2").zero_plus_plus.any());
  EXPECT_FALSE(strategy(R"("stage": 2, "zero_quantized_weights": true)", "2").zero_plus_plus.any());
}

// deepspeed/runtime/bf16_optimizer.py.
TEST(ImportDeepSpeed, Bf16WithoutZeroShardsMasterWeightsAllTheSame) {
  const auto of = [](const std::string& type, const std::string& base) {
    return imported(Dialect::kDeepSpeed, "{" + type + R"(: {"enabled": true},
      "zero_optimization": {"stage": 0}})",
                    base);
  };
  const Scenario s = of(R"("bf16")", import_test::kBase);
  EXPECT_EQ(s.strategy.zero_stage, 1);
  EXPECT_TRUE(s.strategy.data.all_reduce);
  EXPECT_EQ(s.workload.precision.gradients, DType::kFp32);
  EXPECT_EQ(of(R"("fp16")", import_test::kBase).strategy.zero_stage, 0);
  EXPECT_EQ(of(R"("torch_autocast")", import_test::kBase).strategy.zero_stage, 0);
  // A launcher's type is the base's.
  const auto open = [](const char* type) {
    const std::string base = R"({"model": "llama-3.1-8b", "workload": {"sequence_length": 4096,
      "global_batch": 64, "precision": ")" +
                             std::string(type) + R"("}, "cluster": "hgx-h100"})";
    return imported(Dialect::kDeepSpeed, R"({"bf16": {"enabled": "auto"},
      "fp16": {"enabled": "auto"}, "zero_optimization": {"stage": 0}})",
                    base);
  };
  EXPECT_EQ(open("bf16").strategy.zero_stage, 1);
  EXPECT_TRUE(open("bf16").strategy.data.all_reduce);
  EXPECT_EQ(open("fp16").strategy.zero_stage, 0);
}

TEST(ImportDeepSpeed, OneRankHasNobodyToShardWith) {
  const std::string base = R"({"model": "llama-3.1-8b", "workload": {"sequence_length": 4096},
    "cluster": {"preset": "hgx-h100", "devices_per_node": 1}})";
  const auto of = [&](int stage) {
    return R"({"train_batch_size": 8, "bf16": {"enabled": true}, "zero_optimization": {"stage": )" +
           std::to_string(stage) + "}}";
  };
  for (const int stage : {0, 1, 2, 3}) {
    EXPECT_EQ(imported(Dialect::kDeepSpeed, of(stage), base).strategy.zero_stage, 0) << stage;
  }
  Warnings told;
  scenario_json(read_settings(of(2), "ds.json", Dialect::kDeepSpeed), "ds.json",
                {base, "base.json"}, "", &told);
  EXPECT_EQ(
      std::ranges::count(printed(told),
                         "W008: zero_stage 2 is read as 0: one rank has nobody to shard with"),
      1);
}

TEST(ImportDeepSpeed, KeysThatChangeNoStepAreNotListed) {
  EXPECT_EQ(warnings(Dialect::kDeepSpeed, R"({"fp16": {"enabled": true, "loss_scale": 0},
              "steps_per_print": 10, "scheduler": {"type": "WarmupLR", "params": {}},
              "prescale_gradients": true})"),
            "W007: not read: prescale_gradients\n");
}

// deepspeed/runtime/zero/config.py.
TEST(ImportDeepSpeed, WhatItDoesByDefaultIsNotListed) {
  EXPECT_EQ(warnings(Dialect::kDeepSpeed, R"({"zero_optimization": {"stage": 2,
              "contiguous_gradients": true, "reduce_scatter": true, "allgather_partitions": true,
              "allgather_bucket_size": 5e8}, "prescale_gradients": false})"),
            "");
  EXPECT_EQ(warnings(Dialect::kDeepSpeed, R"({"zero_optimization": {"stage": 2,
              "contiguous_gradients": false, "allgather_bucket_size": 2e8}})"),
            "W007: not read: zero_optimization.contiguous_gradients, "
            "zero_optimization.allgather_bucket_size\n");
}

TEST(ImportDeepSpeed, WhatHasNoEffectIsNotWritten) {
  const auto of = [](const char* zero) {
    return nlohmann::json::parse(scenario_json(
        read_settings(
            std::string(R"({"bf16": {"enabled": true}, "zero_optimization": )") + zero + "}",
            "ds.json", Dialect::kDeepSpeed),
        "ds.json", {import_test::kBase, "base.json"}, ""))["strategy"];
  };
  EXPECT_FALSE(of(R"({"stage": 1})").contains("zero_plus_plus"));
  EXPECT_FALSE(of(R"({"stage": 2, "reduce_bucket_size": 5e8})")["data"].contains("bucket"));
  EXPECT_EQ(imported(Dialect::kDeepSpeed, R"({"bf16": {"enabled": true},
                     "zero_optimization": {"stage": 1, "reduce_bucket_size": 5e8}})")
                .strategy.data.bucket,
            Bytes(1'000'000'000));
  EXPECT_FALSE(of(R"({"stage": 1})")["data"].contains("overlap_gathers"));
  EXPECT_EQ(of(R"({"stage": 1, "overlap_comm": true})")["data"]["overlap_gathers"], false);
}

TEST(ImportDeepSpeed, ParametersOnTheHostAloneStayOnTheDevice) {
  const std::string text = R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 3,
    "offload_param": {"device": "cpu"}}})";
  EXPECT_EQ(imported(Dialect::kDeepSpeed, text).strategy.offload.parameters, Offload::kNone);
  EXPECT_NE(warnings(Dialect::kDeepSpeed, text).find("W008: offload_param without"),
            std::string::npos);
}

}  // namespace plait::import_test
