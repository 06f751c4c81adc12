// What is written: names that the programs know, and files that do not change unseen.

#include <gtest/gtest.h>

#include "tests/scenarios/dialects/exported.h"

namespace plait::export_test {

const std::vector<std::string> kScenarios = {
    "gpt3/gpt3-175b-64xa100",         "llama/llama-3.1-405b-16384xh100",
    "llama/llama-3.1-8b-8xh100-fsdp", "llama/llama-3.1-8b-16xh100-hybrid",
    "megatron/megatron-22b-8xa100",   "falcon/falcon-40b-384xa100",
    "systems/megatron-moe-qwen3-235b"};

/// Changes that reach the settings which no committed scenario has.
const std::vector<std::vector<Override>> kChanges = {
    {},
    {{"strategy.recompute", "full"}, {"workload.precision.matmul", "fp8"}},
    {{"workload.precision", R"({"matmul": "nvfp4", "plain_last": 4})"}},
    {{"workload.precision", R"({"matmul": "fp8", "narrow_weights": "gathered"})"}},
    {{"workload.precision", R"({"matmul": "fp8", "narrow_weights": "kept"})"}},
    {{"strategy.recompute.kind", "full"}, {"strategy.recompute.layers", "1"}},
    {{"strategy.recompute", "ops"}, {"strategy.data.overlap", "false"}},
    {{"strategy.recompute.kind", "full"}, {"strategy.recompute.every", "2"}},
    {{"workload.precision", R"({"weights": "bf16", "gradients": "bf16", "moments": "bf16"})"}},
    {{"model.qkv_bias", "true"}},
    {{"model.attention_window", "128"}, {"model.full_attention_every", "2"}},
};

TEST(Export, EachDialectHasARowAndIsReadOrWritten) {
  for (const DialectRow& row : dialects()) {
    EXPECT_EQ(&row_of(row.dialect), &row);
    EXPECT_TRUE(row.reads() || row.writes()) << row.name;
  }
  EXPECT_EQ(std::ssize(dialects()), static_cast<std::ptrdiff_t>(Dialect::kOllama) + 1);
}

TEST(Export, WritesOnlyOptionsThatTheProgramHas) {
  for (const DialectRow& row : dialects()) {
    if (!row.writes() || !row.trains) continue;
    const std::vector<std::string> known = known_options(row);
    for (const std::string& path : kScenarios) {
      for (const auto& changes : kChanges) {
        const Scenario s = scenario_at(path, changes);
        const bool refused = row.dialect == Dialect::kAccelerate && s.strategy.zero_stage % 3 != 0;
        if (!refused) expect_known(s, row, known);  // export_limits_test.cpp
      }
    }
  }
}

TEST(Export, StatesOfAServedHybridAreAnOptionThatVllmHas) {
  const DialectRow& row = row_of(Dialect::kVllm);
  const std::vector<std::string> known = known_options(row);
  const Scenario s = scenario_at("nemotron/nemotron-h-8b-1xh100-vllm");
  const std::vector<Setting> settings = settings_of(s, Dialect::kVllm, Launcher::kNone).settings;
  EXPECT_TRUE(std::ranges::any_of(
      settings, [](const Setting& set) { return set.key == "--mamba-ssm-cache-dtype"; }));
  expect_known(s, row, known);
}

std::string exported(const std::string& scenario, Dialect dialect,
                     Launcher launcher = Launcher::kNone) {
  return render(settings_of(scenario_at(scenario), dialect, launcher), launcher);
}

TEST(Export, GoldenFiles) {
  compare_with_golden("gpt3-175b.args", exported(kScenarios[0], Dialect::kMegatronCore));
  compare_with_golden("llama-3.1-405b.slurm.sh",
                      exported(kScenarios[1], Dialect::kMegatronCore, Launcher::kSlurm));
  compare_with_golden("megatron-22b.torchrun.sh",
                      exported(kScenarios[4], Dialect::kMegatronCore, Launcher::kTorchrun));
  compare_with_golden("llama-3.1-8b.deepspeed.json", exported(kScenarios[2], Dialect::kDeepSpeed));
  compare_with_golden("llama-3.1-8b.toml", exported(kScenarios[2], Dialect::kTorchtitan));
  compare_with_golden("llama-3.1-405b.torchtitan.sh",
                      exported(kScenarios[1], Dialect::kTorchtitan, Launcher::kTorchrun));
  compare_with_golden("llama-3.1-8b-hybrid.yaml", exported(kScenarios[3], Dialect::kAccelerate));
  compare_with_golden("falcon-40b.vllm.txt", exported(kScenarios[5], Dialect::kVllm));
  compare_with_golden("qwen3-235b.args", exported(kScenarios[6], Dialect::kMegatronCore));
  compare_with_golden("deepseek-v3.args", exported("systems/deepseek-v3", Dialect::kMegatronCore));
}

// A hybrid of rings and exchanges is not said, but how many ranks share a sequence.
TEST(Export, AccelerateCountsAllRanksOfASequence) {
  const std::string text = exported("systems/usp-hybrid", Dialect::kAccelerate);
  EXPECT_NE(text.find("num_processes: 32\n"), std::string::npos) << text;
  EXPECT_NE(text.find("parallelism_config_cp_size: 16\n"), std::string::npos) << text;
  EXPECT_NE(text.find("strategy.context.kind = hybrid"), std::string::npos) << text;
}

// Gradients are sent in bf16 and kept in fp32. The second reduces otherwise and the third keeps
// otherwise, each as by Plait's default.
TEST(Export, AccelerateListsGradientsThatItKeepsOrReducesInAnotherType) {
  const auto listed = [](const char* precision) {
    const Scenario s = scenario_at(kScenarios[2], {{"workload.precision", precision}});
    std::string out;
    for (const std::string& field : settings_of(s, Dialect::kAccelerate, Launcher::kNone).unsaid) {
      if (field.starts_with("workload.precision.")) out += field.substr(19) + ";";
    }
    return out;
  };
  EXPECT_EQ(listed(R"({"weights": "bf16", "gradients": "fp32", "reduction": "bf16"})"), "");
  EXPECT_EQ(listed(R"({"weights": "bf16", "gradients": "fp32"})"), "reduction = fp32;");
  EXPECT_EQ(listed(R"({"weights": "bf16", "gradients": "bf16"})"), "gradients = bf16;");
}

// Of tp 4 ranks pairs split an expert: 8 ranks along ep by 2 along tp have different ones.
TEST(Export, MegatronCountsTheRanksOfExperts) {
  const Scenario s =
      load_scenario(kRoot + "/scenarios/" + kScenarios[6] + ".json",
                    {{"strategy.tp", "4"}, {"strategy.expert_tp", "2"}, {"strategy.ep", "8"}});
  const auto argument =
      [settings = settings_of(s, Dialect::kMegatronCore, Launcher::kNone)](const char* name) {
        return std::ranges::find(settings.settings, name, &Setting::key)->value;
      };
  EXPECT_EQ(argument("--tensor-model-parallel-size"), "4");
  EXPECT_EQ(argument("--expert-tensor-parallel-size"), "2");
  EXPECT_EQ(argument("--expert-model-parallel-size"), "16");
}

TEST(Export, MegatronSaysHowTokensGetToExperts) {
  const Scenario s = load_scenario(kRoot + "/scenarios/" + kScenarios[6] + ".json",
                                   {{"strategy.expert_dispatch", "all_gather"}});
  const Settings settings = settings_of(s, Dialect::kMegatronCore, Launcher::kNone);
  EXPECT_EQ(
      std::ranges::find(settings.settings, "--moe-token-dispatcher-type", &Setting::key)->value,
      "allgather");
}

// megatron/training/training.py, get_optimizer_param_scheduler: it does not start without both.
TEST(Export, MegatronIsToldHowLongToTrainOrAsksForIt) {
  const auto text = [](const std::vector<Override>& changes) {
    return render(
        settings_of(scenario_at(kScenarios[0], changes), Dialect::kMegatronCore, Launcher::kNone),
        Launcher::kNone);
  };
  const std::string open = text({}), told = text({{"training.tokens", "2048000"}});
  EXPECT_NE(open.find("\n# to be added: --train-iters or --train-samples; --lr\n"),
            std::string::npos);
  EXPECT_NE(told.find("\n--train-samples 1000\n"), std::string::npos) << told;
  EXPECT_NE(told.find("\n# to be added: --lr\n"), std::string::npos);
  EXPECT_EQ(told.find("training.tokens"), std::string::npos);
  const std::string part = text({{"training.tokens", "2048001"}});
  EXPECT_NE(part.find("training.tokens"), std::string::npos) << part;
}

TEST(Export, GoldenFilesOfWeightsThatAreGatheredIn8Bits) {
  const auto narrow = [](const std::string& path, Dialect dialect, Override change) {
    const Scenario s = load_scenario(kRoot + "/scenarios/" + path + ".json",
                                     {{"workload.precision.matmul", "fp8"},
                                      {"workload.precision.narrow_weights", "gathered"},
                                      std::move(change)});
    return render(settings_of(s, dialect, Launcher::kNone), Launcher::kNone);
  };
  compare_with_golden("llama-3.1-405b-fp8.args",
                      narrow(kScenarios[1], Dialect::kMegatronCore, {"strategy.zero_stage", "1"}));
  compare_with_golden(
      "llama-3.1-8b-fp8.toml",
      narrow(kScenarios[2], Dialect::kTorchtitan, {"strategy.fsdp_options.early_scales", "true"}));
}

TEST(Export, WhatOnlyTrainsServesNothing) {
  for (const Dialect dialect :
       {Dialect::kMegatronCore, Dialect::kDeepSpeed, Dialect::kTorchtitan, Dialect::kAccelerate}) {
    try {
      exported("systems/vllm-llama-3.1-70b", dialect);
      ADD_FAILURE() << "accepted";
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "D009");
    }
  }
}

