// torchtitan's TOML as people write it, and as it is exported.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/dialects/toml_map.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::import_torchtitan_test {

using import_test::imported;
using import_test::refusal;
using import_test::warnings;

constexpr const char* kBase = R"({"workload": {}, "cluster": {"preset": "hgx-h100", "nodes": 8}})";

Scenario read(const std::string& text) {
  return import_test::imported(Dialect::kTorchtitan, text, kBase);
}

constexpr const char* kUsual = R"(# torchtitan
[job]
description = "Llama 3 70B # of 64"

[model]
name = "llama3"
flavor = "70B"

[training]
local_batch_size = 8
seq_len = 8192

[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 8  # TP
context_parallel_degree = 1

[activation_checkpoint]
mode = "full"

[quantize.linear.float8]
filter_fqns = [
    "output",  # not this
]
)";

TEST(TomlMap, ListsMayHaveLinesAndCommentsStandBehindValues) {
  const std::vector<ConfigEntry> entries = read_toml_map(kUsual, "train.toml").list();
  const auto text_at = [&](const char* path) {
    const auto found = std::ranges::find(entries, path, &ConfigEntry::path);
    return found == entries.end() ? "none" : found->text;
  };
  EXPECT_EQ(text_at("job.description"), "Llama 3 70B # of 64");
  EXPECT_EQ(text_at("parallelism.tensor_parallel_degree"), "8");
  EXPECT_EQ(text_at("quantize.linear.float8.filter_fqns"), "[\"output\",]");
  EXPECT_EQ(refusal(Dialect::kTorchtitan, "[training]\nseq_len 8"), "D002 line 2");
  EXPECT_EQ(refusal(Dialect::kTorchtitan, "[a]\nb = 1\nb = 2"), "D004 line 3");
}

TEST(ImportTorchtitan, ReadsAFileAsPeopleWriteIt) {
  EXPECT_EQ(detect_dialect(kUsual, "train.toml"), Dialect::kTorchtitan);
  const Scenario s = read(kUsual);
  EXPECT_EQ(s.model.name, "llama-3.1-70b");
  EXPECT_EQ(s.framework, "torchtitan");
  EXPECT_EQ(s.strategy.mesh[Axis::kTp], 8);
  EXPECT_EQ(s.strategy.mesh[Axis::kFsdp], 64 / 8);
  EXPECT_EQ(s.strategy.zero_stage, 3);
  EXPECT_TRUE(s.strategy.sequence_parallel);
  EXPECT_EQ(s.workload.micro_batch, 8);
  EXPECT_EQ(s.workload.global_batch, 8 * 8);  // a local batch of each replica
  EXPECT_EQ(s.strategy.recompute.kind, Recompute::kFull);
  EXPECT_TRUE(s.workload.gradient_clipping);
  EXPECT_EQ(import_test::warnings(Dialect::kTorchtitan, kUsual),
            "W007: not read: quantize.linear.float8.filter_fqns\n");
}

TEST(ImportTorchtitan, ItsStepsAreTheTokensThatItTrainsOn) {
  std::string text = kUsual;
  text.insert(text.find("seq_len"), "steps = 1000\n");
  EXPECT_EQ(read(text).training->tokens, 1000.0 * (8 * 8) * 8192);  // 8 replicas of 8 sequences
  EXPECT_FALSE(read(kUsual).training);
  text.insert(text.find("seq_len"), "global_batch_size = 128\n");
  EXPECT_EQ(read(text).training->tokens, 1000.0 * 128 * 8192);
  EXPECT_EQ(import_test::warnings(Dialect::kTorchtitan, text).find("steps"), std::string::npos);
}

TEST(ImportTorchtitan, TokensAreWrittenAsWholeSteps) {
  const auto text = [](const std::string& tokens) {
    const Scenario s =
        load_scenario(PLAIT_SOURCE_DIR "/scenarios/llama/llama-3.1-8b-8xh100-fsdp.json",
                      {{"workload.global_batch", "64"},
                       {"workload.sequence_length", "8192"},
                       {"training.tokens", tokens}});
    return render(settings_of(s, Dialect::kTorchtitan, Launcher::kNone), Launcher::kNone);
  };
  const std::string whole = text("524288000"), part = text("524288001");  // of 64 * 8192 each
  EXPECT_NE(whole.find("\nsteps = 1000\n"), std::string::npos) << whole;
  EXPECT_EQ(whole.find("training.tokens"), std::string::npos) << whole;
  EXPECT_NE(part.find("\nsteps = 1000\n"), std::string::npos) << part;
  EXPECT_NE(part.find("training.tokens"), std::string::npos) << part;
}

