#include "model/presets.h"

#include <algorithm>
#include <utility>

#include "model/preset_delta_nets.h"
#include "model/preset_hybrids.h"

namespace plait {
namespace {

/// GPT as Megatron-LM trains it: GELU MLP of 4h, learned positions, LayerNorm, a bias on every
/// linear, tied embeddings, dropout 0.1, vocabulary padded to 51,200 and 2,048 positions
/// (Narayanan et al. 2021, section 5; Korthikanti et al. 2022, section 6).
Model megatron_gpt(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  Model m;
  m.name = std::move(name);
  m.layers = layers;
  m.hidden = hidden;
  m.ffn_hidden = 4 * hidden;
  m.heads = m.kv_heads = heads;
  m.head_dim = hidden / heads;
  m.vocab = 51200;
  m.max_positions = 2048;
  m.norm = NormKind::kLayerNorm;
  m.activation = ActivationKind::kGelu;
  m.gated_mlp = false;
  m.positions = PositionKind::kLearned;
  m.tied_embeddings = true;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  m.dropout = 0.1;
  return m;
}

/// BERT as it was published: GPT's layers, but for norms behind the residual sums and the
/// embedding; positions for 512 tokens, two types of them.
Model bert(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  Model m = megatron_gpt(std::move(name), layers, hidden, heads);
  m.vocab = 30522;
  m.max_positions = 512;
  m.causal = false;
  m.norm_position = NormPosition::kPost;
  m.embedding_norm = true;
  m.token_types = 2;
  m.masked_lm_head = true;
  return m;
}

/// One type of tokens, and two rows of positions before the first (padding's and one that is not
/// used).
Model roberta(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  Model m = bert(std::move(name), layers, hidden, heads);
  m.vocab = 50265;
  m.max_positions = 514;
  m.token_types = 1;
  return m;
}

struct LlamaShape {
  std::int64_t layers, hidden, ffn_hidden, heads, kv_heads, vocab, max_positions;
};

/// RMSNorm, SwiGLU, rotary positions, untied embeddings, no bias, no dropout (Touvron et al. 2023).
Model llama(std::string name, const LlamaShape& shape) {
  Model m;
  m.name = std::move(name);
  m.layers = shape.layers;
  m.hidden = shape.hidden;
  m.ffn_hidden = shape.ffn_hidden;
  m.heads = shape.heads;
  m.kv_heads = shape.kv_heads;
  m.head_dim = shape.hidden / shape.heads;
  m.vocab = shape.vocab;
  m.max_positions = shape.max_positions;
  return m;
}

Model qwen_2_5_72b() {
  Model m = llama("qwen-2.5-72b", {80, 8192, 29568, 64, 8, 152064, 131072});
  m.qkv_bias = true;
  return m;
}

Model with_window(Model m, std::int64_t window, std::int64_t full_every = 0) {
  m.attention_window = window, m.full_attention_every = full_every;
  return m;
}

Model with_experts(Model m, std::int64_t experts, std::int64_t per_token, std::int64_t width) {
  m.experts = experts;
  m.experts_per_token = per_token;
  m.expert_ffn_hidden = width;
  return m;
}

/// Heads of 128 whatever the width, with norms of their own.
Model qwen_3(std::string name, const LlamaShape& shape) {
  Model m = llama(std::move(name), shape);
  m.head_dim = 128, m.qk_norm = true;
  return m;
}
Model qwen_3_moe(std::string name, const LlamaShape& shape, std::int64_t width) {
  return with_experts(qwen_3(std::move(name), shape), 128, 8, width);
}

/// Experts in every layer, biases of attention, and windows of 128 tokens in every other layer.
Model gpt_oss(std::string name, std::int64_t layers, std::int64_t experts) {
  Model m = llama(std::move(name), {layers, 2880, 2880, 64, 8, 201088, 131072});
  m.head_dim = 64, m.qkv_bias = m.attention_output_bias = true;
  return with_window(with_experts(std::move(m), experts, 4, 2880), 128, 2);
}

struct DeepseekShape {
  std::int64_t layers, hidden, ffn_hidden, heads, vocab, max_positions, dense;
};

/// Multi-head latent attention with heads of 128 + 64 and 128, and experts behind the first layers
/// beside some that every token sees.
Model deepseek(std::string name, const DeepseekShape& s, std::int64_t q_lora_rank) {
  Model m = llama(std::move(name),
                  {s.layers, s.hidden, s.ffn_hidden, s.heads, s.heads, s.vocab, s.max_positions});
  m.head_dim = 128 + 64, m.rope_head_dim = 64, m.v_head_dim = 128;
  m.kv_lora_rank = 512, m.q_lora_rank = q_lora_rank;
  m.first_dense_layers = s.dense;
  return m;
}
Model with_shared_experts(Model m, std::int64_t shared) {
  m.shared_ffn_hidden = shared * m.expert_ffn_hidden;
  return m;
}

/// Parallel attention and MLP, each behind its own LayerNorm; no bias outside the norms.
Model falcon_40b() {
  Model m = llama("falcon-40b", {60, 8192, 4 * 8192, 128, 8, 65024, 2048});
  m.norm = NormKind::kLayerNorm;
  m.activation = ActivationKind::kGelu;
  m.gated_mlp = false;
  m.tied_embeddings = true;
  m.parallel_attention = true;
  return m;
}

Model gpt2() {
  Model m = megatron_gpt("gpt2", 12, 768, 12);
  m.vocab = 50257;
  m.max_positions = 1024;
  return m;
}

Model tiny_gpt() {
  Model m = megatron_gpt("tiny-gpt", 2, 64, 4);
  m.vocab = 128;
  m.max_positions = 64;
  m.dropout = 0;
  return m;
}

constexpr std::string_view kSc21 =
    "Narayanan et al. 2021 (arXiv 2104.04473), Table 1; heads of Megatron-LM "
    "examples/academic_paper_scripts/sc21/run_table_1.sh";
constexpr std::string_view kKorthikanti = "Korthikanti et al. 2022 (arXiv 2205.05198), Table 3";
constexpr std::string_view kBrown =
    "Brown et al. 2020 (arXiv 2005.14165), Table 2.1; other settings as Korthikanti et al. 2022, "
    "Table 3";
constexpr std::string_view kLlama2 = "Touvron et al. 2023 (arXiv 2307.09288) and its config.json";
constexpr std::string_view kLlama31 =
    "Grattafiori et al. 2024 (arXiv 2407.21783), Table 3, and its config.json";
constexpr std::string_view kMistral =
    "Jiang et al. 2023 (arXiv 2310.06825), Table 1, without its window, as since v0.2";
constexpr std::string_view kMistral1 = "Jiang et al. 2023 (arXiv 2310.06825), Table 1";
constexpr std::string_view kGptOss =
    "OpenAI 2025 (arXiv 2508.10925), section 2, and its config.json; without the biases of router "
    "and experts and what heads add to the softmax's denominator";
constexpr std::string_view kQwen = "config.json of Qwen/Qwen2.5-72B";
constexpr std::string_view kMixtral =
    "Jiang et al. 2024 (arXiv 2401.04088), Table 1, and its config.json";
constexpr std::string_view kMixtral22 = "config.json of mistralai/Mixtral-8x22B-v0.1";
constexpr std::string_view kQwen3 =
    "Yang et al. 2025 (arXiv 2505.09388), Tables 1 and 2, and its config.json";
constexpr std::string_view kDeepseekV2 =
    "DeepSeek-AI 2024 (arXiv 2405.04434), section 3.1.2 and appendix B, and its config.json";
constexpr std::string_view kDeepseekV3 =
    "DeepSeek-AI 2024 (arXiv 2412.19437), section 4.2, and its config.json; without the module "
    "that predicts a second token (model.mtp_layers = 1) and the experts' balancing biases";
constexpr std::string_view kFalcon =
    "Almazrouei et al. 2023 (arXiv 2311.16867) and config.json of tiiuae/falcon-40b";
constexpr std::string_view kGpt2 = "Radford et al. 2019 and config.json of openai-community/gpt2";
constexpr std::string_view kBert =
    "Devlin et al. 2018 (arXiv 1810.04805), section 3, and config.json of google-bert; counted as "
    "transformers' BertForMaskedLM, without pooler and next-sentence head";
constexpr std::string_view kRoberta =
    "Liu et al. 2019 (arXiv 1907.11692) and config.json of FacebookAI; counted as transformers' "
    "RobertaForMaskedLM";
constexpr std::string_view kTiny = "a small shape for tests";

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kBillion = 1'000 * kMillion;

void append_gpt(std::vector<Preset>& table) {
  constexpr std::int64_t tenth = 50 * kMillion;  // printed with one decimal of a billion
  constexpr std::int64_t whole = kBillion / 2;
  table.push_back({gpt2(), 124'439'808, 0, kGpt2});
  table.push_back({megatron_gpt("gpt3-175b", 96, 12288, 96), 175 * kBillion, whole, kBrown});
  table.push_back({megatron_gpt("megatron-1.7b", 24, 2304, 24), 1'700 * kMillion, tenth, kSc21});
  table.push_back({megatron_gpt("megatron-3.6b", 30, 3072, 32), 3'600 * kMillion, tenth, kSc21});
  table.push_back({megatron_gpt("megatron-7.5b", 36, 4096, 32), 7'500 * kMillion, tenth, kSc21});
  table.push_back({megatron_gpt("megatron-18b", 40, 6144, 48), 18'400 * kMillion, tenth, kSc21});
  table.push_back({megatron_gpt("megatron-22b", 48, 6144, 64), 22 * kBillion, whole, kKorthikanti});
  table.push_back({megatron_gpt("megatron-39b", 48, 8192, 64), 39'100 * kMillion, tenth, kSc21});
  table.push_back({megatron_gpt("megatron-76b", 60, 10240, 80), 76'100 * kMillion, tenth, kSc21});
  table.push_back({megatron_gpt("megatron-145b", 80, 12288, 96), 145'600 * kMillion, tenth, kSc21});
  table.push_back(
      {megatron_gpt("megatron-310b", 96, 16384, 128), 310'100 * kMillion, tenth, kSc21});
  table.push_back(
      {megatron_gpt("megatron-530b", 105, 20480, 128), 529'600 * kMillion, tenth, kSc21});
  table.push_back({megatron_gpt("megatron-1t", 128, 25600, 160), 1'008 * kBillion, whole, kSc21});
}

void append_deepseek(std::vector<Preset>& table) {
  const auto add = [&table](const Model& m, std::int64_t shared, std::int64_t parameters,
                            std::int64_t rounding, std::string_view source) {
    table.push_back({with_shared_experts(m, shared), parameters, rounding, source});
  };
  add(with_experts(deepseek("deepseek-v2-lite", {27, 2048, 10944, 16, 102400, 163840, 1}, 0), 64, 6,
                   1408),
      2, 15'706'484'224, 0, kDeepseekV2);
  add(with_experts(deepseek("deepseek-v2", {60, 5120, 12288, 128, 102400, 163840, 1}, 1536), 160, 6,
                   1536),
      2, 235'741'434'880, 0, kDeepseekV2);
  constexpr std::int64_t balancing = 58 * 256;  // a bias of each expert in each layer that has them
  add(with_experts(deepseek("deepseek-v3", {61, 7168, 18432, 128, 129280, 163840, 3}, 1536), 256, 8,
                   2048),
      1, 671'026'419'200, balancing, kDeepseekV3);
}

/// Of each layer these have, beside what is planned, biases of E (2 ffn + h + 1) and a number of
/// each head.
void append_gpt_oss(std::vector<Preset>& table) {
  const auto left_out = [](const Model& m) {
    return m.layers * (m.experts * (2 * m.expert_ffn_hidden + m.hidden + 1) + m.heads);
  };
  const Model small = gpt_oss("gpt-oss-20b", 24, 32), large = gpt_oss("gpt-oss-120b", 36, 128);
  table.push_back({small, 20'914'757'184, left_out(small), kGptOss});
  table.push_back({large, 116'829'156'672, left_out(large), kGptOss});
}

/// Counts are the sums of the tensors of the published checkpoints.
void append_open_weights(std::vector<Preset>& table) {
  const auto add = [&table](Model model, std::int64_t parameters, std::string_view source) {
    table.push_back({std::move(model), parameters, 0, source});
  };
  add(llama("llama-2-7b", {32, 4096, 11008, 32, 32, 32000, 4096}), 6'738'415'616, kLlama2);
  add(llama("llama-2-13b", {40, 5120, 13824, 40, 40, 32000, 4096}), 13'015'864'320, kLlama2);
  add(llama("llama-2-70b", {80, 8192, 28672, 64, 8, 32000, 4096}), 68'976'648'192, kLlama2);
  add(llama("llama-3.1-8b", {32, 4096, 14336, 32, 8, 128256, 131072}), 8'030'261'248, kLlama31);
  add(llama("llama-3.1-70b", {80, 8192, 28672, 64, 8, 128256, 131072}), 70'553'706'496, kLlama31);
  add(llama("llama-3.1-405b", {126, 16384, 53248, 128, 8, 128256, 131072}), 405'853'388'800,
      kLlama31);
  add(llama("mistral-7b", {32, 4096, 14336, 32, 8, 32000, 32768}), 7'241'732'096, kMistral);
  add(with_window(llama("mistral-7b-v0.1", {32, 4096, 14336, 32, 8, 32000, 32768}), 4096),
      7'241'732'096, kMistral1);
  add(qwen_2_5_72b(), 72'706'203'648, kQwen);
  add(falcon_40b(), 41'303'293'952, kFalcon);
  add(with_experts(llama("mixtral-8x7b", {32, 4096, 14336, 32, 8, 32000, 32768}), 8, 2, 14336),
      46'702'792'704, kMixtral);
  add(with_experts(llama("mixtral-8x22b", {56, 6144, 16384, 48, 8, 32000, 65536}), 8, 2, 16384),
      140'620'634'112, kMixtral22);
  add(qwen_3("qwen3-8b", {36, 4096, 12288, 32, 8, 151936, 40960}), 8'190'735'360, kQwen3);
  add(qwen_3("qwen3-32b", {64, 5120, 25600, 64, 8, 151936, 40960}), 32'762'123'264, kQwen3);
  add(qwen_3_moe("qwen3-30b-a3b", {48, 2048, 6144, 32, 4, 151936, 40960}, 768), 30'532'122'624,
      kQwen3);
  add(qwen_3_moe("qwen3-235b-a22b", {94, 4096, 12288, 64, 4, 151936, 40960}, 1536), 235'093'634'560,
      kQwen3);
  append_gpt_oss(table);
  append_deepseek(table);
}

void append_encoders(std::vector<Preset>& table) {
  table.push_back({bert("bert-base", 12, 768, 12), 109'514'298, 0, kBert});
  table.push_back({bert("bert-large", 24, 1024, 16), 335'174'458, 0, kBert});
  table.push_back({roberta("roberta-base", 12, 768, 12), 124'697'433, 0, kRoberta});
  table.push_back({roberta("roberta-large", 24, 1024, 16), 355'412'057, 0, kRoberta});
}

std::vector<Preset> make_presets() {
  std::vector<Preset> table;
  append_gpt(table);
  append_encoders(table);
  append_open_weights(table);
  append_hybrids(table);
  append_delta_nets(table);
  table.push_back({llama("tiny", {2, 64, 256, 4, 4, 128, 64}), 0, 0, kTiny});
  table.push_back({tiny_gpt(), 0, 0, kTiny});
  return table;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> table = make_presets();
  return table;
}

const Model* find_preset(std::string_view name) {
  for (const Preset& preset : presets())
    if (same_ignoring_case(preset.model.name, name)) return &preset.model;
  return nullptr;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.model.name);
  return names;
}

}  // namespace plait
