#include "model/hf_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"

namespace plait::hf {
namespace {

struct NamedActivation {
  std::string_view name;
  ActivationKind kind;
};
/// Names of transformers' ACT2FN; the variants of GELU cost the same.
constexpr std::array kActivations = {
    NamedActivation{"silu", ActivationKind::kSilu},
    NamedActivation{"swish", ActivationKind::kSilu},
    NamedActivation{"gelu", ActivationKind::kGelu},
    NamedActivation{"gelu_new", ActivationKind::kGelu},
    NamedActivation{"gelu_fast", ActivationKind::kGelu},
    NamedActivation{"gelu_pytorch_tanh", ActivationKind::kGelu},
    NamedActivation{"quick_gelu", ActivationKind::kGelu},
    NamedActivation{"relu", ActivationKind::kRelu},
    NamedActivation{"relu2", ActivationKind::kRelu},  // its square, at the same cost
};

}  // namespace

ActivationKind read_activation(HfReader& config, HfReader::Names names, std::string_view fallback) {
  const std::string word = config.word(names, fallback);
  const Json* stated = config.take(names);
  const Where where = stated == nullptr ? config.where() : stated->where();
  return look_up(kActivations, word, *names.begin(), where).kind;
}

void read_dropout(Model& m, HfReader& config, HfReader::Names attention, HfReader::Names residual,
                  double fallback) {
  const double of_residual = residual.size() == 0 ? 0 : config.probability(residual, fallback);
  set_dropout(m, of_residual, config.probability(attention, fallback));
}

void set_dropout(Model& m, double residual, double attention) {
  m.dropout = residual;
  if (attention != residual) m.attention_dropout = attention;
}

void read_head_dim(Model& m, HfReader& config) {
  const Json* stated = config.take({"head_dim"});
  if (stated != nullptr && !stated->is(Json::Kind::kNull)) {
    m.head_dim = config.size({"head_dim"}, kMaxHeads, 0);
    return;
  }
  if (m.hidden % m.heads != 0)
    throw InputError(
        {.code = "M006",
         .problem = fmt::format("hidden size {} is not a multiple of {} heads", m.hidden, m.heads),
         .where = config.where(),
         .expected = "a whole head dimension",
         .cure = "state head_dim"});
  m.head_dim = m.hidden / m.heads;
}

void read_partial_rotation(Model& m, HfReader& config, HfReader::Names names, double fallback) {
  double factor = fallback;
  const Json* rope = config.peek("rope_parameters");
  const Json* nested =
      rope == nullptr || !rope->is(Json::Kind::kObject) ? nullptr : rope->find(*names.begin());
  const bool inside = nested != nullptr && nested->is(Json::Kind::kNumber);
  if (inside) factor = nested->number();
  const auto stands = [&](std::string_view name) { return config.peek(name) != nullptr; };
  if (!inside || std::ranges::any_of(names, stands)) factor = config.fraction(names, factor);
  const std::int64_t rotated = std::llround(factor * static_cast<double>(m.head_dim));
  m.rope_head_dim = rotated == m.head_dim ? 0 : rotated;
}

void assume_norm_biases(HfReader& config) {
  config.assume("biases of LayerNorm", "counted, which this family has not");
}

void assume_rotation(const Model& m, HfReader& config, std::int64_t unrotated) {
  if (unrotated == 0) return;
  config.assume("rotary positions",
                fmt::format("in every layer, of which {} of {} have none", unrotated, m.layers));
}

bool rotates(const Json& listed) {
  return !listed.is(Json::Kind::kInteger) || listed.integer() != 0;
}

std::int64_t unrotated_layers(const Model& m, HfReader& config) {
  // By a copy of the reader: the interval counts where there is no list.
  const std::int64_t every =
      HfReader(config).size({"no_rope_layer_interval"}, kMaxLayers, kUnrotatedEvery);
  const Json* listed = config.take({"no_rope_layers"});
  config.take({"no_rope_layer_interval"});
  const bool is_list = listed != nullptr && listed->is(Json::Kind::kList);
  if (!is_list || listed->children().empty()) return m.layers / every;
  return std::ranges::count_if(listed->children(),
                               [](const Json* layer) { return !rotates(*layer); });
}

Model layer_norm_model() {
  Model m;
  m.norm = NormKind::kLayerNorm;
  m.gated_mlp = false;
  return m;
}

Model read_llama_sizes(HfReader& config, const LlamaDefaults& defaults) {
  Model m;
  m.vocab = config.size({"vocab_size"}, kMaxWidth, defaults.vocab);
  m.hidden = config.size({"hidden_size"}, kMaxWidth, defaults.hidden);
  m.ffn_hidden = config.size({"intermediate_size"}, kMaxWidth, defaults.ffn_hidden);
  m.layers = config.size({"num_hidden_layers"}, kMaxLayers, defaults.layers);
  m.heads = config.size({"num_attention_heads"}, kMaxHeads, defaults.heads);
  // Absent means the class default, null means one per query head.
  const bool absent = config.take({"num_key_value_heads"}) == nullptr;
  m.kv_heads = config.size({"num_key_value_heads"}, kMaxHeads,
                           absent && defaults.kv_heads > 0 ? defaults.kv_heads : m.heads);
  m.max_positions = config.size({"max_position_embeddings"}, kMaxPositions, defaults.max_positions);
  m.activation =
      read_activation(config, {defaults.activation_key, "hidden_act"}, defaults.activation);
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, defaults.tied_embeddings);
  read_dropout(m, config, {"attention_dropout"}, {}, 0);
  return m;
}

void read_experts_as_wide(Model& m, HfReader& config, HfReader::Names count, std::int64_t experts,
                          std::int64_t chosen) {
  m.experts = config.size(count, kMaxExperts, experts);
  m.experts_per_token = config.size({"num_experts_per_tok"}, m.experts, chosen);
  m.expert_ffn_hidden = m.ffn_hidden;
}

void read_qwen_experts(Model& m, HfReader& config, std::int64_t experts, std::int64_t chosen,
                       std::int64_t width) {
  // The second name since transformers 5.
  m.experts = config.size({"num_experts", "num_local_experts"}, kMaxExperts, experts);
  m.experts_per_token = config.size({"num_experts_per_tok"}, m.experts, chosen);
  m.expert_ffn_hidden = config.size({"moe_intermediate_size"}, kMaxWidth, width);
  m.moe_every = config.size({"decoder_sparse_step"}, kMaxLayers, 1);
  m.first_dense_layers = m.moe_every - 1;
  const Json* dense = config.take({"mlp_only_layers"});
  if (dense != nullptr && dense->is(Json::Kind::kList) && !dense->children().empty())
    refuse_config(*dense, "a list of layers without experts is");
}

std::string letters_of(const Json& list, const char* mixer, const char* attention) {
  std::string out;
  for (const Json* layer : list.children()) {
    const std::string name = layer->is(Json::Kind::kText) ? layer->text() : layer->describe();
    if (name == "mamba" || name == "linear_attention" || name == "mamba2") {
      out += mixer;
    } else if (name == "attention" || name == "full_attention") {
      out += attention;
    } else if (name == "mlp" || name == "moe") {
      out += name == "mlp" ? "-" : "E";
    } else {
      refuse_config(*layer, "this kind of layer is");
    }
  }
  return out;
}

}  // namespace plait::hf