TEST(ImportTorchtitan, PresetsMayHaveTheNamesOfItsFlavors) {
  const auto model = [](const std::string& name, const std::string& flavor) {
    return read("[model]\nname = \"" + name + "\"\nflavor = \"" + flavor + "\"\n[training]\n")
        .model.name;
  };
  EXPECT_EQ(model("qwen3", "8B"), "qwen3-8b");
  EXPECT_EQ(model("deepseek_v3", "671B"), "deepseek-v3");
}

TEST(ImportTorchtitan, WhatItCompilesHasOtherKernels) {
  const std::string text = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n";
  EXPECT_EQ(read(text + "compile = true\n").framework, "torchtitan-2025");
  EXPECT_EQ(read(text + "[compile]\nenable = true\n").framework, "torchtitan-2025");
  EXPECT_EQ(read(text + "compile = false\n").framework, "torchtitan");
}

TEST(ImportTorchtitan, InAPipelineALocalBatchIsCutIntoMicrobatches) {
  const Scenario s = read(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 16\n"
      "[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_microbatch_size = 2\n"
      "pipeline_parallel_schedule = \"Interleaved1F1B\"\n");
  EXPECT_EQ(s.workload.micro_batch, 2);
  EXPECT_EQ(s.workload.global_batch, 16 * (64 / 4));
  EXPECT_EQ(s.strategy.pipeline.schedule, Schedule::kInterleaved);
  EXPECT_EQ(s.strategy.pipeline.chunks, 2);
  // 32 layers and 1 for each end on 8 stages: 5 and 4, less these.
  EXPECT_EQ(s.strategy.pipeline.stage_layers,
            (std::vector<std::int64_t>{5 - 1, 5, 4, 4, 4, 4, 4, 4 - 1}));
  EXPECT_FALSE(s.strategy.fsdp.reshard_after_forward);  // by default not in a pipeline
}

TEST(ImportTorchtitan, ReplicasOfOneShardAreWhole) {
  const std::string start =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 64\n"
      "[parallelism]\ndata_parallel_shard_degree = 1\n";
  const Strategy s = read(start + "data_parallel_replicate_degree = 64\n").strategy;
  EXPECT_EQ(s.zero_stage, 0);
  EXPECT_EQ(s.mesh[Axis::kDp], 64);
  EXPECT_EQ(refusal(Dialect::kTorchtitan, start + "data_parallel_replicate_degree = 8\n"
                                                  "tensor_parallel_degree = 8\n"),
            "D004 line 8");
}

TEST(ImportTorchtitan, WhatItCannotSayIsRefusedAtTheLine) {
  const auto refused = [](const std::string& line) {
    return refusal(Dialect::kTorchtitan, "[parallelism]\npipeline_parallel_degree = 2\n" + line);
  };
  EXPECT_EQ(refused("tensor_parallel_degree = two"), "D003 line 3");
  EXPECT_EQ(refused("pipeline_parallel_schedule = \"PipelineScheduleMulti\""), "D006 line 3");
  EXPECT_EQ(refused("fsdp_reshard_after_forward = \"maybe\""), "D003 line 3");
  EXPECT_EQ(refused("[activation_checkpoint]\nmode = \"memory_budget\""), "D006 line 4");
  EXPECT_EQ(refused("[model]\nname = \"llama4\"\nflavor = \"17bx16e\""), "accepted");
}

