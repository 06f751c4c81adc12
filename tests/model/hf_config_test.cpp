#include "model/hf_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/presets.h"
#include "tests/model/hf_configs.h"

namespace plait::hf_config_test {

// Keys and values as published with meta-llama/Llama-3.1-8B.
constexpr const char* kLlama31 = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
  "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
  "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false,
  "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "rope_theta": 500000.0,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 128256})";

TEST(HfConfig, OfLlama31IsThePreset) {
  const ImportedModel got = import_hf_config(kLlama31, "config.json");
  expect_same_shape(got.model, *find_preset("llama-3.1-8b"));
  EXPECT_EQ(got.dtype, DType::kBf16);
  EXPECT_TRUE(got.assumed_defaults.empty());
}

TEST(HfConfig, ListsKeysThatMayMatterInTheOrderOfTheFile) {
  EXPECT_TRUE(import_hf_config(kLlama31, "config.json").ignored_keys.empty());
  const ImportedModel got = import_hf_config(R"({"model_type": "qwen2", "use_mrope": true,
      "layer_types": ["full_attention"], "rope_theta": 1e6, "attn_logit_cap": null})",
                                             "config.json");
  EXPECT_EQ(got.ignored_keys, (std::vector<std::string>{"use_mrope", "layer_types"}));
}

using Layers = std::vector<bool>;

/// Of a model of 4 layers, those with a window of `size` tokens; all others see all tokens.
Layers windowed(const std::string& keys, std::int64_t size) {
  const ImportedModel got =
      import_hf_config(R"({"num_hidden_layers": 4, )" + keys + "}", "config.json");
  EXPECT_TRUE(got.ignored_keys.empty()) << keys;
  Layers out;
  for (std::int64_t l = 0; l < 4; ++l) out.push_back(got.model.has_window(l));
  EXPECT_EQ(got.model.attention_window, got.model.windowed_layers() > 0 ? size : 0) << keys;
  return out;
}

TEST(HfConfig, QwensWindowsAreBehindTheFirstLayersWhereTheyAreSwitchedOn) {
  const std::string qwen = R"("model_type": "qwen2", "sliding_window": 9, )";
  const std::string on = qwen + R"("use_sliding_window": true, )";
  EXPECT_EQ(windowed(on + R"("max_window_layers": 1)", 9), (Layers{false, true, true, true}));
  EXPECT_EQ(windowed(on + R"("max_window_layers": 0)", 9), Layers(4, true));
  EXPECT_EQ(windowed(on + R"("max_window_layers": 28)", 9), Layers(4, false));
  EXPECT_EQ(windowed(qwen + R"("use_sliding_window": false, "max_window_layers": 1)", 9),
            Layers(4, false));
  EXPECT_EQ(windowed(qwen + R"("max_window_layers": 1)", 9), Layers(4, false));
}

TEST(HfConfig, WindowsAreThoseOfTheClassWhereAFileSaysNothing) {
  EXPECT_EQ(windowed(R"("model_type": "mistral")", 4096), Layers(4, true));
  EXPECT_EQ(windowed(R"("model_type": "mistral", "sliding_window": null)", 0), Layers(4, false));
  EXPECT_EQ(windowed(R"("model_type": "mixtral")", 0), Layers(4, false));
  EXPECT_EQ(windowed(R"("model_type": "phi3", "sliding_window": 2047)", 2047), Layers(4, true));
  EXPECT_EQ(windowed(R"("model_type": "gpt_oss")", 128), (Layers{true, false, true, false}));
}

TEST(HfConfig, AListOfLayersComesBeforeTheRule) {
  const auto listed = [](const std::string& types) {
    return windowed(
        R"("model_type": "gpt_oss", "sliding_window": 5, "layer_types": [)" + types + "]", 5);
  };
  const std::string window = R"("sliding_attention")", all = R"("full_attention")";
  const std::string comma = ", ";
  EXPECT_EQ(listed(window + comma + window + comma + all + comma + window),
            (Layers{true, true, false, true}));
  EXPECT_EQ(listed(all + comma + all + comma + window + comma + window),
            (Layers{false, false, true, true}));
  EXPECT_EQ(listed(all + comma + all + comma + all + comma + all), Layers(4, false));
}

