#include "scenarios/published/model_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>

#include "core/parse_number.h"
#include "core/spelling.h"

namespace plait {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_kept(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Whether a number goes on over the place `at` of a plain name.
bool cuts_number(std::string_view name, std::size_t at) {
  return at > 0 && at < name.size() && is_digit(name[at - 1]) && is_digit(name[at]);
}

bool agrees(std::int64_t published, std::int64_t size) {
  return published == 0 || published == size;
}

bool has_shape_of(const PublishedModel& m, const Model& preset) {
  const bool experts = agrees(m.experts, preset.experts) || preset.experts > 0;
  return agrees(m.hidden, preset.hidden) && agrees(m.heads, preset.heads) && experts &&
         m.gated_mlp == preset.gated_mlp;
}

/// Parameters that a name says, "1.5B" and "345M"; 0: none, as "8x7B", which are not added up so.
double parameters_said(const std::string& name) {
  static const std::regex kSize(R"((?:^|[^\w.])(\d+(?:\.\d+)?) ?([BM])\b)", std::regex::icase);
  std::smatch found;
  if (!std::regex_search(name, found, kSize)) return 0;
  const auto number = parse_number<double>(found.str(1));
  return number.value_or(0) * (std::toupper(found.str(2).front()) == 'B' ? 1e9 : 1e6);
}

/// How many times as many, at least 1: all that there are, or those that a token meets, as
/// "Llama-4-Scout-17B-16E" counts.
double size_ratio(const Preset& preset, double parameters) {
  const ParameterCount own = count_parameters(preset.model);
  const auto ratio = [parameters](std::int64_t count) {
    const auto n = static_cast<double>(count);
    return std::max(n, parameters) / std::min(n, parameters);
  };
  return std::min(ratio(own.total(preset.model)), ratio(own.active(preset.model)));
}

/// Of a family that is called as one of its models, "GPT-2 1.5B", and has no shape in the record,
/// the one of that size; null: none.
const Preset* of_its_size(const PublishedModel& m, const Preset* called) {
  constexpr double kAnother = 1.5, kSame = 1.15;  // sizes in names are round
  const double said = parameters_said(m.name);
  const bool open = called != nullptr && m.hidden == 0 && said > 0;
  if (!open || size_ratio(*called, said) < kAnother) return called;
  for (const Preset& preset : presets()) {
    const bool family = preset.model.name.starts_with(called->model.name);
    if (family && has_shape_of(m, preset.model) && size_ratio(preset, said) < kSame) return &preset;
  }
  return nullptr;
}

/// Families whose MLPs are gated, in small letters.
constexpr std::string_view kGated[] = {"llama",    "mistral",  "mixtral",  "qwen",
                                       "deepseek", "kimi",     "gemma",    "yi-",
                                       "olmo",     "baichuan", "internlm", "dbrx"};

}  // namespace

std::string plain_name(std::string_view name) {
  std::string out;
  bool apart = false;
  for (const char c : lower_case(name)) {
    if (!is_kept(c)) {
      apart = true;
      continue;
    }
    if (apart && !out.empty() && is_digit(out.back()) && is_digit(c)) out += '.';
    apart = false;
    out += c;
  }
  return out;
}

bool is_called(std::string_view name, std::string_view words) {
  const std::string all = plain_name(name), part = plain_name(words);
  for (std::size_t at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) {
    if (!cuts_number(all, at) && !cuts_number(all, at + part.size())) return true;
  }
  return false;
}

const Preset* preset_called(const PublishedModel& m) {
  const Preset* found = nullptr;
  for (const Preset& preset : presets()) {
    if (!is_called(m.name, preset.model.name) || !has_shape_of(m, preset.model)) continue;
    if (found == nullptr || preset.model.name.size() > found->model.name.size()) found = &preset;
  }
  return of_its_size(m, found);
}

bool is_gated_by_name(PublishedModel m) {
  for (const bool gated : {true, false}) {
    m.gated_mlp = gated;
    if (preset_called(m) != nullptr) return gated;
  }
  const std::string small = lower_case(m.name);
  return std::ranges::any_of(kGated, [&](auto family) { return mentions(small, family); });
}

PublishedModel completed_by_preset(PublishedModel m) {
  const Preset* preset = preset_called(m);
  if (preset == nullptr) return m;
  const Model& p = preset->model;
  complete(m.layers, p.layers);
  complete(m.hidden, p.hidden);
  complete(m.heads, p.heads);
  complete(m.kv_heads, p.kv_heads);
  complete(m.ffn_hidden, p.ffn_hidden);
  complete(m.vocab, p.vocab);
  if (p.experts == 0) return m;
  complete(m.experts, p.experts);
  complete(m.experts_per_token, p.experts_per_token);
  complete(m.expert_ffn_hidden, p.expert_ffn_hidden);
  complete(m.first_dense_layers, p.first_dense_layers);
  if (m.shared_experts.empty() && p.shared_ffn_hidden > 0)
    m.shared_experts = fmt::format("1 x {}", p.shared_ffn_hidden);
  return m;
}

}  // namespace plait
