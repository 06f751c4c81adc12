#include "model/presets.h"

#include <algorithm>
#include <utility>

#include "model/preset_delta_nets.h"
#include "model/preset_dense.h"
#include "model/preset_hybrids.h"
#include "model/preset_mixtures.h"

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

Model gpt2(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  Model m = megatron_gpt(std::move(name), layers, hidden, heads);
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
  table.push_back({gpt2("gpt2", 12, 768, 12), 124'439'808, 0, kGpt2});
  table.push_back({gpt2("gpt2-medium", 24, 1024, 16), 354'823'168, 0, kGpt2});
  table.push_back({gpt2("gpt2-large", 36, 1280, 20), 774'030'080, 0, kGpt2});
  table.push_back({gpt2("gpt2-xl", 48, 1600, 25), 1'557'611'200, 0, kGpt2});
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
  append_dense(table);
  append_mixtures(table);
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
