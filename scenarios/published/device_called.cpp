#include "scenarios/published/device_called.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

#include "core/spelling.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

bool is_number(const std::string& word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c); });
}

/// "A100-SXM4-80GB": a100, sxm, 80. "RTX4090": rtx, 4090.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : lower_case(text)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out.back() += c;
    else
      out.emplace_back();
    if (out.back() == "rtx") out.emplace_back();
  }
  std::erase(out, "");
  for (std::string& word : out) {
    if (word.starts_with("sxm")) word = "sxm";
    const std::string memory = word.substr(0, word.find("gb"));
    if (word.ends_with("gb") && is_number(memory)) word = memory;
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
    else if (contradicted)
      return std::nullopt;
    else if (memory)
      score -= 2;  // a plain H100 has 80 GB
    else if (name[i] == "sxm")
      score += 1;
  }
  return score;
}

}  // namespace

std::string device_called(const std::string& words) {
  const std::vector<std::string> said = words_of(words);
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
