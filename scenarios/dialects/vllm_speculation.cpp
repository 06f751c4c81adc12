#include "scenarios/dialects/vllm_speculation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "model/presets.h"
#include "scenarios/dialects/hub_names.h"

namespace plait::vllm {
namespace {

constexpr const char* kOption = "--speculative-config";

struct MethodName {
  std::string_view name;
  Drafting method;
};
/// vLLM's first, then its other names for the same.
constexpr MethodName kMethods[] = {{"ngram", Drafting::kNgram},
                                   {"draft_model", Drafting::kDraftModel},
                                   {"mtp", Drafting::kMtp},
                                   {"eagle", Drafting::kEagle},
                                   {"eagle3", Drafting::kEagle}};

std::string_view name_of(Drafting method) {
  return std::ranges::find(kMethods, method, &MethodName::method)->name;
}

}  // namespace

void write_speculation(ExportDraft& d, const Speculation& s) {
  if (!s.any()) return;
  nlohmann::ordered_json config = {{"method", name_of(s.method)}};
  const Model* drafter = find_preset(s.draft_model);
  const std::string_view hub = drafter == nullptr ? "" : hub_name_of(*drafter);
  if (!hub.empty()) config["model"] = hub;
  if (drafter == nullptr || !hub.empty()) d.say({"serving.speculative.model"});
  config["num_speculative_tokens"] = s.tokens;
  const bool drafts = s.method == Drafting::kDraftModel || s.method == Drafting::kEagle;
  if (drafts && hub.empty()) d.ask(R"("model" of --speculative-config: the drafter's weights)");
  d.set(kOption, "'" + config.dump() + "'");
  d.say({"serving.speculative.method", "serving.speculative.num_speculative_tokens"});
}

void read_speculation(Arguments& args, Imported& out, const std::string& file) {
  const auto text = args.text(kOption);
  if (!text) return;
  const JsonDocument config = parse_json(*text, file);
  const auto give = [&](const char* key, std::string json) {
    out.give("serving.speculative." + std::string(key), std::move(json), args.line(kOption));
  };
  const Json* model = config.root().find("model");
  const Json* method = config.root().find("method");
  const bool named = method != nullptr && method->is(Json::Kind::kText);
  std::string name = named ? method->text() : model != nullptr ? "draft_model" : "none";
  if (name.ends_with("_mtp")) name = "mtp";  // deepseek_mtp and others
  const auto* found = std::ranges::find(kMethods, name, &MethodName::name);
  if (found == std::end(kMethods)) args.unsupported(kOption, "guesses by " + name);
  give("method", json_quote(name_of(found->method)));
  const Json* guesses = config.root().find("num_speculative_tokens");
  if (guesses != nullptr && guesses->is(Json::Kind::kInteger)) {
    give("num_speculative_tokens", std::to_string(guesses->integer()));
  }
  if (found->method != Drafting::kDraftModel || model == nullptr) return;
  const std::string preset = model->is(Json::Kind::kText) ? preset_of_hub_name(model->text()) : "";
  if (preset.empty()) return warn_unread({"the drafter, which is no preset"}, out.warnings);
  give("model", json_quote(preset));
}

}  // namespace plait::vllm