TEST(HfConfigRefusal, OfListsOfLayersThatAreNotPlanned) {
  const auto code = [](const std::string& types) {
    return refusal(R"({"model_type": "gpt_oss", "num_hidden_layers": 4, "layer_types": [)" + types +
                   "]}")
        .code;
  };
  const std::string window = R"("sliding_attention")", all = R"("full_attention")";
  EXPECT_EQ(code(window + ", " + all), "M006");
  EXPECT_EQ(code(window + ", " + all + ", " + all + ", " + window), "M004");
  EXPECT_EQ(code(R"("linear_attention")"), "M004");
}

// Keys and values as published with openai/gpt-oss-20b; without those of its stored weights.
TEST(HfConfig, OfGptOssIsThePreset) {
  std::string types;
  for (int i = 0; i < 12; ++i) {
    types += std::string(i > 0 ? ", " : "") + R"("sliding_attention", "full_attention")";
  }
  const ImportedModel got = import_hf_config(
      R"({"model_type": "gpt_oss", "attention_bias": true, "attention_dropout": 0.0,
      "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2880,
      "intermediate_size": 2880, "max_position_embeddings": 131072, "num_attention_heads": 64,
      "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 8,
      "num_local_experts": 32, "sliding_window": 128, "tie_word_embeddings": false,
      "vocab_size": 201088, "layer_types": [)" +
          types + "]}",
      "config.json");
  expect_same_shape(got.model, *find_preset("gpt-oss-20b"));
  EXPECT_TRUE(got.assumed_defaults.empty());
}

TEST(HfConfig, OfMistralIsThePreset) {
  const ImportedModel got = import_hf_config(R"({"model_type": "mistral", "hidden_size": 4096,
      "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768,
      "sliding_window": 4096, "torch_dtype": "bfloat16"})",
                                             "config.json");
  expect_same_shape(got.model, *find_preset("mistral-7b-v0.1"));
  EXPECT_TRUE(got.ignored_keys.empty());
}

TEST(HfConfig, OfQwen25IsThePresetWithItsQkvBias) {
  expect_same_shape(imported(R"({"model_type": "qwen2", "hidden_size": 8192,
      "intermediate_size": 29568, "num_attention_heads": 64, "num_hidden_layers": 80,
      "num_key_value_heads": 8, "vocab_size": 152064, "max_position_embeddings": 131072,
      "tie_word_embeddings": false, "hidden_act": "silu"})"),
                    *find_preset("qwen-2.5-72b"));
}

TEST(HfConfig, OfFalcon40bIsThePreset) {
  expect_same_shape(imported(R"({"model_type": "falcon", "alibi": false, "bias": false,
      "hidden_size": 8192, "new_decoder_architecture": true, "num_attention_heads": 128,
      "num_hidden_layers": 60, "num_kv_heads": 8, "parallel_attn": true, "vocab_size": 65024,
      "attention_dropout": 0.0, "hidden_dropout": 0.0})"),
                    *find_preset("falcon-40b"));
}

TEST(HfConfig, OfFalconReadsItsLegacyNames) {
  expect_same_shape(imported(R"({"model_type": "falcon", "n_embed": 8192, "n_head": 128,
      "n_layer": 60, "n_head_kv": 8, "new_decoder_architecture": true, "vocab_size": 65024})"),
                    *find_preset("falcon-40b"));
}

TEST(HfConfig, OfGpt2IsThePresetWithLearnedPositionsAndTiedEmbeddings) {
  const ImportedModel got = import_hf_config(
      R"({"model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12,
          "n_positions": 1024, "vocab_size": 50257, "activation_function": "gelu_new",
          "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1})",
      "config.json");
  expect_same_shape(got.model, *find_preset("gpt2"));
  EXPECT_EQ(got.ignored_keys, (std::vector<std::string>{"n_ctx", "embd_pdrop"}));
  EXPECT_TRUE(holds(got.assumed_defaults, "n_inner = 3072"));
}

// GPT-NeoX-20B (Black et al. 2022, arXiv 2204.06745): the class defaults are its shape. Layer:
// 12 h^2 + 13 h with all biases and two LayerNorms; untied embeddings of 50,432 rows.
TEST(HfConfig, OfGptNeoxWithoutAnyKeyIsTheTwentyBillionModel) {
  const Model m = imported(R"({"model_type": "gpt_neox"})");
  const std::int64_t h = 6144;
  EXPECT_EQ(total(m), 44 * (12 * h * h + 13 * h) + 2 * 50432 * h + 2 * h);
  expect_same_shape(m, *find_preset("gpt-neox-20b"));
  EXPECT_EQ(imported(R"({"model_type": "gpt_neox", "rotary_pct": 1.0})").rope_head_dim, 0);
  EXPECT_EQ(refusal(R"({"model_type": "gpt_neox", "rotary_pct": 1.5})").code, "M005");
}

