#include "scenarios/published/model_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/spelling.h"
#include "model/presets.h"
#include "scenarios/fields.h"
#include "scenarios/published/hybrid_of.h"
#include "scenarios/published/model_names.h"
#include "scenarios/published/stages_of.h"

namespace plait {
namespace {

using JsonObject = nlohmann::ordered_json;

/// Qi et al. 2023, table 3, call models of 46 layers of 5,120 and 62 of 6,144 14.6B and 28.3B,
/// which leaves 27 to 35 thousand rows of the embedding beside 12 h^2 for each layer; the authors'
/// examples have a SentencePiece tokenizer, whose usual size is between.
constexpr std::int64_t kOfZeroBubble = 32000;

/// LiBai pads the tokenizer's vocabulary as Megatron-LM does (libai/tokenizer/build.py,
/// _vocab_size_with_padding); its GPT-2 states a padded one.
bool pads_vocabulary(const std::string& framework, std::int64_t vocab) {
  const bool raw = vocab % 128 != 0;
  return framework.starts_with("megatron") || framework.starts_with("nemo") ||
         framework == "flagscale" || (framework == "oneflow" && raw);
}

/// Of all shared experts: "1 shared expert, intermediate 20480", "1 x 512"; "2", "2 shared experts"
/// are as wide as the others.
std::int64_t width_of_shared(const std::string& said, std::int64_t width) {
  static const std::regex kCounted(R"((\d+)(?: shared experts?)?)");
  std::smatch counted;
  if (std::regex_match(said, counted, kCounted)) return count_in(said, counted.str(1)) * width;
  return count_in(said, said.substr(said.find_last_of(' ') + 1));
}

/// What a configuration says that records have no member for: all but sizes, which the record has,
/// and layers of several kinds (hybrid_of.h). Dropout is whoever trains it.
constexpr std::string_view kOfConfiguration[] = {"head_dim",
                                                 "norm",
                                                 "positions",
                                                 "tied_embeddings",
                                                 "qkv_bias",
                                                 "attention_output_bias",
                                                 "mlp_bias",
                                                 "output_bias",
                                                 "qk_norm",
                                                 "qk_norm_across_heads",
                                                 "attention_gate",
                                                 "parallel_attention",
                                                 "shared_norm",
                                                 "causal",
                                                 "norm_position",
                                                 "embedding_norm",
                                                 "token_types",
                                                 "masked_lm_head",
                                                 "kv_lora_rank",
                                                 "q_lora_rank",
                                                 "rope_head_dim",
                                                 "v_head_dim",
                                                 "attention_window",
                                                 "full_attention_first",
                                                 "full_attention_every",
                                                 "shared_expert_gate",
                                                 "moe_every",
                                                 "activation"};

/// Encoders of Megatron-LM and LiBai have norms in front, whatever they are called (add_encoder).
const Preset* preset_for(const PublishedRun& run, const std::string& framework) {
  const Preset* preset = preset_called(run.model);
  if (preset == nullptr) return nullptr;
  const bool published = framework == "transformers" || framework == "pytorch";
  if (!preset->model.causal && !published) return nullptr;
  return preset->model.latent_attention() == has_latents(run) ? preset : nullptr;
}

class ModelWriter {
 public:
  ModelWriter(const PublishedRun& run, const std::string& framework,
              std::vector<std::string>& assumed)
      : run_(run),
        m_(run.model),
        p_(run.layout),
        framework_(framework),
        preset_(preset_for(run, framework)),
        assumed_(assumed) {}

