#include "scenarios/dialects/llama_cpp/llama_cpp_overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <string_view>
#include <vector>

#include "model/presets.h"

namespace plait::llama_cpp {
namespace {

constexpr const char* kOverride = "--override-tensor";
constexpr std::int64_t kTried = 1000;  // layers of a model that is not known, for patterns

// Tensors of a layer: src/llama-arch.cpp. Gate and up may be one.
constexpr std::array<std::string_view, 3> kOfExperts = {"ffn_gate_exps", "ffn_up_exps",
                                                        "ffn_down_exps"};
constexpr std::array<std::string_view, 13> kOfLayers = {
    "attn_q",       "attn_k",         "attn_v",        "attn_output", "attn_norm",
    "ffn_norm",     "ffn_gate",       "ffn_up",        "ffn_down",    "ffn_gate_inp",
    "ffn_up_shexp", "ffn_gate_shexp", "ffn_down_shexp"};
constexpr std::array<std::string_view, 2> kOfModel = {"token_embd.weight", "output.weight"};

struct Override {
  std::string text;
  std::regex pattern;
  bool to_host = false;
};

class Overrides {
 public:
  Overrides(Arguments& args, const std::string& preset) : args_(args) {
    for (const ShellWord& word : args.values_of(kOverride)) {
      for (std::size_t at = 0; at <= word.text.size();) {
        const std::size_t end = std::min(word.text.find_first_of(",;", at), word.text.size());
        add(word.text.substr(at, end - at));
        at = end + 1;
      }
    }
    model_ = find_preset(preset);
  }

  /// Layers whose tensors patterns are tried on, and how many the model may have.
  std::int64_t tried() const { return model_ == nullptr ? kTried : model_->layers; }
  std::int64_t layers() const { return model_ == nullptr ? kMostLayers : model_->layers; }
  bool has_experts(std::int64_t layer) const {
    return model_ == nullptr || model_->has_experts(layer);
  }
  /// The part of a layer's experts, by their matrices, that goes to host memory.
  double host_part(std::int64_t layer) const {
    const auto there = std::ranges::count_if(kOfExperts, [&](std::string_view t) {
      return to_host(fmt::format("blk.{}.{}.weight", layer, t));
    });
    return static_cast<double>(there) / static_cast<double>(kOfExperts.size());
  }
  /// Other tensors that go there: names, without their layers.
  std::vector<std::string> others() const {
    std::vector<std::string> out;
    for (const std::string_view t : kOfLayers) {
      if (!has_tensor(t)) continue;
      for (std::int64_t l = 0; l < tried(); ++l) {
        if (!to_host(fmt::format("blk.{}.{}.weight", l, t))) continue;
        out.emplace_back(t);
        break;
      }
    }
    if (to_host(std::string(kOfModel[1]))) out.emplace_back("output");
    return out;
  }
  /// Patterns for a device.
  std::vector<std::string> to_devices() const {
    std::vector<std::string> out;
    for (const Override& o : all_) {
      if (!o.to_host) out.push_back(o.text);
    }
    return out;
  }

 private:
  void add(const std::string& text) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos) args_.malformed(kOverride, "PATTERN=BUFFER");
    try {
      all_.push_back({text, std::regex(text.substr(0, equals)), text.substr(equals + 1) == "CPU"});
    } catch (const std::regex_error&) {
      args_.malformed(kOverride, "a regular expression in front of =");
    }
  }
  bool has_tensor(std::string_view name) const {
    if (model_ == nullptr) return true;
    if (name.ends_with("_shexp")) return model_->shared_ffn_hidden > 0;
    return name != "ffn_gate_inp" || model_->experts > 0;
  }
  bool to_host(const std::string& tensor) const {
    const auto first = std::ranges::find_if(
        all_, [&](const Override& o) { return std::regex_search(tensor, o.pattern); });
    return first != all_.end() && first->to_host;
  }

  Arguments& args_;
  std::vector<Override> all_;
  const Model* model_ = nullptr;
};

void warn_of_others(const Overrides& overrides, Imported& out) {
  for (const std::string& text : overrides.to_devices()) {
    warn_unread({fmt::format("{} {}", kOverride, text)}, out.warnings);
  }
  const std::vector<std::string> others = overrides.others();
  if (others.empty()) return;
  std::string names;
  for (const std::string& name : others) names += (names.empty() ? "" : ", ") + name;
  out.warnings.push_back(
      {"W007", fmt::format("not read: {} moves {} to host memory, which stay on devices here",
                           kOverride, names)});
}

}  // namespace

std::optional<std::int64_t> experts_overridden(Arguments& args, const std::string& preset,
                                               Imported& out) {
  if (!args.flag(kOverride)) return std::nullopt;
  const Overrides overrides(args, preset);
  warn_of_others(overrides, out);
  double there = 0;
  std::int64_t dense = 0, first_that_stays = -1, last = -1;  // of layers
  bool whole = true;
  for (std::int64_t l = 0; l < overrides.tried(); ++l) {
    if (!overrides.has_experts(l)) {
      ++dense;
      continue;
    }
    const double part = overrides.host_part(l);
    there += part;
    whole = whole && (part == 0 || part == 1);
    if (part > 0) last = l;
    if (part < 1 && first_that_stays < 0) first_that_stays = l;
  }
  if (last < 0) return std::nullopt;
  if (first_that_stays < 0) return overrides.layers();
  const bool from_first = last < first_that_stays;
  const auto layers = std::llround(there);
  if (from_first) return last + 1;
  out.warnings.push_back(
      {"W008",
       fmt::format(
           "experts that {} keeps in host memory, {}, are read as those of the first {} layers",
           kOverride, whole ? "of layers further back" : "some of a layer's matrices", layers)});
  const bool dense_first = dense > 0 && !overrides.has_experts(0);
  return layers + (dense_first ? dense : 0);
}

}  // namespace plait::llama_cpp