TEST(Export, VllmIsGivenTheReleaseOnlyWhereItHasTheWeights) {
  const auto text = [](const std::string& model, const std::string& serving) {
    const Scenario s = parse_scenario(R"({"model": ")" + model +
                                          R"(", "cluster": "hgx-h100", "strategy": {"tp": 8},
                                          "serving": {)" +
                                          serving + "}}",
                                      "s.json");
    return render(settings_of(s, Dialect::kVllm, Launcher::kNone), Launcher::kNone);
  };
  const auto has = [](const std::string& all, const std::string& part) {
    return all.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(text("llama-3.1-70b", ""), "vllm serve meta-llama/Llama-3.1-70B"));
  EXPECT_TRUE(has(text("llama-3.1-70b", R"("products": "fp8")"), "serve meta-llama/Llama-3.1-70B"));
  for (const char* weights : {"int4", "q4_k"}) {
    const std::string all =
        text("llama-3.1-70b", R"("weights": ")" + std::string(weights) + R"(")");
    EXPECT_TRUE(has(all, "vllm serve \"$MODEL\"")) << all;
    EXPECT_TRUE(has(all,
                    "# to be added: MODEL: a checkpoint of llama-3.1-70b with linear layers "
                    "in " +
                        std::string(weights)))
        << all;
  }
  EXPECT_TRUE(has(text("llama-3.1-70b", R"("head_weights": "int8")"), "the output matrix in int8"));
  const std::string own = text("gpt-oss-120b", R"("expert_weights": "mxfp4")");
  EXPECT_TRUE(has(own, "vllm serve openai/gpt-oss-120b")) << own;
  EXPECT_FALSE(has(own, "expert_weights")) << own;
  EXPECT_TRUE(has(text("gpt-oss-120b", ""), "gpt-oss-120b with weights in bf16"));
}

