#include "scenarios/dialects/vllm/vllm_speculation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/json.h"
#include "model/presets.h"
#include "scenarios/dialects/hub_names.h"

namespace plait::vllm {
namespace {

constexpr const char *kOption = "--speculative-config", *kTokens = "num_speculative_tokens";

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

/// What the option says, whole or by keys.
struct Said {
  std::string option = kOption;
  int line = 0;
  std::optional<std::string> method, model;
  std::optional<std::int64_t> tokens;
  bool any() const { return line > 0; }
};

/// The object, where what is wrong in it is said of the option's line.
JsonDocument object_of(Arguments& args, const std::string& file) {
  try {
    JsonDocument config = parse_json(*args.text(kOption), file);
    if (!config.root().is(Json::Kind::kObject)) args.malformed(kOption, "a JSON object");
    return config;
  } catch (const InputError& e) {
    InputError::Text told = e.text();
    told.where = {file, args.line(kOption), 0, kOption};
    throw InputError(std::move(told));
  }
}

Said said_as_json(Arguments& args, const std::string& file) {
  const JsonDocument config = object_of(args, file);
  const auto text = [&](const char* key) -> std::optional<std::string> {
    const Json* json = config.root().find(key);
    if (json == nullptr || json->is(Json::Kind::kNull)) return std::nullopt;
    if (!json->is(Json::Kind::kText)) args.malformed(kOption, fmt::format("a text as {}", key));
    return json->text();
  };
  Said out;
  out.line = args.line(kOption);
  out.method = text("method"), out.model = text("model");
  if (const Json* guesses = config.root().find(kTokens)) {
    if (!guesses->is(Json::Kind::kInteger)) {
      args.malformed(kOption, fmt::format("an integer as {}", kTokens));
    }
    out.tokens = guesses->integer();
  }
  return out;
}

/// --speculative-config.method mtp, and so on.
Said said_key_by_key(Arguments& args) {
  const std::string at = std::string(kOption) + ".";
  Said out;
  out.method = args.text(at + "method"), out.model = args.text(at + "model");
  out.tokens = args.integer(at + "num-speculative-tokens");
  for (const char* key : {"num-speculative-tokens", "model", "method"}) {
    if (args.line(at + key) == 0) continue;
    out.option = at + key;
    out.line = args.line(out.option);
  }
  return out;
}

}  // namespace

void write_speculation(ExportDraft& d, const Speculation& s) {
  if (!s.any()) return;
  nlohmann::ordered_json config = {{"method", name_of(s.method)}};
  const Model* drafter = find_preset(s.draft_model);
  const std::string_view hub = drafter == nullptr ? "" : hub_name_of(*drafter);
  if (!hub.empty()) config["model"] = hub;
  if (drafter == nullptr || !hub.empty()) d.say({"serving.speculative.model"});
  config[kTokens] = s.tokens;
  const bool drafts = s.method == Drafting::kDraftModel || s.method == Drafting::kEagle;
  if (drafts && hub.empty()) d.ask(R"("model" of --speculative-config: the drafter's weights)");
  d.set(kOption, "'" + config.dump() + "'");
  d.say({"serving.speculative.method", "serving.speculative.num_speculative_tokens"});
}

void read_speculation(Arguments& args, Imported& out, const std::string& file,
                      const std::string& preset) {
  const Said said = args.flag(kOption) ? said_as_json(args, file) : said_key_by_key(args);
  if (!said.any()) return;
  const auto give = [&](const char* key, std::string json) {
    out.give("serving.speculative." + std::string(key), std::move(json), said.line);
  };
  std::string name = said.method ? *said.method : said.model ? "draft_model" : "none";
  if (name.ends_with("_mtp")) name = "mtp";  // deepseek_mtp and others
  const auto* found = std::ranges::find(kMethods, name, &MethodName::name);
  if (found == std::end(kMethods)) args.unsupported(said.option, "guesses by " + name);
  give("method", json_quote(name_of(found->method)));
  if (said.tokens) give("num_speculative_tokens", std::to_string(*said.tokens));
  const std::int64_t modules = released_modules(preset);
  if (found->method == Drafting::kMtp && modules > 0) {
    out.give("model.mtp_layers", std::to_string(modules), said.line);
  }
  if (found->method != Drafting::kDraftModel || !said.model) return;
  const std::string drafter = preset_of_hub_name(*said.model);
  if (drafter.empty()) return warn_unread({"the drafter, which is no preset"}, out.warnings);
  give("model", json_quote(drafter));
}

}  // namespace plait::vllm