  JsonObject write() {
    JsonObject out = {{"name", m_.name},     {"layers", m_.layers},
                      {"hidden", m_.hidden}, {"ffn_hidden", inner_width()},
                      {"heads", m_.heads},   {"kv_heads", kv_heads()}};
    out["vocab"] = vocabulary();
    out["max_positions"] = m_.sequence_length;
    add_family(out);
    if (preset_ != nullptr) add_configuration(out);
    add_dropout(out);
    if (m_.tied_embeddings) out["tied_embeddings"] = *m_.tied_embeddings;
    // Qwen3's heads have norms, and so have those of Megatron-LM's tests that say so in their name.
    if (mentions(lower_case(m_.name), "qwen3") || is_called(m_.name, "qk_layernorm"))
      out["qk_norm"] = true;
    if (preset_ == nullptr) add_wider_heads(out);
    if (has_latents(run_)) add_latents(out);
    if (m_.experts > 0) add_experts(out);
    if (preset_ == nullptr && is_called(m_.name, "BERT")) add_encoder(out);
    add_modules(out);
    add_hybrid(out, run_, assumed_);
    for (const RecordField& field : m_.fields) out[field.name] = JsonObject::parse(field.value);
    return out;
  }

 private:
  void add_configuration(JsonObject& out) {
    for (const JsonMember& field : model_table().members(preset_->model)) {
      if (std::ranges::find(kOfConfiguration, field.key) == std::end(kOfConfiguration)) continue;
      const bool usual = !out.contains(field.key) && field.value == usual_value(field.key);
      if (!usual) out[field.key] = JsonObject::parse(field.value);
    }
    assumed_.push_back(
        fmt::format("model: as the preset {} where the record does not say", preset_->model.name));
  }
  static std::string usual_value(std::string_view key) {
    const std::vector<JsonMember> usual = model_table().members(Model{});
    const auto found = std::ranges::find(usual, key, &JsonMember::key);
    return found == usual.end() ? "" : found->value;
  }

  /// Two of them: Llama's (RMSNorm, gated SiLU, rotary, no biases, untied) and GPT's.
  void add_family(JsonObject& out) const {
    if (m_.gated_mlp) {
      out.update({{"norm", "rmsnorm"}, {"activation", "silu"}, {"gated_mlp", true}});
      out.update({{"positions", "rotary"}, {"tied_embeddings", false}});
    } else if (is_called(m_.name, "nemotron")) {
      // Squared ReLU, rotary, untied, no biases.
      out.update({{"norm", "layernorm"}, {"activation", "relu"}, {"gated_mlp", false}});
      out.update({{"positions", "rotary"}, {"tied_embeddings", false}});
    } else {
      const bool biases = !is_called(m_.name, "MPT");
      out.update({{"norm", "layernorm"}, {"activation", "gelu"}, {"gated_mlp", false}});
      out.update({{"positions", "learned"}, {"tied_embeddings", true}});
      out.update({{"qkv_bias", biases}, {"attention_output_bias", biases}, {"mlp_bias", biases}});
    }
  }

  /// NeMo-Framework-Launcher's and PaddleNLP's configurations of GPT have it, of Llama and Nemotron
  /// none. Megatron-LM has it by default (megatron/training/arguments.py and
  /// megatron/core/transformer/transformer_config.py); its examples of Llama and Mixtral set both
  /// to 0.
  void add_dropout(JsonObject& out) {
    const bool by_family = framework_ == "nemo-launcher" || framework_ == "paddle";
    if (by_family && out["positions"] == "rotary") out["dropout"] = 0;
    if (framework_ != "megatron-core" || out["positions"] != "learned") return;
    out["dropout"] = 0.1;
    assumed_.emplace_back("dropout: 0.1, Megatron-LM's default");
  }

  /// Fewer of them than ranks: some ranks have the same one, whose plan is that of one for each.
  std::int64_t kv_heads() {
    if (m_.kv_heads == 0) return m_.heads;
    if (m_.kv_heads >= p_.tp || p_.tp % m_.kv_heads != 0) return m_.kv_heads;
    assumed_.push_back(
        fmt::format("keys and values: {} heads on {} ranks, copied", m_.kv_heads, p_.tp));
    return p_.tp;
  }

  /// Llama's where a gated MLP does not say its width: 8 h / 3, to 256 (Touvron et al. 2023).
  std::int64_t inner_width() {
    if (m_.ffn_hidden > 0) return m_.ffn_hidden;
    if (!m_.gated_mlp || m_.experts > 0) return 4 * m_.hidden;
    const std::int64_t width = (8 * m_.hidden / 3 + 255) / 256 * 256;
    assumed_.emplace_back("width of the MLP: 8 h / 3, to 256");
    return width;
  }

