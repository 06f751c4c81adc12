#include "scenarios/dialects/accelerate/accelerate_script.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "scenarios/dialects/accelerate/accelerate.h"
#include "scenarios/dialects/shell/here_documents.h"
#include "scenarios/dialects/shell/program_words.h"
#include "scenarios/dialects/shell/written_settings.h"
#include "scenarios/dialects/yaml_map.h"

namespace plait::accelerate {
namespace {

/// Between `launch` and the program that it starts.
std::vector<ShellWord> launch_words(const std::string& text) {
  std::vector<ShellWord> words;
  try {
    words = shell_words(text, "");
  } catch (const InputError&) {
    return {};
  }
  const auto launch = std::ranges::adjacent_find(words, [](const ShellWord& a, const ShellWord& b) {
    return is_program(a, "accelerate") && b.text == "launch";
  });
  const auto end =
      std::find_if(launch, words.end(), [](const ShellWord& w) { return w.text.ends_with(".py"); });
  return {launch, end};
}

std::string config_named(const std::vector<ShellWord>& words) {
  const std::string named = value_behind(words, "--config_file");
  return named.empty() ? value_behind(words, "--config-file") : named;
}

void take_option(ConfigEntries& entries, const std::vector<ShellWord>& words,
                 const std::string& key) {
  std::string dashes = key;
  std::ranges::replace(dashes, '_', '-');
  std::string value = value_behind(words, "--" + key);
  if (value.empty()) value = value_behind(words, "--" + dashes);
  if (value.empty() || value.find('$') != std::string::npos) return;
  const bool there = std::ranges::count(entries.list(), key, &ConfigEntry::path) != 0;
  if (!there) entries.add(key, "", words.front().line);
  entries.say(key, value);
}

}  // namespace

std::optional<std::string> config_in(const std::string& text) {
  const bool is_it = std::ranges::any_of(yaml_keys(commands_of(text)), [](const YamlKey& key) {
    return key.indent == 0 && key.name == "distributed_type";
  });
  if (is_it) return text;
  const auto document = written_as(text, config_named(launch_words(text)));
  return document ? std::optional(in_place(*document)) : std::nullopt;
}

ConfigEntries entries_of(const std::string& text, const std::string& file) {
  const std::optional<std::string> config = config_in(text);
  ConfigEntries out = read_yaml_map(config.value_or(text), file);
  if (!config || *config == text) return out;
  const std::vector<ShellWord> words = launch_words(text);
  for (const char* key : {"num_machines", "num_processes", "mixed_precision"})
    take_option(out, words, key);
  return out;
}

}  // namespace plait::accelerate
