#include "model/hf_parts.h"

#include <fmt/format.h>

#include <array>

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
  m.dropout = config.probability(attention, fallback);
  const double branches = residual.size() == 0 ? 0 : config.probability(residual, fallback);
  if (m.dropout == branches) return;
  const Json* stated = config.take(attention);  // at least one is, since the defaults agree
  if (stated == nullptr) stated = config.take(residual);
  refuse_config(*stated, "dropout that differs between attention and residual branches is");
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

Model layer_norm_model() {
  Model m;
  m.norm = NormKind::kLayerNorm;
  m.gated_mlp = false;
  return m;
}

}  // namespace plait::hf
