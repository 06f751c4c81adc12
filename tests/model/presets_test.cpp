#include "model/presets.h"

#include <gtest/gtest.h>

#include <set>

namespace plait::presets_test {

std::int64_t parameters_of(const Model& m) { return count_parameters(m).total(m); }

TEST(Presets, HoldThePublishedNumberOfParameters) {
  for (const Preset& preset : presets()) {
    if (preset.published_parameters == 0) continue;
    EXPECT_NEAR(static_cast<double>(parameters_of(preset.model)),
                static_cast<double>(preset.published_parameters),
                static_cast<double>(preset.rounding))
        << preset.model.name;
  }
}

// Tensor by tensor as the Llama checkpoints store them: q, k, v, o; gate, up, down; two norms;
// embed_tokens, lm_head, norm.
std::int64_t llama_parameters(std::int64_t layers, std::int64_t h, std::int64_t f,
                              std::int64_t kv_width, std::int64_t vocab) {
  const std::int64_t attention = h * h + kv_width * h + kv_width * h + h * h;
  const std::int64_t mlp = f * h + f * h + h * f;
  return layers * (attention + mlp + h + h) + vocab * h + vocab * h + h;
}

TEST(Presets, OfLlamaStyleSumTheTensorsOfTheirCheckpoints) {
  EXPECT_EQ(parameters_of(*find_preset("llama-2-7b")),
            llama_parameters(32, 4096, 11008, 4096, 32000));
  EXPECT_EQ(parameters_of(*find_preset("llama-2-13b")),
            llama_parameters(40, 5120, 13824, 5120, 32000));
  EXPECT_EQ(parameters_of(*find_preset("llama-2-70b")),
            llama_parameters(80, 8192, 28672, 1024, 32000));
  EXPECT_EQ(parameters_of(*find_preset("llama-3.1-8b")),
            llama_parameters(32, 4096, 14336, 1024, 128256));
  EXPECT_EQ(parameters_of(*find_preset("llama-3.1-70b")),
            llama_parameters(80, 8192, 28672, 1024, 128256));
  EXPECT_EQ(parameters_of(*find_preset("llama-3.1-405b")),
            llama_parameters(126, 16384, 53248, 1024, 128256));
  EXPECT_EQ(parameters_of(*find_preset("mistral-7b")),
            llama_parameters(32, 4096, 14336, 1024, 32000));
}

TEST(Presets, QwenAddsTheBiasesOfQKAndV) {
  const std::int64_t biases = 80 * (8192 + 1024 + 1024);
  EXPECT_EQ(parameters_of(*find_preset("qwen-2.5-72b")),
            llama_parameters(80, 8192, 29568, 1024, 152064) + biases);
}

// Narayanan et al. 2021, equation (2): P = 12 l h^2 (1 + 13 / 12h + (V + s) / 12 l h); the final
// LayerNorm, 2 h, is not in it.
TEST(Presets, OfMegatronFollowEquation2) {
  for (const Preset& preset : presets()) {
    const Model& m = preset.model;
    if (m.positions != PositionKind::kLearned || !m.causal) continue;
    const std::int64_t h = m.hidden;
    EXPECT_EQ(parameters_of(m),
              m.layers * (12 * h * h + 13 * h) + (m.vocab + m.max_positions) * h + 2 * h)
        << m.name;
  }
}

// Tensor by tensor as transformers' BertForMaskedLM stores them: three tables and their norm;
// query, key, value, output, intermediate and output again, each with a bias, and two norms; the
// head's dense layer, its norm, and the bias of the output matrix, which is the table of words. The
// class itself says 109,514,298 of bert-base-uncased and 335,174,458 of bert-large-uncased.
std::int64_t bert_parameters(std::int64_t layers, std::int64_t h, std::int64_t vocab) {
  const std::int64_t norm = 2 * h, attention = 4 * (h * h + h), mlp = 2 * h * 4 * h + 4 * h + h;
  const std::int64_t embeddings = (vocab + 512 + 2) * h + norm;
  const std::int64_t head = h * h + h + norm + vocab;
  return embeddings + layers * (attention + mlp + 2 * norm) + head;
}

TEST(Presets, OfBertSumTheTensorsOfItsMaskedLanguageModel) {
  EXPECT_EQ(parameters_of(*find_preset("bert-base")), bert_parameters(12, 768, 30522));
  EXPECT_EQ(parameters_of(*find_preset("bert-large")), bert_parameters(24, 1024, 30522));
}

// Devlin et al. 2018, section 3: "BERT-BASE (L=12, H=768, A=12, Total Parameters=110M)" and "340M"
// of BERT-LARGE, which are counted with pooler and next-sentence head, h^2 + h and 2 h + 2, and
// rounded up.
TEST(Presets, OfBertAreAsLargeAsThePaperSays) {
  const auto with_all_heads = [](const char* name) {
    const Model& m = *find_preset(name);
    const std::int64_t h = m.hidden, pooler = h * h + h, next_sentence = 2 * h + 2;
    return static_cast<double>(parameters_of(m) + pooler + next_sentence);
  };
  EXPECT_NEAR(with_all_heads("bert-base") / 110e6, 1, 0.01);
  EXPECT_NEAR(with_all_heads("bert-large") / 340e6, 1, 0.02);
}

// A name of each: none hides another.
TEST(Presets, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const std::string& name : preset_names()) EXPECT_TRUE(names.insert(name).second) << name;
}