TEST(Export, VllmIsGivenNoLimitsThatItDoesNotStartWith) {
  const auto code = [](const std::string& engine) -> std::string {
    const Scenario s = parse_scenario(R"({"model": "llama-3.1-8b", "cluster": "hgx-h100",
      "strategy": {"tp": 8}, "serving": {"engine": {)" +
                                          engine + "}}}",
                                      "s.json");
    try {
      settings_of(s, Dialect::kVllm, Launcher::kNone);
    } catch (const InputError& e) {
      return e.text().code;
    }
    return "";
  };
  EXPECT_EQ(code(R"("max_num_batched_tokens": 100, "max_num_seqs": 101)"), "D011");
  EXPECT_EQ(code(R"("max_num_batched_tokens": 100, "max_num_seqs": 100)"), "");
  EXPECT_EQ(code(R"("block_size": 17)"), "D011");
  EXPECT_EQ(code(R"("block_size": 32)"), "");
  const std::string whole = R"("chunked_prefill": false, "max_num_batched_tokens": 4096, )";
  EXPECT_EQ(code(whole + R"("max_model_len": 8192)"), "D011");
  EXPECT_EQ(code(whole + R"("max_model_len": 4096)"), "");
}

TEST(Export, WhatVllmDoesOtherwiseIsListedWhereItIsAsByDefault) {
  const std::string text = exported("systems/vllm-mixtral-8x7b", Dialect::kVllm);
  EXPECT_NE(text.find("serving.divide_experts = false"), std::string::npos) << text;
}

TEST(Export, WhatIsAsByDefaultIsNotListed) {
  const Settings s =
      settings_of(scenario_at("systems/vllm-llama-3.1-70b"), Dialect::kVllm, Launcher::kNone);
  for (const std::string& field : s.unsaid) {
    EXPECT_TRUE(field == "cluster" || field.starts_with("serving.requests.rate_per_s") ||
                field.starts_with("serving.requests.kinds"))
        << field;
  }
}

TEST(Export, ANameStaysInItsComment) {
  for (const char* name : {"a\nrm -rf x", "a\r\tx", "a\u2028x: y", "a\u0085x: y"}) {
    for (const DialectRow& row : dialects()) {
      const bool quotes = row.dialect == Dialect::kDeepSpeed;  // JSON, which has no comments
      if (!row.writes() || !row.trains || quotes) continue;
      Settings s = settings_of(scenario_at(kScenarios[2]), row.dialect, Launcher::kNone);
      s.scenario = name, s.unsaid = {name}, s.asked = {name};
      const std::string text = render(s, Launcher::kNone);
      for (const char* part : {"\nrm -rf x", "\r", "\t", "\u2028", "\u0085"}) {
        EXPECT_EQ(text.find(part), std::string::npos) << row.name << text;
      }
    }
  }
}

TEST(Export, ListsOfLayersAreNoPatternsOfTheShell) {
  const std::string text = exported("systems/deepseek-v3", Dialect::kMegatronCore);
  EXPECT_NE(text.find("\n--moe-layer-freq '[0,0,0,1,"), std::string::npos) << text;
}

TEST(Export, TorchtitanIsAskedForAModelThatItHasUnderNoName) {
  const std::string text = exported("qwen/qwen-2.5-72b-128xh200", Dialect::kTorchtitan);
  EXPECT_NE(text.find("\n# to be added: name and flavor of qwen-2.5-72b in [model]\n"),
            std::string::npos)
      << text;
}

TEST(Export, AccelerateAsksWhereItsMachinesMeet) {
  EXPECT_NE(exported(kScenarios[3], Dialect::kAccelerate)
                .find("\n# to be added: main_process_ip and main_process_port; machine_rank"),
            std::string::npos);
  EXPECT_EQ(exported(kScenarios[2], Dialect::kAccelerate).find("to be added"), std::string::npos);
}

// A tray is a host of 4 GPUs, and 18 of them are one domain of NVLink.
TEST(Export, LaunchersStartOnHosts) {
  const Scenario s = scenario_at(
      kScenarios[0], {{"cluster", R"({"preset": "gb200-nvl72", "devices_per_node": 64})"}});
  const std::string text =
      render(settings_of(s, Dialect::kMegatronCore, Launcher::kSlurm), Launcher::kSlurm);
  EXPECT_NE(text.find("--nodes=16\n"), std::string::npos) << text;
  EXPECT_NE(text.find("--gpus-per-node=4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("--nnodes 16 --nproc_per_node 4 "), std::string::npos) << text;
}

TEST(Export, VllmAsksForADrafterThatHasNoName) {
  EXPECT_NE(exported("systems/vllm-llama-3.1-70b-eagle", Dialect::kVllm)
                .find("\n# to be added: \"model\" of --speculative-config"),
            std::string::npos);
}

// Both ends count 1 where nothing is said; 32 layers on 4 stages are 8 each, or 7, 9, 9, 7.
TEST(Export, TorchtitanIsToldWhatTheEndsCount) {
  const auto ends = [](std::vector<Override> changes) {
    changes.push_back({"strategy.pp", "4"});
    changes.push_back({"strategy.fsdp", "2"});
    const Settings s =
        settings_of(scenario_at(kScenarios[2], changes), Dialect::kTorchtitan, Launcher::kNone);
    std::string out;
    for (const char* key :
         {"layers_per_stage", "first_stage_less_layers", "last_stage_less_layers"}) {
      const auto found =
          std::ranges::find(s.settings, std::string("pipeline_parallel_") + key, &Setting::key);
      out += found == s.settings.end() ? "-" : found->value;
    }
    return out;
  };
  EXPECT_EQ(ends({}), "800");
  EXPECT_EQ(ends({{"strategy.pipeline.first_stage_layers", "7"},
                  {"strategy.pipeline.last_stage_layers", "7"}}),
            "922");
  EXPECT_EQ(ends({{"strategy.pipeline.first_stage_layers", "10"},
                  {"strategy.pipeline.last_stage_layers", "10"}}),
            "---");
}

TEST(Export, ALauncherStartsOnlyWhatItCan) {
  try {
    exported(kScenarios[2], Dialect::kDeepSpeed, Launcher::kTorchrun);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "D007");
  }
}

}  // namespace plait::export_test
