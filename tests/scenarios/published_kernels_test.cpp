// Which ops published runs have as one kernel, by the words of their notes.
#include <gtest/gtest.h>

#include "scenarios/published/scenario_of.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_kernels_test {

using nlohmann::json;

json kernels(const std::string& notes) {
  json record = published_sample();
  record["notes"] = notes;
  return json::parse(scenario_of(run_of(record)).json).value("kernels", json::object());
}

TEST(PublishedKernels, BehindFused) {
  EXPECT_EQ(kernels("fused layernorm, swiglu, cross entropy, rotary; per-GPU batch of 16k tokens"),
            json::parse(R"({"norm": "fused", "activation": "fused", "cross_entropy": "fused",
                            "rope": "fused"})"));
  EXPECT_EQ(kernels("fused dense, gelu, cross entropy, dropout-add-layernorm; fp32 residual"),
            json::parse(R"({"activation": "fused", "cross_entropy": "fused", "norm": "fused"})"));
  EXPECT_EQ(kernels("fused RMSNorm and RoPE"),
            json::parse(R"({"norm": "fused", "rope": "fused"})"));
  EXPECT_EQ(kernels("fused RMSNorm=False; sharding stage 2"), json::parse(R"({"norm": "eager"})"));
  for (const char* words : {"fused RMSNorm not used", "no fused layernorm", "without fused RMSNorm",
                            "fused RMSNorm: off"}) {
    EXPECT_EQ(kernels(words), json::parse(R"({"norm": "eager"})")) << words;
  }
  EXPECT_EQ(kernels("flash attention, fused RMSNorm=True"), json::parse(R"({"norm": "fused"})"));
}

// In fours of sequences times heads of a rank, which are 8, 2 and 1 here.
TEST(PublishedKernels, AnUnstatedMicroBatchIsOneThatMegatronsSoftmaxTakes) {
  json record = published_sample();
  record["batch"] = {{"global_batch", 64}};
  const auto taken = [&](const std::string& source, std::int64_t heads, std::int64_t tp) {
    record["source"] = source;
    record["model"]["heads"] = record["model"]["kv_heads"] = heads;
    record["parallel"]["tp"] = tp, record["parallel"]["dp"] = 4 / tp;
    return json::parse(scenario_of(run_of(record)).json)["workload"]["micro_batch"];
  };
  EXPECT_EQ(taken("Narayanan et al. SC21", 16, 2), 1);
  EXPECT_EQ(taken("Narayanan et al. SC21", 4, 2), 2);
  EXPECT_EQ(taken("Narayanan et al. SC21", 4, 4), 4);
  EXPECT_EQ(taken("Megatron-Core", 4, 2), 1) << "whose attention is fused";
}

TEST(PublishedKernels, OfLibraries) {
  const json all = json::parse(
      R"({"norm": "fused", "rope": "fused", "activation": "fused", "cross_entropy": "fused"})");
  EXPECT_EQ(kernels("Liger kernel"), all);
  EXPECT_EQ(kernels("apex fused norm"), json::parse(R"({"norm": "fused"})"));
  EXPECT_EQ(kernels("Triton RMSNorm"), json::parse(R"({"norm": "fused"})"));
  EXPECT_EQ(kernels("flash-attn's fused ops"),
            json::parse(R"({"norm": "fused", "rope": "fused", "cross_entropy": "fused"})"));
}

TEST(PublishedKernels, WordsThatNameNone) {
  for (const char* words : {"no fused kernels", "AdamW fused; bf16 compute", "fused",
                            "attention kernel: fused. MFU normalised with 312 TFLOP/s",
                            "unfused cross entropy", "fused by hand, norm by norm"}) {
    EXPECT_TRUE(kernels(words).empty()) << words << kernels(words);
  }
}

json scenario_with(const std::string& kernel) {
  json record = published_sample();
  record["kernel"] = kernel;
  return json::parse(scenario_of(run_of(record)).json);
}
json flash_with(const std::string& kernel) {
  return scenario_with(kernel)["workload"].value("flash_attention", json());
}

TEST(PublishedKernels, OfAttentionByTheNamesThatScenariosHave) {
  for (const char* name : {"flash1", "flash2", "flash4", "cudnn", "sdpa", "newest"}) {
    const json s = scenario_with(name);
    EXPECT_EQ(s["workload"]["flash_attention"], true) << name;
    EXPECT_EQ(s["kernels"]["attention"], name);
  }
}

TEST(PublishedKernels, OfAttentionByTheirLibraries) {
  for (const char* fused :
       {"cuDNN fused attention", "TE fused attention", "xFormers memory efficient",
        "Transformer Engine DotProductAttention", "torch SDPA (flash v2)",
        "scaled_dot_product_attention", "FlashAttention-3"}) {
    EXPECT_EQ(flash_with(fused), true) << fused;
  }
  for (const char* apart : {"fused", "torch", "eager attention", "flash attention off",
                            "no FlashAttention", "without flash-attn", "flash_attention=False"}) {
    EXPECT_EQ(flash_with(apart), false) << apart;
  }
  EXPECT_EQ(scenario_with("torch SDPA (flash v2)")["kernels"]["attention"], "flash2");
}

// The compiler makes one kernel of scale, mask and softmax, which PyTorch runs one by one.
TEST(PublishedKernels, CompilingLayersMakesOneOfTheSoftmaxToo) {
  json record = published_sample();
  record["kernel"] = "torch";
  const auto softmax = [&] {
    return json::parse(scenario_of(run_of(record)).json)["kernels"]["softmax"];
  };
  record["notes"] = "torch.compile=False";
  EXPECT_EQ(softmax(), "eager");
  record["notes"] = "torch.compile";
  EXPECT_EQ(softmax(), "fused");
}

// A kernel of something else, or of nobody.
TEST(PublishedKernels, UnknownWordsLeaveAttentionToTheProfile) {
  EXPECT_TRUE(flash_with("Liger").is_null());
  EXPECT_TRUE(flash_with("in-house").is_null());
}

}  // namespace plait::published_kernels_test
