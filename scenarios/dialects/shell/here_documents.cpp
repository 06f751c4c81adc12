#include "scenarios/dialects/shell/here_documents.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/split.h"
#include "scenarios/dialects/config_entries.h"

namespace plait {
namespace {

/// The word at `at`, without quotes.
std::string word_at(std::string_view line, std::size_t at) {
  at = std::min(line.find_first_not_of(" \t", at), line.size());
  const std::size_t end = line.find_first_of(" \t\r;&|<>", at);
  return std::string(strip_quotes(line.substr(at, end - at)));
}

/// What a line opens: "cat > FILE <<EOF", "cat <<-'EOF' >FILE", "tee FILE <<EOF".
struct Opening {
  std::string file, mark;
  bool indented = false;  // <<-: tabs may stand in front of the mark
};
std::optional<Opening> opening_of(std::string_view line) {
  const std::size_t at = line.find("<<");
  if (at == std::string_view::npos || line.substr(at).starts_with("<<<")) return std::nullopt;
  if (trimmed(line).starts_with('#')) return std::nullopt;
  const bool indented = line.substr(at + 2).starts_with('-');
  const std::string mark = word_at(line, at + (indented ? 3 : 2));
  const std::size_t into = line.find('>'), tee = line.find("tee ");
  const bool writes = into != std::string_view::npos;
  if (mark.empty() || (!writes && tee == std::string_view::npos)) return std::nullopt;
  const std::size_t behind = writes ? line.find_first_not_of('>', into) : tee + 4;
  return Opening{word_at(line, std::min(behind, line.size())), mark, indented};
}

bool is_settings(const HereDocument& document) {
  const auto is_called = [&](std::string_view suffix) { return document.file.ends_with(suffix); };
  const std::string_view contents = trimmed(document.contents, " \t\r\n");
  return is_called(".json") || is_called(".yaml") || is_called(".yml") || is_called(".toml") ||
         contents.starts_with('{') || contents.starts_with('[');
}

}  // namespace

std::vector<HereDocument> settings_written_by(const std::string& script) {
  std::vector<HereDocument> out;
  std::optional<Opening> open;
  HereDocument document;
  int number = 0;
  for (const std::string& line : split(script, '\n')) {
    ++number;
    if (!open) {
      open = opening_of(line);
      if (open) document = {open->file, number + 1, ""};
    } else if (trimmed(line, open->indented ? "\t\r" : "\r") == open->mark) {
      if (is_settings(document)) out.push_back(std::move(document));
      open.reset();
    } else {
      document.contents += line + "\n";
    }
  }
  return out;
}

std::string without_settings(const std::string& script) {
  const std::vector<HereDocument> documents = settings_written_by(script);
  if (documents.empty()) return script;
  std::vector<std::string> lines = split(script, '\n');
  for (const HereDocument& document : documents) {
    const auto length = std::ranges::count(document.contents, '\n');
    // Its mark is no word of a command either.
    for (std::ptrdiff_t i = 0; i <= length; ++i)
      lines[static_cast<std::size_t>(document.first - 1 + i)].clear();
  }
  std::string out = lines.front();
  for (std::size_t i = 1; i < lines.size(); ++i) out += "\n" + lines[i];
  return out;
}

std::string in_place(const HereDocument& document) {
  return std::string(static_cast<std::size_t>(document.first - 1), '\n') + document.contents;
}

}  // namespace plait
