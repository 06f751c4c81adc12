#include "scenarios/dialects/shell/written_settings.h"

#include <map>

#include "core/error.h"
#include "scenarios/dialects/shell/shell_cursor.h"

namespace plait {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Behind $NAME or ${NAME...}, which begins at `at`; `at` where none does.
std::size_t end_of_variable(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  if (text.substr(end).starts_with('{')) {
    end = text.find('}', end);
    return end == std::string_view::npos ? at : end + 1;
  }
  while (end < text.size() && is_shell_name(text[end])) ++end;
  return end == at + 1 ? at : end;
}

/// $NAME and ${NAME...}, each with what it stands for.
std::string expanded(const std::string& script, const std::string& contents) {
  std::string out;
  std::map<std::string, std::string> known;
  for (std::size_t at = 0; at < contents.size();) {
    const std::size_t end = contents[at] == '$' ? end_of_variable(contents, at) : at;
    if (end == at) {
      out += contents[at++];
      continue;
    }
    const std::string word = contents.substr(at, end - at);
    const auto [found, is_new] = known.try_emplace(word);
    if (is_new) found->second = filled_in(script, word);
    out += found->second;
    at = end;
  }
  return out;
}

}  // namespace

std::string filled_in(const std::string& script, const std::string& word) {
  if (word.find('$') == std::string::npos) return word;
  try {
    const std::vector<ShellWord> words = shell_words(script + "\n: " + word + "\n", "");
    return words.empty() ? word : words.back().text;
  } catch (const InputError&) {
    return word;  // the script's reader says what is wrong
  }
}

std::optional<HereDocument> written_as(const std::string& script, std::string_view named) {
  std::optional<HereDocument> out;
  if (named.empty()) return out;
  for (HereDocument& document : settings_written_by(script)) {
    const std::string name = filled_in(script, document.file);
    if (file_name(name) == file_name(named)) out = std::move(document);
  }
  if (out && out->expands) out->contents = expanded(script, out->contents);
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