  /// Norms in front of attention and MLP, none behind the embedding (Megatron-LM,
  /// megatron/model/bert_model.py; LiBai, libai/models/bert_model.py).
  void add_encoder(JsonObject& out) {
    out.update({{"causal", false}, {"token_types", 2}, {"masked_lm_head", true}});
    assumed_.emplace_back("no pooler and next-sentence head: one token of each sequence");
  }

  /// Heads that are not h / a wide, where a preset has the same sizes: Qwen3 32B, Gemma. Those of
  /// all models of Qwen3 are of 128 (head_dim of their config.json).
  void add_wider_heads(JsonObject& out) {
    if (std::ranges::find(m_.fields, "head_dim", &RecordField::name) != m_.fields.end()) return;
    const auto same = [this](const Preset& p) {
      const Model& m = p.model;
      return m.layers == m_.layers && m.hidden == m_.hidden && m.heads == m_.heads &&
             (m_.kv_heads == 0 || m.kv_heads == m_.kv_heads) &&
             (m_.experts > 0 || m_.ffn_hidden == 0 || m.ffn_hidden == m_.ffn_hidden) &&
             m.layer_pattern.empty() && m.kv_lora_rank == 0 && m.head_dim > 0 &&
             m.head_dim * m.heads != m.hidden;
    };
    const auto preset = std::ranges::find_if(presets(), same);
    if (mentions(lower_case(m_.name), "qwen3")) {
      out["head_dim"] = 128;
    } else if (preset != presets().end()) {
      out["head_dim"] = preset->model.head_dim;
      assumed_.push_back(
          fmt::format("heads of {}: those of {}", preset->model.head_dim, preset->model.name));
    }
  }

  /// Experts and what a preset of the family says of heads.
  void add_experts(JsonObject& out) {
    if (is_called(m_.name, "gpt oss")) {
      out["head_dim"] = 64;
      // sliding_window and layer_types of openai/gpt-oss-120b's config.json.
      out.update({{"attention_window", 128}, {"full_attention_every", 2}});
      assumed_.emplace_back("of biases the sums behind experts alone");
    }
    out["experts"] = m_.experts;
    out["experts_per_token"] = m_.experts_per_token;
    const std::int64_t dense = dense_layers_first(run_).value_or(m_.first_dense_layers);
    if (dense > 0) out["first_dense_layers"] = dense;
    const std::int64_t width = m_.expert_ffn_hidden > 0 ? m_.expert_ffn_hidden : m_.ffn_hidden;
    out["expert_ffn_hidden"] = width > 0 ? width : 4 * m_.hidden;
    if (out.value("mlp_bias", false)) out["mlp_bias"] = false;
    add_shared_experts(out);
  }

  void add_shared_experts(JsonObject& out) {
    const std::int64_t width = out["expert_ffn_hidden"];
    if (m_.shared_experts.empty() && has_latents(run_)) {
      assumed_.emplace_back("shared experts: one, DeepSeek's");
      out["shared_ffn_hidden"] = width;
    }
    if (!m_.shared_experts.empty())
      out["shared_ffn_hidden"] = width_of_shared(m_.shared_experts, width);
  }

  /// Modules that predict further tokens. With them Megatron-LM takes rotary positions or none
  /// (megatron/training/arguments.py).
  void add_modules(JsonObject& out) {
    const auto argument = number_behind(run_, "--mtp-num-layers");
    const std::optional<ListedStages> stages = stages_of(run_);
    const std::int64_t modules = argument.value_or(stages ? stages->modules : 0);
    if (modules == 0) return;
    out["mtp_layers"] = modules;
    if (!argument)
      assumed_.push_back(
          fmt::format("modules that predict further tokens: {}, by the {}", modules, stages->told));
    if (out["positions"] == "learned") out["positions"] = "rotary";
  }

