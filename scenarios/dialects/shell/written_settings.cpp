#include "scenarios/dialects/shell/written_settings.h"

#include <algorithm>

#include "core/error.h"

namespace plait {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// With the script's variables filled in.
std::string filled_in(const std::string& script, const std::string& word) {
  if (word.find('$') == std::string::npos) return word;
  try {
    const std::vector<ShellWord> words = shell_words(script + "\n: " + word + "\n", "");
    return words.empty() ? word : words.back().text;
  } catch (const InputError&) {
    return word;  // the script's reader says what is wrong
  }
}

}  // namespace

std::optional<HereDocument> written_as(const std::string& script, std::string_view named) {
  std::optional<HereDocument> out;
  if (named.empty()) return out;
  for (HereDocument& document : settings_written_by(script)) {
    const std::string name = filled_in(script, document.file);
    if (file_name(name) == file_name(named)) out = std::move(document);
  }
  return out;
}

std::string value_behind(const std::vector<ShellWord>& words, std::string_view option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view text = words[i].text;
    if (text == option) return i + 1 < words.size() ? words[i + 1].text : "";
    if (text.starts_with(option) && text.substr(option.size()).starts_with('='))
      return std::string(text.substr(option.size() + 1));
  }
  return "";
}

}  // namespace plait