// Keys and values as published with google/gemma-2-9b and google/gemma-3-27b-pt.
TEST(HfConfig, OfGemma2And3AreThePresets) {
  const ImportedModel two = import_hf_config(R"({"architectures": ["Gemma2ForCausalLM"],
      "attention_bias": false, "attention_dropout": 0.0, "attn_logit_softcapping": 50.0,
      "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": 1,
      "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
      "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 3584, "initializer_range": 0.02,
      "intermediate_size": 14336, "max_position_embeddings": 8192, "model_type": "gemma2",
      "num_attention_heads": 16, "num_hidden_layers": 42, "num_key_value_heads": 8,
      "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06,
      "rope_theta": 10000.0, "sliding_window": 4096, "sliding_window_size": 4096,
      "torch_dtype": "float32", "use_cache": true, "vocab_size": 256000})",
                                             "config.json");
  expect_same_shape(two.model, *find_preset("gemma-2-9b"));
  EXPECT_EQ(two.ignored_keys, std::vector<std::string>{"sliding_window_size"});
  const ImportedModel three = import_hf_config(R"({"architectures":
      ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "text_config": {"head_dim": 128,
      "hidden_size": 5376, "intermediate_size": 21504, "model_type": "gemma3_text",
      "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16,
      "query_pre_attn_scalar": 168, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
      "sliding_window": 1024}, "torch_dtype": "bfloat16"})",
                                               "config.json");
  expect_same_shape(three.model, *find_preset("gemma-3-27b"));
  EXPECT_FALSE(three.model.has_window(5)) << "the sixth layer sees all";
}

// Granite 3.0 8B: Llama's layers, with multipliers that change no shape.
TEST(HfConfig, OfGraniteLeavesOutItsMultipliers) {
  const ImportedModel got = import_hf_config(R"({"model_type": "granite", "hidden_size": 4096,
      "intermediate_size": 12800, "num_hidden_layers": 40, "num_attention_heads": 32,
      "num_key_value_heads": 8, "vocab_size": 49155, "tie_word_embeddings": true,
      "embedding_multiplier": 12.0, "attention_multiplier": 0.0078125,
      "residual_multiplier": 0.22, "logits_scaling": 16.0})",
                                             "config.json");
  EXPECT_TRUE(got.ignored_keys.empty());
  EXPECT_EQ(total(got.model), 8'170'848'256);
}

TEST(HfConfig, MissingKeysTakeTheClassDefaultsAndAreListed) {
  const ImportedModel got = import_hf_config(R"({"model_type": "llama"})", "config.json");
  Model llama7b = *find_preset("llama-2-7b");
  llama7b.max_positions = 2048;  // the class default is that of the first Llama
  expect_same_shape(got.model, llama7b);
  EXPECT_TRUE(holds(got.assumed_defaults, "hidden_size = 4096"));
  EXPECT_TRUE(holds(got.assumed_defaults, "num_key_value_heads = 32"));
  EXPECT_TRUE(got.ignored_keys.empty());
  EXPECT_EQ(got.model.name, "llama");
  EXPECT_EQ(got.dtype, std::nullopt);
}

TEST(HfConfig, AbsentKeyValueHeadsAreTheClassDefaultAndNullIsOnePerHead) {
  EXPECT_EQ(imported(R"({"model_type": "mistral"})").kv_heads, 8);
  EXPECT_EQ(imported(R"({"model_type": "mistral", "num_key_value_heads": null})").kv_heads, 32);
}

TEST(HfConfig, ExplicitHeadDimWins) {
  const Model m = imported(R"({"model_type": "mistral", "hidden_size": 5120, "head_dim": 128})");
  EXPECT_EQ(m.head_dim, 128);
  EXPECT_EQ(m.query_width(), 32 * 128);
  EXPECT_EQ(imported(R"({"model_type": "mistral", "head_dim": null})").head_dim, 4096 / 32);
}

