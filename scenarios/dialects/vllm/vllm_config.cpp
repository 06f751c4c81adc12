#include "scenarios/dialects/vllm/vllm_config.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/spelling.h"
#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/shell/here_documents.h"
#include "scenarios/dialects/shell/written_settings.h"
#include "scenarios/dialects/yaml_map.h"

namespace plait::vllm {
namespace {

/// Keys by which such a file is known.
constexpr std::array<std::string_view, 9> kKeys = {
    "tensor-parallel-size",   "pipeline-parallel-size", "data-parallel-size",
    "max-model-len",          "max-num-seqs",           "max-num-batched-tokens",
    "gpu-memory-utilization", "kv-cache-dtype",         "enable-expert-parallel"};

/// What an entry is among options: nothing where its text is no value.
std::string option_of(const ConfigEntry& entry) {
  const std::string word = lower_case(entry.text);
  const bool is_on = word == "true" || word == "yes", is_off = word == "false" || word == "no";
  const bool is_top = entry.path.find('.') == std::string::npos;
  if (is_top && is_on) return "--" + entry.path;
  if (is_top && is_off) return "--no-" + entry.path;
  return "--" + entry.path + "=" + entry.text;
}

}  // namespace

bool is_config(const std::string& text) {
  return std::ranges::any_of(yaml_keys(without_documents(text)), [](YamlKey key) {
    std::ranges::replace(key.name, '_', '-');
    return key.indent == 0 && std::ranges::count(kKeys, key.name) != 0;
  });
}

std::vector<ShellWord> words_of_config(const std::string& text, const std::string& file,
                                       Warnings& warnings) {
  const ConfigEntries entries = read_yaml_map(text, file);
  std::vector<ShellWord> out;
  std::vector<std::string> unread;
  for (const ConfigEntry& e : entries.list()) {
    const bool is_map = std::ranges::any_of(entries.list(), [&](const ConfigEntry& other) {
      return other.path.starts_with(e.path + ".");
    });
    if (is_map) continue;
    if (e.text.empty()) {
      unread.push_back(e.path);
    } else {
      out.push_back({.text = option_of(e), .line = e.line, .begins = true});
    }
  }
  warn_unread(unread, warnings);
  return out;
}

std::vector<ShellWord> with_written_config(std::vector<ShellWord> words, const std::string& script,
                                           const std::string& file, Warnings& warnings) {
  constexpr std::string_view kConfig = "--config";
  const std::optional<HereDocument> document = written_as(script, value_behind(words, kConfig));
  if (!document) return words;
  const auto option = std::ranges::find_if(words, [&](const ShellWord& w) {
    return w.text == kConfig || w.text.starts_with("--config=");
  });
  words.erase(option, option + (option->text == kConfig ? 2 : 1));
  const auto serve = std::ranges::find(words, "serve", &ShellWord::text);
  const auto first = std::find_if(serve == words.end() ? words.begin() : serve, words.end(),
                                  [](const ShellWord& w) { return w.text.starts_with('-'); });
  std::vector<ShellWord> written = words_of_config(in_place(*document), file, warnings);
  for (ShellWord& w : written) w.unknown = w.text.find('$') != std::string::npos;
  words.insert(first, written.begin(), written.end());
  return words;
}

}  // namespace plait::vllm