  /// Multi-head latent attention, DeepSeek-V3's where no argument says otherwise (arXiv 2412.19437,
  /// section 4.2; Megatron-LM's defaults of the heads are the same). Megatron-LM's dense test has
  /// heads of its own (gpt3_mcore_te_tp2_pp2_mla/model_config.yaml).
  void add_latents(JsonObject& out) {
    out["kv_heads"] = m_.heads;
    if (preset_ != nullptr) return;  // the configuration has the others
    if (m_.attention.empty() && !mentions(run_.arguments, "--kv-lora-rank"))
      assumed_.emplace_back("attention: DeepSeek's latents, by the name");
    const bool small = mentions(m_.name, "_mla");
    out["q_lora_rank"] = number_behind(run_, "--q-lora-rank").value_or(1536);
    out["kv_lora_rank"] = number_behind(run_, "--kv-lora-rank").value_or(512);
    out["rope_head_dim"] = small ? 8 : 64;
    out["head_dim"] = small ? 16 + 8 : 128 + 64;
    out["v_head_dim"] = small ? 16 : 128;
    out["positions"] = "rotary";
    out["qkv_bias"] = false;
  }

  std::int64_t vocabulary() {
    std::int64_t vocab = m_.vocab;
    if (vocab == 0 && mentions(run_.source, "Zero Bubble")) {
      vocab = kOfZeroBubble;
      assumed_.emplace_back("vocabulary: 32,000, as the sizes in the models' names have it");
    } else if (vocab == 0) {
      vocab = p_.tp > 1 ? padded(50257) : 50257;
      assumed_.emplace_back("vocabulary: GPT-2's 50,257");
    }
    // vTrain's modules hold vocab_size // world_size rows (src/model/gpt_modeling.py).
    if (framework_ == "vtrain") return vocab / p_.tp * p_.tp;
    const std::int64_t rows = pads_vocabulary(framework_, vocab) ? padded(vocab) : divided(vocab);
    if (rows != vocab) assumed_.push_back(fmt::format("vocabulary: {} rows for {}", rows, vocab));
    return rows;
  }
  /// Megatron-LM's make_vocab_size_divisible_by.
  std::int64_t padded(std::int64_t vocab) const {
    const std::int64_t unit = 128 * p_.tp;
    return (vocab + unit - 1) / unit * unit;
  }
  /// nanotron's _vocab_size_with_padding with its make_vocab_size_divisible_by of 1; elsewhere the
  /// largest of uneven parts, on each rank (PyTorch's DTensor).
  std::int64_t divided(std::int64_t vocab) const { return (vocab + p_.tp - 1) / p_.tp * p_.tp; }

  const PublishedRun& run_;
  const PublishedModel& m_;
  const PublishedLayout& p_;
  const std::string& framework_;
  const Preset* preset_;  // that the model is called; null: none
  std::vector<std::string>& assumed_;
};

/// Distilled models, which are called after it too, have none.
bool has_latents_by_name(const PublishedModel& m) {
  const Preset* preset = preset_called(m);
  if (preset != nullptr) return preset->model.latent_attention();
  return is_called(m.name, "deepseek-v2") || is_called(m.name, "deepseek-v3") ||
         is_called(m.name, "kimi-k2");
}

}  // namespace

bool has_latents(const PublishedRun& run) {
  const std::string attention = lower_case(run.model.attention);
  const bool said = mentions(attention, "mla") || mentions(attention, "latent");
  return said || (attention.empty() && has_latents_by_name(run.model)) ||
         mentions(run.arguments, "--kv-lora-rank");
}

std::optional<std::int64_t> dense_layers_first(const PublishedRun& run) {
  static const std::regex kList(R"(--moe-layer-freq \(\[0\]\*(\d+)\+\[1\]\*(\d+)\))");
  std::smatch found;
  if (!std::regex_search(run.arguments, found, kList)) return std::nullopt;
  return count_in(found.str(), found.str(1));
}

nlohmann::ordered_json model_of(const PublishedRun& run, const std::string& framework,
                                std::vector<std::string>& assumed) {
  return ModelWriter(run, framework, assumed).write();
}

}  // namespace plait
