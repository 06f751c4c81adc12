#include "serving/require_described.h"

#include <string>

#include "model/presets.h"
#include "plan/refusal.h"

namespace plait {
namespace {

void require_prefixes(const Model& m) {
  if (keeps_all_tokens(m)) return;
  throw refusal("S180", "prefix caching of layers that keep a window or a state",
                "serving.engine.enable_prefix_caching",
                "false, or a model whose layers keep the keys and values of all tokens",
                "leave prefix caching off for this model");
}

void require_drafter(const Model& m, const Speculation& s) {
  const bool own = s.method == Drafting::kDraftModel;
  if (own != !s.draft_model.empty()) {
    throw refusal(
        "S181", own ? "guesses by a model, and none is named" : "a model that guesses nothing",
        "serving.speculative.model", "the name of a preset, with method draft_model alone",
        own ? "name a small model of the same family" : "remove it, or choose draft_model");
  }
  const Model* drafter = own ? find_preset(s.draft_model) : nullptr;
  if (own && (drafter == nullptr || !drafter->generates() || !keeps_all_tokens(*drafter) ||
              drafter->vocab != m.vocab)) {
    throw refusal("S181", "guesses by " + s.draft_model + " for " + m.name,
                  "serving.speculative.model",
                  "a preset with the same vocabulary of " + std::to_string(m.vocab) +
                      ", whose layers keep all tokens",
                  "see `plait list models`; choose one of the same family");
  }
  if (s.method == Drafting::kMtp && m.mtp_layers == 0) {
    throw refusal(
        "S181", "guesses by modules that the model has not", "serving.speculative.method",
        "ngram, draft_model or eagle, or a model with mtp_layers",
        "set model.mtp_layers to 1 where the checkpoint has such a module, as DeepSeek-V3's, "
        "or choose another method",
        {"model.mtp_layers"});
  }
}

void require_experts(const Model& m) {
  if (m.experts > 0) return;
  throw refusal("S191", "experts in host memory, and the model has none",
                "serving.layers.host_experts", "0, or a model with experts",
                "remove it; whole layers are left off the device by serving.layers.gpu_layers",
                {"model.experts"});
}

void require_speculation(const Model& m, const Serving& serving, const Mesh& mesh) {
  const Speculation& s = serving.speculation;
  require_drafter(m, s);
  const auto refuse = [](const std::string& what) {
    throw refusal(
        "S182", "speculative decoding " + what, "serving.speculative.method",
        "layers that keep all tokens, dealt evenly, on one stage; with ngram also windows "
        "and several stages",
        "choose ngram, or leave it out");
  };
  if (m.recurrent_layers() > 0) refuse("of layers with states");
  if (serving.layers.leaves_devices()) {
    refuse("with layers or their cache off the devices");
  }
  if (s.method == Drafting::kNgram) return;
  if (!keeps_all_tokens(m)) refuse("by a model beside layers with windows");
  if (mesh[Axis::kPp] > 1) refuse("by a model over pipeline stages");
}

void require_disaggregation(const Model& m, const Serving& serving) {
  const auto refuse = [](const std::string& what, const char* cure) {
    throw refusal("S187", "prefill and decode on instances of their own " + what,
                  "serving.disaggregated",
                  "layers on devices that keep the keys and values of all tokens; no guesses, or "
                  "those of ngram",
                  cure);
  };
  if (!keeps_all_tokens(m)) {
    refuse("for layers that keep a window or a state", "choose another model, or leave it out");
  }
  if (serving.layers.leaves_devices()) {
    refuse("with layers or their cache off the devices", "remove serving.layers, or leave it out");
  }
  if (serving.speculation.any() && serving.speculation.method != Drafting::kNgram) {
    refuse("beside guesses by a model", "choose ngram, or remove serving.speculative");
  }
}

}  // namespace

void require_described(const Model& m, const Serving& serving, const Mesh& mesh) {
  const Disaggregation& d = serving.disaggregation;
  if (serving.limits.prefix_caching || d.prefill.limits.prefix_caching ||
      d.decode.limits.prefix_caching) {
    require_prefixes(m);
  }
  if (serving.layers.host_experts != 0) require_experts(m);
  if (serving.speculation.any()) require_speculation(m, serving, mesh);
  if (d.any()) require_disaggregation(m, serving);
}

}  // namespace plait