// What an export says it reads back.
TEST(ImportTorchtitan, ReadsWhatIsExported) {
  const std::vector<std::vector<Override>> layouts = {
      {{"strategy.fsdp", "8"}},
      {{"strategy.fsdp", "4"}, {"strategy.dp", "2"}, {"strategy.recompute", "ops"}},
      {{"strategy.dp", "8"}, {"strategy.zero_stage", "0"}, {"strategy.recompute", "none"}},
      {{"framework", "torchtitan-2025"},  // which compiles, as this overlap wants
       {"strategy.tp", "2"},
       {"strategy.sequence_parallel", "true"},
       {"strategy.tensor.overlap", "ring"},
       {"strategy.fsdp", "4"}},
      {{"strategy.cp", "2"}, {"strategy.context.kind", "ring"}, {"strategy.fsdp", "4"}},
      {{"strategy.pp", "2"},
       {"strategy.fsdp", "4"},
       {"strategy.pipeline.schedule", "gpipe"},
       {"strategy.recompute.kind", "full"},
       {"strategy.recompute.every", "2"}},
      {{"strategy.pp", "4"},
       {"strategy.fsdp", "2"},
       {"strategy.pipeline.schedule", "zb-v"},
       {"strategy.pipeline.chunks", "2"},
       {"strategy.fsdp_options.reshard_after_forward", "false"}},
      {{"strategy.fsdp", "8"},
       {"workload.precision", R"({"matmul": "fp8", "narrow_weights": "gathered"})"},
       {"strategy.offload.optimizer", "cpu"},
       {"strategy.offload.parameters", "cpu"}},
      {{"strategy.fsdp", "8"}, {"workload.precision", R"({"matmul": "fp8", "scales": "row"})"}}};
  for (const std::vector<Override>& layout : layouts) {
    std::vector<Override> all = {{"strategy", "{}"}, {"framework", "torchtitan"}};
    all.insert(all.end(), layout.begin(), layout.end());
    const Scenario s =
        load_scenario(PLAIT_SOURCE_DIR "/scenarios/llama/llama-3.1-8b-8xh100-fsdp.json", all);
    const Settings settings = settings_of(s, Dialect::kTorchtitan, Launcher::kNone);
    const std::string text = render(settings, Launcher::kNone);
    ASSERT_EQ(detect_dialect(text, "file"), Dialect::kTorchtitan);
    const Scenario back = import_test::imported(Dialect::kTorchtitan, text,
                                                R"({"workload": {}, "cluster": "hgx-h100"})");
    auto expected = nlohmann::json::parse(s.canonical_json),
         found = nlohmann::json::parse(back.canonical_json);
    for (nlohmann::json* j : {&expected, &found}) {  // as numbers of stages or by themselves
      for (const char* key : {"stage_layers", "first_stage_layers", "last_stage_layers"}) {
        (*j)["strategy"]["pipeline"].erase(key);
      }
    }
    for (const std::string& path : settings.said) {
      const nlohmann::json::json_pointer at("/" + [&] {
        std::string steps = path;
        std::ranges::replace(steps, '.', '/');
        return steps;
      }());
      const auto a = expected.contains(at) ? expected[at] : nlohmann::json();
      const auto b = found.contains(at) ? found[at] : nlohmann::json();
      EXPECT_EQ(a, b) << path << "\n" << text;
    }
  }
}

TEST(ImportTorchtitan, ItsTypeIsThatOfAllThatIsSharded) {
  const auto of = [](const std::string& dtype) {
    return import_test::imported(Dialect::kTorchtitan, "[training]\nlocal_batch_size = 1\n" + dtype)
        .workload.precision;
  };
  const Precision narrow = of("dtype = \"bfloat16\"\n");
  EXPECT_EQ(narrow.weights, DType::kBf16);
  EXPECT_EQ(narrow.master, DType::kBf16);
  EXPECT_EQ(narrow.gradients, DType::kBf16);
  EXPECT_EQ(narrow.moments, DType::kBf16);
  EXPECT_EQ(narrow.reduction, DType::kFp32);
  EXPECT_EQ(of("").gradients, DType::kFp32);
  EXPECT_EQ(of("dtype = \"float32\"\n").master, DType::kFp32);
}

// torchtitan/train.py: a batch is a multiple of the local batches of all replicas, and the schedule
// of the pipeline runs once for each.
TEST(ImportTorchtitan, ABatchOfSeveralLocalOnesIsSeveralFlushesOfAPipeline) {
  const auto said = [](const std::string& pp, const std::string& batch) {
    const std::string text =
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\n"
        "global_batch_size = " +
        batch + "\n[parallelism]\npipeline_parallel_degree = " + pp +
        "\ntensor_parallel_degree = 8\n";
    Warnings warnings;
    scenario_json(read_settings(text, "run.toml", Dialect::kTorchtitan), "run.toml",
                  {kBase, "base.json"}, "", &warnings);
    return warnings.empty() ? "" : printed(warnings.front());
  };
  // 64 devices: 4 replicas of 2 stages of 8, with 8 sequences each.
  EXPECT_EQ(said("2", "32"), "");
  const std::string again = said("2", "96");
  EXPECT_NE(again.find("W008: a batch of 96 (line 6) is 3 local batches of 8 for each of 4"),
            std::string::npos)
      << again;
  EXPECT_NE(again.find("set local_batch_size to 24"), std::string::npos) << again;
  EXPECT_EQ(said("1", "192"), "");  // without stages steps add up as the scenario has it
  EXPECT_EQ(
      refusal(Dialect::kTorchtitan, "[training]\nlocal_batch_size = 8\nglobal_batch_size = 100\n"),
      "D004 line 3");
}