TEST(Presets, FalconHasTwoLayerNormsPerLayerAndOneEmbeddingMatrix) {
  const std::int64_t h = 8192, qkv = h * (128 + 2 * 8) * 64, mlp = 2 * h * 4 * h;
  const std::int64_t layer = 2 * (h + h) + qkv + h * h + mlp;
  EXPECT_EQ(parameters_of(*find_preset("falcon-40b")), 60 * layer + 65024 * h + 2 * h);
}

// "Mixtral uses 13B active parameters" (Jiang et al. 2024), "A3B", "A22B".
TEST(Presets, OfMixturesHaveThePublishedActiveParameters) {
  const auto active = [](const char* name) {
    const Model& m = *find_preset(name);
    return static_cast<double>(count_parameters(m).active(m)) / 1e9;
  };
  EXPECT_NEAR(active("mixtral-8x7b"), 13, 0.5);
  EXPECT_NEAR(active("mixtral-8x22b"), 39, 0.5);
  EXPECT_NEAR(active("qwen3-30b-a3b"), 3.3, 0.06);
  EXPECT_NEAR(active("qwen3-235b-a22b"), 22, 0.5);
  EXPECT_NEAR(active("qwen3-coder-480b-a35b"), 35, 0.5);
  // "21B", "2.4B" and "37B activated": without the embedding, the last one without the logits too.
  const auto without_table = [&](const char* name) {
    const Model& m = *find_preset(name);
    return active(name) - static_cast<double>(m.vocab * m.hidden) / 1e9;
  };
  EXPECT_NEAR(without_table("deepseek-v2"), 21, 0.5);
  EXPECT_NEAR(without_table("deepseek-v2-lite"), 2.4, 0.06);
  EXPECT_NEAR(without_table("deepseek-v3"), 37, 0.5);
  EXPECT_NEAR(without_table("kimi-k2"), 32, 0.5);
  // "A32B" and "A12B": without both matrices of the vocabulary.
  const auto without_both = [&](const char* name) {
    return 2 * without_table(name) - active(name);
  };
  EXPECT_NEAR(without_both("glm-4.5"), 32, 0.5);
  EXPECT_NEAR(without_both("glm-4.5-air"), 12, 0.5);
}

