#include "scenarios/dialects/peft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/fields.h"
#include "core/json.h"
#include "plan/lora.h"
#include "scenarios/dialects/hub_names.h"

namespace plait::peft {
namespace {

struct Module {
  std::string_view name;
  AdapterTarget target;
};
/// Of models in transformers: Llama, Mistral, Qwen and Gemma; Phi-3; GPT-NeoX, Falcon and BLOOM;
/// GPT-2's packed projection; OPT.
constexpr std::array<Module, 17> kModules = {{
    {"q_proj", AdapterTarget::kQ},
    {"k_proj", AdapterTarget::kK},
    {"v_proj", AdapterTarget::kV},
    {"o_proj", AdapterTarget::kOut},
    {"gate_proj", AdapterTarget::kGateHalf},
    {"up_proj", AdapterTarget::kUpHalf},
    {"down_proj", AdapterTarget::kDown},
    {"qkv_proj", AdapterTarget::kQkv},
    {"gate_up_proj", AdapterTarget::kUp},
    {"query_key_value", AdapterTarget::kQkv},
    {"dense", AdapterTarget::kOut},
    {"dense_h_to_4h", AdapterTarget::kUp},
    {"dense_4h_to_h", AdapterTarget::kDown},
    {"c_attn", AdapterTarget::kQkv},
    {"out_proj", AdapterTarget::kOut},
    {"fc1", AdapterTarget::kUp},
    {"fc2", AdapterTarget::kDown},
}};

/// Of every model, until it is known which modules it has (Imported::adapts_all_linear).
constexpr std::array kAllProducts = {AdapterTarget::kQkv, AdapterTarget::kOut, AdapterTarget::kUp,
                                     AdapterTarget::kDown};

/// Where they are anything but their defaults (none, empty, false, "none"), another method.
struct Other {
  std::string_view key, what;
};
constexpr std::array<Other, 13> kOthers = {{
    {"use_dora", "magnitudes that are trained beside the factors (DoRA)"},
    {"bias", "biases that are trained"},
    {"lora_bias", "biases of adapters"},
    {"modules_to_save", "modules that are trained whole"},
    {"rank_pattern", "ranks by module"},
    {"alpha_pattern", "scales by module"},
    {"layers_to_transform", "adapters of some layers alone"},
    {"exclude_modules", "modules that are left out"},
    {"layer_replication", "layers that are there several times"},
    {"target_parameters", "adapters of parameters that are no linear layers"},
    {"trainable_token_indices", "rows of the embedding that are trained"},
    {"use_qalora", "adapters of groups of columns (QA-LoRA)"},
    {"alora_invocation_tokens", "adapters that act behind a text (aLoRA)"},
}};

/// What says nothing of cost: how adapters start, what merges them.
constexpr std::array<std::string_view, 18> kIdle = {
    "auto_mapping",        "revision",          "task_type",         "inference_mode",
    "fan_in_fan_out",      "loftq_config",      "init_lora_weights", "megatron_config",
    "megatron_core",       "eva_config",        "corda_config",      "runtime_config",
    "layers_pattern",      "qalora_group_size", "peft_version",      "arrow_config",
    "ensure_weight_tying", "lora_ga_config"};

bool is_default(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::kNull: return true;
    case Json::Kind::kBool: return !json.boolean();
    case Json::Kind::kText: return json.text() == "none";
    case Json::Kind::kList:
    case Json::Kind::kObject: return json.children().empty();
    case Json::Kind::kInteger:
    case Json::Kind::kNumber: return false;
  }
  return false;
}

class Reading {
 public:
  Reading(const std::string& text, const std::string& file) : document_(parse_json(text, file)) {
    if (!document_.root().is(Json::Kind::kObject)) refuse_type(document_.root(), "an object");
  }

  Imported read() {
    method();
    model();
    give("r", "rank", integer("r", 8));
    give("lora_alpha", "alpha", number("lora_alpha", 8));
    give("use_rslora", "rank_stabilized", json_bool(flag("use_rslora")));
    targets();
    dropout();
    report_unread();
    out_.keeps_ranks = true;
    return std::move(out_);
  }

 private:
  const Json* find(std::string_view key) {
    asked_.emplace_back(key);
    const Json* at = document_.root().find(key);
    return at == nullptr || at->is(Json::Kind::kNull) ? nullptr : at;
  }
  void give(std::string_view by, const char* field, std::string json) {
    const Json* at = find(by);
    out_.give(fmt::format("workload.lora.{}", field), std::move(json),
              at == nullptr ? 0 : at->where().line);
  }
  [[noreturn]] static void refuse(const Json& at, std::string problem, std::string expected) {
    throw InputError({"D006", std::move(problem), at.where(), std::move(expected),
                      "remove it; a scenario cannot say it"});
  }