// torchtitan/components/quantization/float8.py and mx.py.
TEST(ImportTorchtitan, ConvertersAreReadByTheirWholeNames) {
  const auto text = [](const std::string& converter, const std::string& more) {
    return "[model]\nname = \"llama3\"\nflavor = \"8B\"\nconverters = [\"" + converter +
           "\"]\n[training]\nlocal_batch_size = 1\n" + more;
  };
  const auto precision = [&](const std::string& converter, const std::string& more) {
    return read(text(converter, more)).workload.precision;
  };
  const auto refused = [&](const std::string& converter, const std::string& more) {
    return refusal(Dialect::kTorchtitan, text(converter, more));
  };
  for (const char* name : {"float8", "quantize.linear.float8"}) {
    const std::string section = "[" + std::string(name) + "]\n";
    const std::string rows = section + "recipe_name = \"rowwise\"\n";
    const std::string gathers = "enable_fsdp_float8_all_gather = true\n";
    EXPECT_EQ(precision(name, "").matmul, DType::kFp8);
    EXPECT_TRUE(precision(name, rows).scales_rows()) << name;
    EXPECT_TRUE(precision(name, section + gathers).gathers_narrow()) << name;
    EXPECT_EQ(refused(name, rows + gathers), "D004 line 8");
    EXPECT_EQ(refused(name, section + "recipe_name = \"rowwise_with_gw_hp\"\n"), "D006 line 8");
  }
  for (const char* name : {"mx", "quantize.linear.mx", "quantize.grouped_mm.float8"})
    EXPECT_EQ(refused(name, ""), "D006 line 4") << name;
  EXPECT_EQ(precision("other", "").matmul, DType::kBf16);
}

TEST(ImportTorchtitan, ExpertsAreConvertedByTheirOwn) {
  const auto said = [](const std::string& converters) {
    return import_test::warnings(
        Dialect::kTorchtitan, "[model]\nname = \"llama4\"\nflavor = \"17bx16e\"\nconverters = [" +
                                  converters + "]\n[training]\nlocal_batch_size = 1\n");
  };
  EXPECT_NE(said("\"float8\"").find("W008: products of experts"), std::string::npos);
  EXPECT_EQ(said("\"quantize.linear.float8\", \"quantize.grouped_mm.float8\""), "");
}

// Plans have scales of rows of linear layers alone (S197).
TEST(ImportTorchtitan, ScalesOfRowsBesideExpertsAreReadAsThoseOfTensors) {
  const std::string text =
      "[model]\nname = \"llama4\"\nflavor = \"17bx16e\"\nconverters = [\"float8\"]\n[training]\n"
      "local_batch_size = 1\n[float8]\nrecipe_name = \"rowwise\"\n";
  EXPECT_FALSE(read(text).workload.precision.scales_rows());
  EXPECT_NE(import_test::warnings(Dialect::kTorchtitan, text).find("is read as tensorwise"),
            std::string::npos);
}

TEST(ImportTorchtitan, KeysThatChangeNoStepAreNotListed) {
  const auto said = [](const std::string& more) {
    return import_test::warnings(Dialect::kTorchtitan,
                                 "[training]\nlocal_batch_size = 1\ndataset = \"c4\"\n[metrics]\n"
                                 "log_freq = 1\n[checkpoint]\ninterval = 500\n[lr_scheduler]\n"
                                 "warmup_steps = 2\n[optimizer]\nlr = 1e-4\n" +
                                     more);
  };
  EXPECT_EQ(said("name = \"AdamW\"\n"), "");
  EXPECT_NE(said("name = \"Muon\"\n").find("W008: the optimizer Muon (line 12) is read as Adam"),
            std::string::npos);
  EXPECT_EQ(said("unheard_of = true\n"), "W007: not read: optimizer.unheard_of\n");
}