// Tensor by tensor as the checkpoint stores them (DeepSeek-AI 2024, arXiv 2412.19437, equations 1
// to 11): q_a, q_b, kv_a, kv_b, o; three matrices of the MLP, of each expert and of the shared one;
// the router; two norms of the layer and two of the latents.
TEST(Presets, DeepseekV3SumsTheTensorsOfItsCheckpoint) {
  const std::int64_t h = 7168, heads = 128, q = 1536, kv = 512;
  const std::int64_t attention =
      h * q + q * heads * (128 + 64) + h * (kv + 64) + kv * heads * (128 + 128) + heads * 128 * h;
  const std::int64_t norms = 2 * h + q + kv, expert = 3 * h * 2048;
  const std::int64_t dense = attention + norms + 3 * h * 18432;
  const std::int64_t moe = attention + norms + 256 * h + 257 * expert;
  EXPECT_EQ(parameters_of(*find_preset("deepseek-v3")), 3 * dense + 58 * moe + 2 * 129280 * h + h);
}

TEST(Presets, AreFoundIgnoringCase) {
  ASSERT_NE(find_preset("Llama-3.1-8B"), nullptr);
  EXPECT_EQ(find_preset("Llama-3.1-8B"), find_preset("llama-3.1-8b"));
  EXPECT_EQ(find_preset("llama-3.1-8"), nullptr);
  EXPECT_EQ(find_preset(""), nullptr);
}

TEST(Presets, HaveDistinctNamesAndSources) {
  std::set<std::string> names;
  for (const Preset& preset : presets()) {
    EXPECT_TRUE(names.insert(preset.model.name).second) << preset.model.name;
    EXPECT_FALSE(preset.source.empty()) << preset.model.name;
  }
  EXPECT_EQ(preset_names().size(), names.size());
}

TEST(Presets, HaveShapesThatFitTogether) {
  const std::set<std::string> of_another_width = {"mistral-nemo-12b",
                                                  "mistral-small-24b",
                                                  "qwen3-0.6b",
                                                  "qwen3-4b",
                                                  "qwen3-32b",
                                                  "qwen3-30b-a3b",
                                                  "qwen3-235b-a22b",
                                                  "qwen3-coder-480b-a35b",
                                                  "qwen3-next-80b-a3b",
                                                  "qwen3.5-35b-a3b",
                                                  "gemma-7b",
                                                  "gemma-2-2b",
                                                  "gemma-2-9b",
                                                  "gemma-2-27b",
                                                  "gemma-3-1b",
                                                  "gemma-3-4b",
                                                  "gemma-3-12b",
                                                  "gemma-3-27b",
                                                  "gpt-oss-20b",
                                                  "gpt-oss-120b",
                                                  "glm-4.5",
                                                  "glm-4.5-air",
                                                  "minimax-m2",
                                                  "nemotron-nano-9b-v2",
                                                  "nemotron-3-nano-30b"};
  for (const Preset& preset : presets()) {
    const Model& m = preset.model;
    const bool alike = !of_another_width.contains(m.name) && !m.latent_attention();
    EXPECT_EQ(m.query_width() == m.hidden, alike) << m.name;
    EXPECT_EQ(m.heads % m.kv_heads, 0) << m.name;
  }
}

TEST(ParameterCount, CountsATiedOutputMatrixOnce) {
  Model m = *find_preset("tiny");
  const std::int64_t untied = parameters_of(m);
  m.tied_embeddings = true;
  EXPECT_EQ(untied - parameters_of(m), m.vocab * m.hidden);
}

TEST(ParameterCount, CountsEachBiasOnTheOutputsOfItsLinear) {
  Model m = *find_preset("tiny");
  const std::int64_t plain = count_parameters(m).layer;
  m.qkv_bias = true;
  EXPECT_EQ(count_parameters(m).layer, plain + 3 * 64);
  m.qkv_bias = false;
  m.attention_output_bias = true;
  EXPECT_EQ(count_parameters(m).layer, plain + 64);
  m.attention_output_bias = false;
  m.mlp_bias = true;
  EXPECT_EQ(count_parameters(m).layer, plain + 2 * 256 + 64);
}

TEST(ParameterCount, CountsAGammaForQueriesAndOneForKeys) {
  Model m = *find_preset("tiny");
  const std::int64_t plain = count_parameters(m).layer;
  m.qk_norm = true;
  EXPECT_EQ(count_parameters(m).layer, plain + 2 * m.head_dim);
}

}  // namespace plait::presets_test