TEST(HfConfig, DtypeHasAnOldAndANewName) {
  const auto dtype = [](const std::string& text) {
    return import_hf_config(text, "config.json").dtype;
  };
  EXPECT_EQ(dtype(R"({"model_type": "llama", "torch_dtype": "float16"})"), DType::kFp16);
  EXPECT_EQ(dtype(R"({"model_type": "llama", "dtype": "float32"})"), DType::kFp32);
  EXPECT_EQ(dtype(R"({"model_type": "llama", "dtype": "auto"})"), std::nullopt);
  EXPECT_EQ(refusal(R"({"model_type": "llama", "dtype": "bfloat61"})").code, "M007");
}

TEST(HfConfig, TextConfigComesBeforeTheOuterKeys) {
  const ImportedModel got = import_hf_config(
      R"({"model_type": "llava", "vision_config": {"hidden_size": 1024}, "hidden_size": 1,
          "torch_dtype": "bfloat16",
          "text_config": {"model_type": "mistral", "hidden_size": 2048, "sliding_window": 9}})",
      "config.json");
  EXPECT_EQ(got.model.hidden, 2048);
  EXPECT_EQ(got.model.kv_heads, 8);
  EXPECT_EQ(got.dtype, DType::kBf16);
  EXPECT_EQ(got.model.attention_window, 9);
  EXPECT_EQ(got.ignored_keys,
            (std::vector<std::string>{"model_type", "vision_config", "hidden_size"}));
}

TEST(HfConfig, NameIsThatOfTheRepositoryWhenStated) {
  EXPECT_EQ(
      imported(R"({"model_type": "llama", "_name_or_path": "meta-llama/Llama-2-7b-hf"})").name,
      "meta-llama/Llama-2-7b-hf");
}

TEST(HfConfigRefusal, OfBrokenJsonIsThatOfTheJsonReader) {
  EXPECT_EQ(refusal(R"({"model_type": "llama",)").code.substr(0, 1), "J");
}

// Keys and values as published with Qwen/Qwen3-8B.
TEST(HfConfig, Qwen3IsThePresetOfThatName) {
  const Model qwen = imported(R"({"model_type": "qwen3", "attention_bias": false,
      "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 12288,
      "max_position_embeddings": 40960, "num_attention_heads": 32, "num_hidden_layers": 36,
      "num_key_value_heads": 8, "sliding_window": null, "tie_word_embeddings": false,
      "vocab_size": 151936})");
  expect_same_shape(qwen, *find_preset("qwen3-8b"));
}