TEST(ImportTorchtitan, APipelineSaysNothingThatHasNoEffect) {
  const Scenario s = read(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\n"
      "[parallelism]\npipeline_parallel_degree = 2\n");
  EXPECT_TRUE(s.warnings.empty()) << s.warnings.front().text;
}

TEST(ImportTorchtitan, NamesOfItsOwnArePresets) {
  const auto model = [](const std::string& name, const std::string& flavor) {
    return import_test::imported(Dialect::kTorchtitan,
                                 "[model]\nname = \"" + name + "\"\nflavor = \"" + flavor +
                                     "\"\n[training]\nlocal_batch_size = 1\n",
                                 R"({"cluster": "hgx-h100"})")
        .model.name;
  };
  EXPECT_EQ(model("llama4", "17bx16e"), "llama-4-scout");
  EXPECT_EQ(model("llama4", "17bx128e"), "llama-4-maverick");
  EXPECT_EQ(model("deepseek_v3", "16B"), "deepseek-v2-lite");
  EXPECT_EQ(model("deepseek_v3", "236B"), "deepseek-v2");
}

// parallelize.py: "model" in job_config.compile.components.
TEST(ImportTorchtitan, ACompiledLossIsNoCompiledModel) {
  const auto framework = [](const std::string& more) {
    return read_settings("[training]\nsteps = 1\n[compile]\nenable = true\n" + more, "t.toml",
                         Dialect::kTorchtitan)
        .framework;
  };
  EXPECT_EQ(framework(""), "torchtitan-2025");
  EXPECT_EQ(framework("components = [\"model\", \"loss\"]\n"), "torchtitan-2025");
  EXPECT_EQ(framework("components = [\"loss\"]\n"), "torchtitan");
  EXPECT_EQ(
      warnings(Dialect::kTorchtitan, "[training]\nsteps = 1\n[compile]\ncomponents = [\"loss\"]\n"),
      "");
}

TEST(ImportTorchtitan, GroupsOfReplicasThatComeAndGoAreNamed) {
  const std::string on = "[training]\nsteps = 1\n[fault_tolerance]\nenable = true\n";
  EXPECT_EQ(warnings(Dialect::kTorchtitan, on).substr(0, 48),
            "W008: fault_tolerance.enable (line 4) is left ou");
  EXPECT_EQ(refusal(Dialect::kTorchtitan, on + "semi_sync_method = \"diloco\"\n"), "D006 line 5");
  EXPECT_EQ(
      warnings(Dialect::kTorchtitan, "[training]\nsteps = 1\n[fault_tolerance]\nenable = false\n"),
      "");
}

// What --launcher writes: the file, and what starts it.
TEST(ImportTorchtitan, AScriptThatWritesItsFileIsReadWithItsMachine) {
  const std::string text =
      "#!/usr/bin/env bash\n#SBATCH --nodes=4\nCONFIG=$PWD/train.toml\ncat >\"$CONFIG\" <<'END'\n"
      "[training]\nlocal_batch_size = 2\n[parallelism]\ntensor_parallel_degree = 2\nEND\n"
      "srun torchrun --nnodes 2 --nproc_per_node 4 -m torchtitan.train --job.config_file "
      "\"$CONFIG\"\n";
  EXPECT_EQ(detect_dialect(text, "run.sh"), Dialect::kTorchtitan);
  const Scenario s = imported(Dialect::kTorchtitan, text);
  EXPECT_EQ(s.strategy.mesh[Axis::kTp], 2);
  EXPECT_EQ(s.workload.micro_batch, 2);
  EXPECT_EQ(s.cluster.nodes, 2);
  EXPECT_EQ(s.cluster.devices_per_node, 4);
  EXPECT_EQ(warnings(Dialect::kTorchtitan, text), "");
  const std::string wrong =
      text.substr(0, text.find("= 2")) + "= two" + text.substr(text.find("= 2") + 3);
  EXPECT_EQ(refusal(Dialect::kTorchtitan, wrong), "D003 line 6");
}

TEST(ImportTorchtitan, AStepWithinTheBackwardPassIsTold) {
  EXPECT_NE(warnings(Dialect::kTorchtitan,
                     "[training]\nsteps = 1\n[optimizer]\nearly_step_in_backward = true\n")
                .find("early_step_in_backward (line 4)"),
            std::string::npos);
}

}  // namespace plait::import_torchtitan_test
