#include "scenarios/published/device_called.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <regex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/spelling.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

/// "8xH100": H100.
std::string without_count(const std::string& text) {
  static const std::regex kCount(R"(^\s*\d+\s*x\s*)", std::regex::icase);
  return std::regex_replace(text, kCount, "");
}

/// The number in front of its unit, "80" of "80gb" and "80g"; "" of other words.
std::string gigabytes_of(const std::string& word) {
  const std::size_t digits = word.find_first_not_of("0123456789");
  const bool unit = digits != std::string::npos && digits > 0 &&
                    (word.substr(digits) == "gb" || word.substr(digits) == "g");
  return unit ? word.substr(0, digits) : "";
}

/// "A100-SXM4-80GB": a100, sxm, 80. "RTX4090": rtx, 4090.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : lower_case(without_count(text))) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out.back() += c;
    else
      out.emplace_back();
    if (out.back() == "rtx") out.emplace_back();
  }
  std::erase(out, "");
  for (std::string& word : out) {
    if (word.starts_with("sxm")) word = "sxm";
    if (std::string memory = gigabytes_of(word); !memory.empty()) word = std::move(memory);
  }
  return out;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

/// GB that tell two boards of one name apart.
bool is_memory(const std::string& word) {
  constexpr std::array<std::string_view, 6> kGigabytes = {"16", "32", "40", "80", "96", "144"};
  return std::ranges::find(kGigabytes, word) != kGigabytes.end();
}

bool is_form(const std::string& word) { return word == "sxm" || word == "pcie" || word == "nvl"; }

/// How well a name of the catalogue fits; nothing where the two contradict each other.
std::optional<int> fit(const std::vector<std::string>& name,
                       const std::vector<std::string>& words) {
  int score = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool memory = i > 0 && is_memory(name[i]), form = is_form(name[i]);
    const bool contradicted = memory ? std::ranges::any_of(words, is_memory)
                              : form ? std::ranges::any_of(words, is_form)
                                     : true;
    if (has(words, name[i]))
      score += 10;
    else if (name[i] == "rtx")  // which people leave out
      continue;
    else if (contradicted)
      return std::nullopt;
    else if (memory)
      score -= 2;  // a plain H100 has 80 GB
    else if (name[i] == "sxm")
      score += 1;
  }
  return score;
}

std::string best_fit(const std::vector<std::string>& said) {
  std::string best;
  std::optional<int> most;
  for (const std::string& name : device_names()) {
    const std::optional<int> score = fit(words_of(name), said);
    if (!score) continue;
    const bool larger =
        most && *score == *most && find_device(name).memory.value > find_device(best).memory.value;
    if (!most || *score > *most || larger) best = name, most = score;
  }
  return best;
}

/// "h100" of h100-sxm, "3090" of rtx-3090-ti.
std::string model_of_name(const std::string& name) {
  const std::vector<std::string> words = words_of(name);
  const auto model = std::ranges::find_if(words, [](const auto& word) { return word != "rtx"; });
  return model == words.end() ? "" : *model;
}

const std::regex& memory_pattern() {
  static const std::regex kMemory(R"(\b(\d{2,4}) ?GB?\b)", std::regex::icase);
  return kMemory;
}

}  // namespace

std::set<std::string> models_called(const std::string& words) {
  const std::vector<std::string> said = words_of(words);
  std::set<std::string> out;
  for (const std::string& name : device_names()) {
    const std::string model = model_of_name(name);
    if (has(said, model) && fit({model}, said)) out.insert(model);
  }
  return out;
}

std::string device_called(const std::string& words) {
  std::vector<std::string> said = words_of(words);
  if (std::string found = best_fit(said); !found.empty()) return found;
  std::erase_if(said, is_memory);  // a board that the catalogue has with another memory
  return best_fit(said);
}

double gigabytes_said(const std::string& words) {
  std::smatch found;
  return std::regex_search(words, found, memory_pattern()) ? std::stod(found.str(1)) : 0;
}

std::string with_gigabytes(const std::string& words, double gigabytes) {
  return std::regex_replace(words, memory_pattern(), fmt::format("{:.0f}GB", gigabytes),
                            std::regex_constants::format_first_only);
}

std::string node_with(const std::string& device) {
  std::string best = "pcie-8";
  bool rented = true;
  for (const std::string& name : cluster_names()) {
    if (find_node(name).device != device) continue;
    const bool cloud = name.starts_with("aws-") || name.starts_with("gcp-");
    if (best == "pcie-8" || (rented && !cloud)) best = name, rented = cloud;
  }
  return best;
}

}  // namespace plait