// Sums of the tensors of google/gemma-7b and microsoft/Phi-3-mini-4k-instruct.
TEST(HfConfig, ReadsGemmaWithWideHeadsAndPhi3) {
  const Model gemma = imported(R"({"model_type": "gemma", "head_dim": 256, "hidden_act": "gelu",
      "hidden_size": 3072, "intermediate_size": 24576, "num_attention_heads": 16,
      "num_hidden_layers": 28, "num_key_value_heads": 16, "vocab_size": 256000})");
  EXPECT_EQ(total(gemma), 8'537'680'896);
  EXPECT_TRUE(gemma.gated_mlp && gemma.tied_embeddings);
  EXPECT_EQ(gemma.activation, ActivationKind::kGelu);
  const ImportedModel newer = import_hf_config(
      R"({"model_type": "gemma2", "hidden_activation": "gelu_pytorch_tanh"})", "config.json");
  for (const std::string& assumed : newer.assumed_defaults)
    EXPECT_EQ(assumed.find("hidden_act"), std::string::npos) << assumed;
  const Model phi = imported(R"({"model_type": "phi3", "hidden_act": "silu", "hidden_size": 3072,
      "intermediate_size": 8192, "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 32, "sliding_window": 2047, "vocab_size": 32064})");
  EXPECT_EQ(total(phi), 3'821'079'552);
}

TEST(HfConfigRefusal, OfExpertsNamesTheKeyInAllThreeSpellings) {
  for (const std::string key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    const auto text = refusal(R"({"model_type": "llama", ")" + key + R"(": 8})");
    EXPECT_EQ(text.code, "M004");
    EXPECT_EQ(text.where.path, key);
    EXPECT_NE(text.problem.find("not yet planned"), std::string::npos);
    EXPECT_NE(text.problem.find(key), std::string::npos);
  }
}

TEST(HfConfigRefusal, OfLatentAttentionNamesTheKey) {
  const auto text = refusal(R"({"model_type": "llama", "kv_lora_rank": 512})");
  EXPECT_EQ(text.code, "M004");
  EXPECT_EQ(text.where.path, "kv_lora_rank");
}

TEST(HfConfigRefusal, DoesNotMeanKeysThatAreNullOrZero) {
  EXPECT_EQ(imported(R"({"model_type": "llama", "num_experts": 0, "q_lora_rank": null})").hidden,
            4096);
}

TEST(HfConfigRefusal, OfAnUnknownFamilyListsTheKnownOnes) {
  const auto text = refusal(R"({"model_type": "lama"})");
  EXPECT_EQ(text.code, "M003");
  for (const char* family : {"llama", "mistral", "qwen2", "falcon", "gpt2", "gpt_neox"})
    EXPECT_NE(text.expected.find(family), std::string::npos) << family;
  EXPECT_NE(text.cure.find("llama"), std::string::npos);
  EXPECT_EQ(text.where.line, 1);
}

// Where a nearer name would mislead.
TEST(HfConfigRefusal, OfANetworkThatIsNotPlannedSaysWhatItHas) {
  const auto text = refusal(R"({"model_type": "deepseek_v32"})");
  EXPECT_EQ(text.code, "M004");
  EXPECT_NE(text.problem.find("an indexer"), std::string::npos) << text.problem;
}

TEST(HfConfig, AttentionMayDropOutByAnotherProbability) {
  const auto dropouts = [](const std::string& text) {
    const Model m = imported(text);
    return std::pair(m.dropout, m.dropout_of_attention());
  };
  EXPECT_EQ(dropouts(R"({"model_type": "gpt2"})"), std::pair(0.1, 0.1));
  EXPECT_EQ(dropouts(R"({"model_type": "gpt2", "attn_pdrop": 0.0})"), std::pair(0.1, 0.0));
  EXPECT_EQ(dropouts(R"({"model_type": "gpt2", "resid_pdrop": 0.0})"), std::pair(0.0, 0.1));
  EXPECT_EQ(dropouts(R"({"model_type": "llama", "attention_dropout": 0.1})"), std::pair(0.0, 0.1));
}

struct Malformed {
  const char* text;
  const char* code;
  const char* path;
};
class MalformedHfConfig : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedHfConfig, IsRefusedAtItsPlace) {
  const auto text = refusal(GetParam().text);
  EXPECT_EQ(text.code, GetParam().code) << GetParam().text;
  EXPECT_EQ(text.where.path, GetParam().path) << GetParam().text;
  EXPECT_EQ(text.where.file, "config.json");
}

INSTANTIATE_TEST_SUITE_P(
    Table, MalformedHfConfig,
    ::testing::Values(
        Malformed{R"([])", "M001", ""}, Malformed{R"(3)", "M001", ""},
        Malformed{R"({})", "M002", ""}, Malformed{R"({"model_type": 3})", "M002", "model_type"},
        Malformed{R"({"model_type": null})", "M002", "model_type"},
        Malformed{R"({"model_type": "llama", "text_config": 3})", "M005", "text_config"},
        Malformed{R"({"model_type": "llama", "hidden_size": "4096"})", "M005", "hidden_size"},
        Malformed{R"({"model_type": "llama", "hidden_size": 4096.5})", "M005", "hidden_size"},
        Malformed{R"({"model_type": "llama", "hidden_size": 0})", "M005", "hidden_size"},
        Malformed{R"({"model_type": "llama", "hidden_size": -1})", "M005", "hidden_size"},
        Malformed{R"({"model_type": "llama", "num_hidden_layers": 1000000000000})", "M005",
                  "num_hidden_layers"},
        Malformed{R"({"model_type": "llama", "head_dim": 0})", "M005", "head_dim"},
        Malformed{R"({"model_type": "llama", "mlp_bias": 1})", "M005", "mlp_bias"},
        Malformed{R"({"model_type": "llama", "attention_dropout": 1.0})", "M005",
                  "attention_dropout"},
        Malformed{R"({"model_type": "llama", "attention_dropout": "none"})", "M005",
                  "attention_dropout"},
        Malformed{R"({"model_type": "llama", "hidden_act": 3})", "M005", "hidden_act"},
        Malformed{R"({"model_type": "llama", "hidden_act": "gelo"})", "M007", "hidden_act"},
        Malformed{R"({"model_type": "llama", "dtype": 16})", "M007", "dtype"},
        Malformed{R"({"model_type": "llama", "num_attention_heads": 33})", "M006", ""},
        Malformed{R"({"model_type": "llama", "num_key_value_heads": 5})", "M006", ""}));

}  // namespace plait::hf_config_test
