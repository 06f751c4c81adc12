// Whether the words of records assert or deny what they name.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/published/phrases.h"
#include "scenarios/published/scenario_of.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_phrases_test {

using nlohmann::json;

std::optional<bool> compiles(const std::string& text) { return said_in(text, R"(\bcompiled?\b)"); }

TEST(PublishedPhrases, Assert) {
  for (const char* text :
       {"torch.compile", "compile=True", "FSDP2, compile, float8", "no CUDA graphs, torch.compile",
        "not fused; compiled", "torch.compile mode default. Liger off",
        "async TP without DDP, compile"}) {
    EXPECT_EQ(compiles(text), true) << text;
  }
  EXPECT_EQ(compiles("eager"), std::nullopt);
}

TEST(PublishedPhrases, Deny) {
  for (const char* text :
       {"no torch.compile", "without torch.compile", "eager, not compiled", "torch.compile off",
        "compile=False", "compile: off", "torch.compile was not used", "torch.compile is disabled",
        "without the use of torch.compile", "didn't use torch.compile", "eager instead of compile",
        "disabled compile", "--compile false --tp 2"}) {
    EXPECT_EQ(compiles(text), false) << text;
  }
}

TEST(PublishedPhrases, GraphsOfTheWholeStepAreToldByEitherArgument) {
  const auto whole = [](const char* notes) {
    json record = published_sample();
    record["notes"] = notes;
    return says(run_of(record), Phrase::kWholeStepGraph);
  };
  for (const char* notes : {"cuda_graph=full_iteration/[]", "cuda_graph=local/full_iteration",
                            "cuda_graph=local/['full_iteration']",
                            "cuda_graph_impl=local, cuda_graph_scope=full_iteration"}) {
    EXPECT_TRUE(whole(notes)) << notes;
  }
  for (const char* notes :
       {"cuda_graph=none/full_iteration", "cuda_graph=None/None",
        "cuda_graph=local/full_iteration_inference", "cuda_graph=transformer_engine/['attn']"}) {
    EXPECT_FALSE(whole(notes)) << notes;
  }
}

TEST(PublishedPhrases, TwoNegationsAssert) {
  EXPECT_EQ(said_in("no master weights: false", R"(\bmaster(?: weights)?)"), true);
}

json read(const std::string& notes, const std::string& recompute = "none") {
  json record = published_sample();
  record["parallel"] = {{"tp", 2}, {"dp", 8}, {"zero_stage", 1}};
  record["framework"] = "megatron-core";
  record["notes"] = notes;
  record["recompute"] = recompute;
  return json::parse(scenario_of(run_of(record)).json);
}

TEST(PublishedPhrases, SwitchesThatAreDeniedAreOff) {
  for (const char* notes :
       {"no torch.compile", "compile=False", "no Liger kernels", "Liger was not used"}) {
    EXPECT_FALSE(read(notes).contains("kernels")) << notes;
  }
  for (const char* notes : {"without --overlap-grad-reduce", "--tp-comm-overlap not used",
                            "tp_comm_overlap=False", "overlap_grad_reduce=None"}) {
    EXPECT_FALSE(read(notes)["strategy"].contains("data")) << notes;
    EXPECT_FALSE(read(notes)["strategy"].contains("tensor")) << notes;
  }
  EXPECT_FALSE(read("not pure bf16")["workload"]["precision"].contains("master"));
  for (const char* recompute : {"activation checkpointing off", "checkpoint=False",
                                "without recomputation", "no activation checkpointing"}) {
    EXPECT_EQ(read("", recompute)["strategy"]["recompute"], "none") << recompute;
  }
}

// Megatron-LM's method "block": the first so many layers of each chunk.
TEST(PublishedPhrases, ABlockOfLayersIsRecomputed) {
  const json four = {{"kind", "full"}, {"layers", 4}};
  for (const char* words :
       {"block 4 layers", "full, block, 4 layers", "Full (block: 4)", "block, 4 of 32 layers",
        "--recompute-granularity full --recompute-method block --recompute-num-layers 4",
        "recompute_method=block, recompute_num_layers=4", "4 layers by the method block"}) {
    EXPECT_EQ(read("", words)["strategy"]["recompute"], four) << words;
  }
  EXPECT_EQ(read("", "full (block)")["strategy"]["recompute"], "full")
      << "how many, it does not say";
  EXPECT_EQ(read("", "full uniform/1")["strategy"]["recompute"], "full");
}

TEST(PublishedPhrases, SwitchesAreReadInAnySpelling) {
  for (const char* notes :
       {"--overlap-grad-reduce --overlap-param-gather", "overlap grad reduce + param gather",
        "overlap grad reduce and param gather",
        "overlap_grad_reduce=True, overlap_param_gather=True"}) {
    EXPECT_EQ(read(notes)["strategy"]["data"],
              json::parse(R"({"overlap": true, "overlap_gathers": true})"))
        << notes;
  }
  EXPECT_EQ(read("TP_COMM_OVERLAP=True")["strategy"]["tensor"], "ring");
  EXPECT_EQ(read("CUDA graphs")["host"]["graphs"], true);
  EXPECT_FALSE(read("no CUDA graphs").contains("host"));
}

TEST(PublishedPhrases, TokensAreNotDroppedWhereThatIsDenied) {
  json record = published_sample();
  record["model"].update(json{{"experts", 8}, {"topk", 2}});
  record["parallel"] = {{"ep", 8}, {"dp", 16}};
  const auto drops = [&](const char* notes) {
    record["notes"] = notes;
    return json::parse(scenario_of(run_of(record)).json)["workload"].contains("capacity_factor");
  };
  EXPECT_TRUE(drops("token-drop"));
  for (const char* notes :
       {"no token-drop", "token-drop not used", "never drops tokens", "dropless"})
    EXPECT_FALSE(drops(notes)) << notes;
}

TEST(PublishedPhrases, AreListed) {
  json record = published_sample();
  record["notes"] = "no torch.compile; Liger kernels; bf16 moments";
  record["kernel"] = "cuDNN";
  const std::vector<std::string> assumed = scenario_of(run_of(record)).assumed;
  for (const char* words :
       {"read: no torch.compile; Liger", "kernel \"cuDNN\": attention fused, cudnn",
        "read of the state: moments bf16"}) {
    EXPECT_EQ(std::ranges::count(assumed, words), 1) << words;
  }
}

}  // namespace plait::published_phrases_test