  void model() {
    const Json* name = find("base_model_name_or_path");
    if (name == nullptr || !name->is(Json::Kind::kText)) return;
    out_.adapted_model = preset_of_hub_name(name->text());
    if (out_.adapted_model.empty()) out_.unknown_model = name->text();
  }
  void method() {
    const Json* type = find("peft_type");
    if (type != nullptr && !type->is(Json::Kind::kText)) refuse_type(*type, "a text");
    if (type != nullptr && type->text() != "LORA") {
      refuse(*type, fmt::format("{} is another method than low-rank adapters", type->text()),
             "\"LORA\"");
    }
    for (const Other& other : kOthers) {
      const Json* at = find(other.key);
      if (at != nullptr && !is_default(*at))
        refuse(*at, fmt::format("{}: {}", other.key, other.what), "none");
    }
  }
  std::string integer(std::string_view key, std::int64_t otherwise) {
    const Json* at = find(key);
    if (at == nullptr) return std::to_string(otherwise);
    if (!at->is(Json::Kind::kInteger)) refuse_type(*at, "an integer");
    if (at->number() < 1) refuse_range(*at, "an integer from 1");
    return fmt::format("{}", at->number());
  }
  std::string number(std::string_view key, double otherwise) {
    const Json* at = find(key);
    if (at == nullptr) return fmt::format("{}", otherwise);
    if (!at->is(Json::Kind::kInteger) && !at->is(Json::Kind::kNumber)) refuse_type(*at, "a number");
    if (!(at->number() > 0)) refuse_range(*at, "a number above 0");
    return fmt::format("{}", at->number());
  }
  bool flag(std::string_view key) {
    const Json* at = find(key);
    if (at == nullptr) return false;
    if (!at->is(Json::Kind::kBool)) refuse_type(*at, "true or false");
    return at->boolean();
  }

  void targets() {
    const Json* at = find("target_modules");
    if (at == nullptr) {
      refuse(document_.root(), "target_modules are not said, and depend on the model in PEFT",
             "names of modules, or \"all-linear\"");
    }
    std::vector<AdapterTarget> out;
    if (at->is(Json::Kind::kText)) {
      if (at->text() != "all-linear") {
        refuse(*at, fmt::format("target_modules is a pattern, \"{}\"", at->text()),
               "names of modules, or \"all-linear\"");
      }
      out.assign(kAllProducts.begin(), kAllProducts.end());
      out_.adapts_all_linear = true;
    } else {
      if (!at->is(Json::Kind::kList)) refuse_type(*at, "names of modules, or \"all-linear\"");
      for (const Json* name : at->children()) {
        const AdapterTarget target = target_of(*name);
        if (std::ranges::find(out, target) == out.end()) out.push_back(target);
      }
    }
    std::vector<std::string> names;
    for (const AdapterTarget t : out) names.push_back(json_quote(name_of(t)));
    give("target_modules", "targets", fmt::format("[{}]", fmt::join(names, ", ")));
  }
  /// By the last part of "self_attn.q_proj".
  static AdapterTarget target_of(const Json& name) {
    if (!name.is(Json::Kind::kText)) refuse_type(name, "the name of a module");
    const std::string& text = name.text();
    const std::string_view last = std::string_view(text).substr(text.rfind('.') + 1);
    const auto found = std::ranges::find(kModules, last, &Module::name);
    if (found != kModules.end()) return found->target;
    std::vector<std::string_view> known;
    for (const Module& m : kModules) known.push_back(m.name);
    refuse(name, fmt::format("no product of a layer is known by the name \"{}\"", text),
           fmt::format("{}", fmt::join(known, ", ")));
  }
  void dropout() {
    const Json* at = find("lora_dropout");
    if (at == nullptr) return;
    if (!at->is(Json::Kind::kInteger) && !at->is(Json::Kind::kNumber)) refuse_type(*at, "a number");
    if (at->number() < 0 || at->number() >= 1) refuse_range(*at, "a number from 0 to below 1");
    give("lora_dropout", "dropout", fmt::format("{}", at->number()));
  }
  void report_unread() {
    std::vector<std::string> unread;
    for (const Json* member : document_.root().children()) {
      const std::string& key = member->key();
      const bool idle = std::ranges::find(kIdle, key) != kIdle.end();
      if (!idle && std::ranges::find(asked_, key) == asked_.end()) unread.push_back(key);
    }
    warn_unread(unread, out_.warnings);
  }

  JsonDocument document_;
  std::vector<std::string> asked_;
  Imported out_;
};

}  // namespace

Imported read(const std::string& text, const std::string& file) {
  return Reading(text, file).read();
}

}  // namespace plait::peft
