// Class defaults: transformers src/transformers/models/<family>/configuration_<family>.py. Where
// biases and norms stand: modeling_<family>.py beside it.

#include "model/hf_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "model/hf_delta_nets.h"
#include "model/hf_encoders.h"
#include "model/hf_gated_gpts.h"
#include "model/hf_gpts.h"
#include "model/hf_hybrids.h"
#include "model/hf_llama4.h"
#include "model/hf_llama_kin.h"
#include "model/hf_olmos.h"
#include "model/hf_parts.h"
#include "model/hf_windows.h"

namespace plait {
namespace {

using namespace hf;

Model read_llama_shape(HfReader& config, const LlamaDefaults& defaults) {
  Model m = read_llama_sizes(config, defaults);
  read_head_dim(m, config);
  return m;
}

/// Biases where a file wants them.
Model read_llama_biases(HfReader& config, const LlamaDefaults& defaults) {
  Model m = read_llama_shape(config, defaults);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.mlp_bias = config.flag({"mlp_bias"}, false);
  return m;
}

Model read_llama(HfReader& config) {
  return read_llama_biases(config, {32000, 4096, 11008, 32, 32, 0, 2048});
}

Model read_mistral(HfReader& config) {
  Model m = read_llama_shape(config, {32000, 4096, 14336, 32, 32, 8, 131072});
  read_windows(m, config, {.window = 4096});
  return m;
}

/// Heads of 128 where a file states none.
Model read_ministral3(HfReader& config) {
  Model m = read_llama_sizes(config, {131072, 4096, 14336, 34, 32, 8, 262144});
  m.head_dim = config.size({"head_dim"}, kMaxHeads, 128);
  read_windows(m, config, {});
  return m;
}

/// Layers without rotation are planned with one (configuration_smollm3.py).
Model read_smollm3(HfReader& config) {
  Model m =
      read_llama_biases(config, {128256, 2048, 11008, 36, 16, 4, 32768, /*tied_embeddings=*/true});
  read_windows(m, config, {.switched = true});
  assume_rotation(m, config, unrotated_layers(m, config));
  return m;
}

/// Heads of 128, and dropout where it trains.
Model read_seed_oss(HfReader& config) {
  Model m = read_llama_sizes(config, {155136, 5120, 27648, 64, 80, 8, 524288});
  m.head_dim = config.size({"head_dim"}, kMaxHeads, 128);
  m.qkv_bias = config.flag({"attention_bias"}, true);
  m.attention_output_bias = config.flag({"attention_out_bias"}, false);
  m.mlp_bias = config.flag({"mlp_bias"}, false);
  read_dropout(m, config, {"attention_dropout"}, {"residual_dropout"}, 0.1);
  return m;
}

constexpr HfWindows kQwenWindows = {.window = 4096, .switched = true, .first = 28};

Model read_qwen2_sizes(HfReader& config, const LlamaDefaults& defaults, const HfWindows& windows) {
  Model m = read_llama_shape(config, defaults);
  m.qkv_bias = true;
  read_windows(m, config, windows);
  return m;
}

Model read_qwen2(HfReader& config) {
  return read_qwen2_sizes(config, {151936, 4096, 22016, 32, 32, 32, 32768}, kQwenWindows);
}

/// The text's part of Qwen2-VL and Qwen2.5-VL.
Model read_qwen2_vl(HfReader& config) {
  return read_qwen2_sizes(config, {152064, 8192, 29568, 80, 64, 8, 32768},
                          {.window = 4096, .switched = true, .first = 80});
}

/// One matrix for queries, keys and values and one for gate and up, which is how all are planned.
Model read_phi3(HfReader& config) {
  Model m = read_llama_shape(config, {32064, 3072, 8192, 32, 32, 0, 4096});
  if (config.peek("partial_rotary_factor") != nullptr)  // Phi-4-mini
    read_partial_rotation(m, config, {"partial_rotary_factor"}, 1);
  read_windows(m, config, {});
  return m;
}

/// GELU in a gated MLP, and one matrix for embedding and output.
Model read_gemma(HfReader& config, LlamaDefaults defaults) {
  defaults.tied_embeddings = true;
  defaults.activation = "gelu_pytorch_tanh", defaults.activation_key = "hidden_activation";
  Model m = read_llama_sizes(config, defaults);
  config.take({"hidden_act"});  // beside the longer key it says nothing
  m.head_dim = config.size({"head_dim"}, kMaxHeads, 256);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  return m;
}

Model read_gemma1(HfReader& config) {
  return read_gemma(config, {256000, 3072, 24576, 28, 16, 16, 8192});
}

/// Norms of what branches add too. Left out are the caps of attention scores and logits, and the
/// embedding's factor.
void read_branch_norms(Model& m, HfReader& config) {
  m.norm_position = NormPosition::kBoth;
  for (const char* name :
       {"query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping",
        "rope_local_base_freq", "cache_implementation"})
    config.take({name});
}

Model read_gemma2(HfReader& config) {
  Model m = read_gemma(config, {256000, 2304, 9216, 26, 8, 4, 8192});
  read_windows(m, config, {.window = 4096, .every = 2});
  read_branch_norms(m, config);
  return m;
}

/// The text's part.
Model read_gemma3(HfReader& config) {
  Model m = read_gemma(config, {262208, 2304, 9216, 26, 8, 4, 131072});
  m.qk_norm = true;
  const std::int64_t every = config.size({"sliding_window_pattern"}, kMaxLayers, 6);
  read_windows(m, config, {.window = 4096, .every = every});
  read_branch_norms(m, config);
  return m;
}

/// All layers have experts, as wide as the dense models' MLP.
Model read_mixtral(HfReader& config) {
  Model m = read_llama_shape(config, {32000, 4096, 14336, 32, 32, 8, 131072});
  read_experts_as_wide(m, config, {"num_local_experts"}, 8, 2);
  read_windows(m, config, {});
  return m;
}

/// Left out are what each head adds to its softmax's denominator and the biases of router and
/// experts.
Model read_gpt_oss(HfReader& config) {
  Model m = read_llama_sizes(config, {201088, 2880, 2880, 36, 64, 8, 131072});
  m.head_dim = config.size({"head_dim"}, kMaxHeads, 64);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, true);
  read_experts_as_wide(m, config, {"num_local_experts"}, 128, 4);
  config.take({"experts_per_token"});  // the same
  read_windows(m, config, {.window = 128, .every = 2});
  return m;
}

Model read_qwen2_moe(HfReader& config) {
  Model m = read_llama_shape(config, {151936, 2048, 5632, 24, 16, 16, 32768});
  m.qkv_bias = true;
  read_qwen_experts(m, config, 60, 4, 1408);
  m.shared_ffn_hidden = config.size({"shared_expert_intermediate_size"}, kMaxWidth, 5632);
  m.shared_expert_gate = m.shared_ffn_hidden > 0;
  read_windows(m, config, kQwenWindows);
  return m;
}

/// Heads of 128 where a file states none, whatever the width, with norms of their own.
Model read_qwen3(HfReader& config) {
  Model m = read_llama_sizes(config, {151936, 4096, 22016, 32, 32, 32, 32768});
  m.head_dim = config.size({"head_dim"}, kMaxHeads, 128);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.qk_norm = true;
  read_windows(m, config, kQwenWindows);
  return m;
}

/// Norms of queries and keys; windows only where a file wants them.
Model read_qwen3_mixture(HfReader& config, const LlamaDefaults& sizes) {
  Model m = read_llama_shape(config, sizes);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.qk_norm = true;
  read_windows(m, config, {.window = 4096, .switched = true});
  return m;
}

Model read_qwen3_moe(HfReader& config) {
  Model m = read_qwen3_mixture(config, {151936, 2048, 6144, 24, 32, 4, 32768});
  read_qwen_experts(m, config, 128, 8, 768);
  return m;
}

/// The text's part of Qwen3-VL with experts.
Model read_qwen3_vl_moe(HfReader& config) {
  Model m = read_qwen3_mixture(config, {151936, 2048, 5632, 24, 16, 16, 128000});
  read_qwen_experts(m, config, 60, 4, 1408);
  return m;
}

/// Multi-head latent attention; `head_dim`, where a file has it, is the rotated part. What is left
/// out changes no shape: how experts are scored, grouped and balanced.
void read_latents(Model& m, HfReader& config) {
  config.take({"head_dim"});
  m.kv_heads = m.heads;
  m.kv_lora_rank = config.size({"kv_lora_rank"}, kMaxWidth, 512);
  const Json* queries = config.peek("q_lora_rank");
  const bool none = queries != nullptr && queries->is(Json::Kind::kNull);
  if (none) config.take({"q_lora_rank"});
  m.q_lora_rank = none ? 0 : config.size({"q_lora_rank"}, kMaxWidth, 1536);
  m.rope_head_dim = config.size({"qk_rope_head_dim"}, kMaxHeads, 64);
  m.head_dim = config.size({"qk_nope_head_dim"}, kMaxHeads, 128) + m.rope_head_dim;
  m.v_head_dim = config.size({"v_head_dim"}, kMaxHeads, 128);
  if (config.flag({"attention_bias"}, false))
    refuse_config(*config.take({"attention_bias"}), "latent attention with biases is");
}

struct DeepseekDefaults {
  std::int64_t experts, per_token, width, shared, dense;
};

/// Every moe_layer_freq-th layer behind the first dense ones has experts.
Model read_deepseek(HfReader& config, const LlamaDefaults& sizes,
                    const DeepseekDefaults& defaults) {
  Model m = read_llama_sizes(config, sizes);
  read_latents(m, config);
  m.experts = config.size({"n_routed_experts"}, kMaxExperts, defaults.experts);
  m.experts_per_token = config.size({"num_experts_per_tok"}, m.experts, defaults.per_token);
  m.expert_ffn_hidden = config.size({"moe_intermediate_size"}, kMaxWidth, defaults.width);
  m.shared_ffn_hidden =
      m.expert_ffn_hidden * config.count({"n_shared_experts"}, kMaxExperts, defaults.shared);
  m.moe_every = config.size({"moe_layer_freq"}, kMaxLayers, 1);
  // Experts are in layers whose index is a multiple of the frequency (modeling_deepseek.py,
  // DeepseekV3DecoderLayer), here in each so-many-th from the first on that has them.
  const std::int64_t dense = config.count({"first_k_dense_replace"}, m.layers, defaults.dense);
  m.first_dense_layers = std::min(m.layers, round_up(dense, m.moe_every));
  return m;
}

/// The class has no number of experts per token; 6 is that of both published models.
Model read_deepseek_v2(HfReader& config) {
  return read_deepseek(config, {32000, 4096, 11008, 32, 32, 0, 2048}, {64, 6, 1407, 2, 0});
}

/// The classes have no modules that predict further tokens; the published files name theirs.
void read_modules(Model& m, HfReader& config) {
  constexpr const char* kModules = "num_nextn_predict_layers";
  if (config.peek(kModules) != nullptr) m.mtp_layers = config.count({kModules}, kMaxModules, 0);
}

/// Kimi K2 too, which states its sizes.
Model read_deepseek_v3(HfReader& config) {
  Model m = read_deepseek(config, {129280, 7168, 18432, 61, 128, 0, 4096}, {256, 8, 2048, 1, 3});
  read_modules(m, config);
  return m;
}

/// GLM-4.5: experts behind the first dense layers, beside those that every token sees.
Model read_glm4_moe(HfReader& config) {
  Model m = read_llama_shape(config, {151552, 4096, 10944, 46, 96, 8, 131072});
  m.qkv_bias = config.flag({"attention_bias"}, false);
  m.qk_norm = config.flag({"use_qk_norm"}, false);
  read_partial_rotation(m, config, {"partial_rotary_factor"}, 0.5);
  m.experts = config.size({"n_routed_experts"}, kMaxExperts, 128);
  m.experts_per_token = config.size({"num_experts_per_tok"}, m.experts, 8);
  m.expert_ffn_hidden = config.size({"moe_intermediate_size"}, kMaxWidth, 1408);
  m.shared_ffn_hidden = m.expert_ffn_hidden * config.count({"n_shared_experts"}, kMaxExperts, 1);
  m.first_dense_layers = config.count({"first_k_dense_replace"}, m.layers, 1);
  read_modules(m, config);
  return m;
}

/// MiniMax-M2: experts in every layer, and norms of queries and keys across heads. The modules that
/// predict further tokens, which its files name, are in no published weights. What is left out
/// changes no shape: how experts are scored and balanced.
Model read_minimax_m2(HfReader& config) {
  Model m = read_llama_sizes(config, {200064, 3072, 1536, 62, 48, 8, 196608});
  m.head_dim = config.size({"head_dim"}, kMaxHeads, 128);
  m.qk_norm = config.flag({"use_qk_norm"}, true);
  m.qk_norm_across_heads = m.qk_norm && config.word({"qk_norm_type"}, "per_layer") == "per_layer";
  if (config.peek("rotary_dim") != nullptr) {
    const std::int64_t rotated = config.size({"rotary_dim"}, m.head_dim, m.head_dim);
    m.rope_head_dim = rotated == m.head_dim ? 0 : rotated;
    config.take({"partial_rotary_factor"});  // the same
  } else {
    read_partial_rotation(m, config, {"partial_rotary_factor"}, 1);
  }
  read_experts_as_wide(m, config, {"num_local_experts"}, 256, 8);
  m.shared_ffn_hidden = config.count({"shared_intermediate_size"}, kMaxWidth, 0);
  const Json* kinds = config.take({"attn_type_list"});
  const auto is_linear = [](const Json* kind) {
    return kind->is(Json::Kind::kInteger) && kind->integer() == 0;
  };
  if (kinds != nullptr && kinds->is(Json::Kind::kList) &&
      std::ranges::any_of(kinds->children(), is_linear))
    refuse_config(*kinds, "linear attention in this family is");
  return m;
}

constexpr std::array kFamilies = {
    HfFamily{"llama", read_llama},
    HfFamily{"mistral", read_mistral},
    HfFamily{"ministral3", read_ministral3},
    HfFamily{"smollm3", read_smollm3},
    HfFamily{"seed_oss", read_seed_oss},
    HfFamily{"qwen2", read_qwen2},
    HfFamily{"qwen2_vl", read_qwen2_vl},
    HfFamily{"qwen2_vl_text", read_qwen2_vl},
    HfFamily{"qwen2_5_vl", read_qwen2_vl},
    HfFamily{"qwen2_5_vl_text", read_qwen2_vl},
    HfFamily{"qwen3", read_qwen3},
    HfFamily{"qwen3_vl_text", read_qwen3},
    HfFamily{"olmo2", read_olmo2},
    HfFamily{"olmo3", read_olmo3},
    HfFamily{"granite", read_granite},
    HfFamily{"granitemoe", read_granite_moe, true},
    HfFamily{"grok-1", read_grok, true},
    HfFamily{"phi3", read_phi3},
    HfFamily{"internlm", read_internlm2},
    HfFamily{"internlm2", read_internlm2},
    HfFamily{"internlm3", read_internlm3},
    HfFamily{"baichuan", read_baichuan},
    HfFamily{"exaone", read_exaone},
    HfFamily{"exaone4", read_exaone4},
    HfFamily{"hunyuan_v1_dense", read_hunyuan},
    HfFamily{"hunyuan_v1_moe", read_hunyuan_moe, true},
    HfFamily{"ernie4_5", read_ernie},
    HfFamily{"ernie4_5_moe", read_ernie_moe, true},
    HfFamily{"chatglm", read_chatglm},
    HfFamily{"glm", read_glm},
    HfFamily{"glm4", read_glm4},
    HfFamily{"gemma", read_gemma1},
    HfFamily{"gemma2", read_gemma2},
    HfFamily{"gemma3", read_gemma3},
    HfFamily{"gemma3_text", read_gemma3},
    HfFamily{"falcon", read_falcon},
    HfFamily{"gpt2", read_gpt2},
    HfFamily{"bert", read_bert},
    HfFamily{"roberta", read_roberta},
    HfFamily{"gpt_neox", read_gpt_neox},
    HfFamily{"gptj", read_gptj},
    HfFamily{"phi", read_phi},
    HfFamily{"bloom", read_bloom},
    HfFamily{"opt", read_opt},
    HfFamily{"starcoder2", read_starcoder2},
    HfFamily{"mpt", read_mpt},
    HfFamily{"nemotron", read_nemotron},
    HfFamily{"stablelm", read_stablelm},
    HfFamily{"cohere", read_cohere},
    HfFamily{"cohere2", read_cohere2},
    HfFamily{"phimoe", read_phimoe, true},
    HfFamily{"dbrx", read_dbrx, true},
    HfFamily{"mixtral", read_mixtral, true},
    HfFamily{"olmoe", read_olmoe, true},
    HfFamily{"llama4", read_llama4, true},
    HfFamily{"llama4_text", read_llama4, true},
    HfFamily{"minimax_m2", read_minimax_m2, true},
    HfFamily{"gpt_oss", read_gpt_oss, true},
    HfFamily{"qwen2_moe", read_qwen2_moe, true},
    HfFamily{"qwen3_moe", read_qwen3_moe, true},
    HfFamily{"qwen3_vl_moe_text", read_qwen3_vl_moe, true},
    HfFamily{"deepseek_v2", read_deepseek_v2, true, true},
    HfFamily{"deepseek_v3", read_deepseek_v3, true, true},
    HfFamily{"kimi_k2", read_deepseek_v3, true, true},
    HfFamily{"glm4_moe", read_glm4_moe, true},
    HfFamily{"qwen3_next", read_qwen3_next, true},
    HfFamily{"qwen3_5", read_qwen3_5},
    HfFamily{"qwen3_5_text", read_qwen3_5},
    HfFamily{"qwen3_5_moe", read_qwen3_5_moe, true},
    HfFamily{"qwen3_5_moe_text", read_qwen3_5_moe, true},
    HfFamily{"mamba2", read_mamba2},
    HfFamily{"nemotron_h", read_nemotron_h, true},
    HfFamily{"bamba", read_bamba},
    HfFamily{"granitemoehybrid", read_granite_hybrid, true},
};

}  // namespace

std::span<const HfFamily> hf_families() { return kFamilies; }

}  // namespace plait
