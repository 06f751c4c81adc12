#include "scenarios/dialects/shell/here_documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// What a line opens: "cat > FILE <<EOF", "cat <<-'EOF' >FILE", "tee FILE <<EOF", "cat <<EOF".
struct Opening {
  std::string file;  // "": it is text
  std::string mark;
  bool indented = false;  // <<-: tabs may stand in front of the mark
  bool expands = true;    // no quotes around that
};

/// A command whose input is text, and not commands.
bool takes_text(std::string_view command) {
  const std::string first = word_at(command, 0);
  return first == "cat" || first == "python" || first == "python3" || first == ":";
}

std::optional<Opening> opening_of(std::string_view line) {
  const std::size_t at = line.find("<<");
  if (at == std::string_view::npos || line.substr(at).starts_with("<<<")) return std::nullopt;
  if (trimmed(line).starts_with('#')) return std::nullopt;
  const bool indented = line.substr(at + 2).starts_with('-');
  const std::string mark = word_at(line, at + (indented ? 3 : 2));
  if (mark.empty()) return std::nullopt;
  const std::size_t quote = line.find_first_not_of(" \t-", at + 2);
  const bool expands = line[quote] != '\'' && line[quote] != '"' && line[quote] != '\\';
  const std::size_t into = line.find('>'), tee = line.find("tee ");
  const bool writes = into != std::string_view::npos;
  if (writes || tee != std::string_view::npos) {
    const std::size_t behind = writes ? line.find_first_not_of('>', into) : tee + 4;
    return Opening{word_at(line, std::min(behind, line.size())), mark, indented, expands};
  }
  const std::string_view before = line.substr(0, at);
  const bool feeds = line.substr(at).find('|') != std::string_view::npos;  // another command
  if (feeds || !takes_text(before.substr(before.find_last_of(";&{") + 1))) return std::nullopt;
  return Opening{"", mark, indented, expands};
}

/// "key: value", "- item", or a comment; one key at least.
bool is_yaml(std::string_view contents) {
  bool has_key = false;
  for (const std::string& text : split(std::string(contents), '\n')) {
    const std::string_view line = trimmed(text, " \t\r");
    if (line.empty() || line.starts_with('#') || line.starts_with("- ") || line == "---") continue;
    const std::size_t colon = line.find(':');
    const std::string_view key = line.substr(0, std::min(colon, line.size()));
    const bool names = colon != std::string_view::npos && colon > 0 &&
                       key.find_first_of(" \t$\"'=(") == std::string_view::npos;
    const bool ends = colon + 1 == line.size() || (names && line[colon + 1] == ' ');
    if (!names || !ends) return false;
    has_key = true;
  }
  return has_key;
}

bool is_settings(const HereDocument& document) {
  const auto is_called = [&](std::string_view suffix) { return document.file.ends_with(suffix); };
  const std::string_view contents = trimmed(document.contents, " \t\r\n");
  return is_called(".json") || is_called(".yaml") || is_called(".yml") || is_called(".toml") ||
         contents.starts_with('{') || contents.starts_with('[') || is_yaml(contents);
}

/// Settings, and text, whose file is "".
std::vector<HereDocument> documents_of(const std::string& script) {
  std::vector<HereDocument> out;
  std::optional<Opening> open;
  HereDocument document;
  int number = 0;
  for (const std::string& line : split(script, '\n')) {
    ++number;
    if (!open) {
      open = opening_of(line);
      if (open) document = {open->file, number + 1, "", open->expands};
    } else if (trimmed(line, open->indented ? "\t\r" : "\r") == open->mark) {
      if (document.file.empty() || is_settings(document)) out.push_back(std::move(document));
      open.reset();
    } else {
      document.contents += line + "\n";
    }
  }
  return out;
}

/// Where a comment begins: behind a blank, and not in quotes.
std::size_t comment_in(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0 ? c == quote : c == '"' || c == '\'') quote = quote != 0 ? 0 : c;
    const bool stands_free = i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t';
    if (quote == 0 && c == '#' && stands_free) return i;
  }
  return line.size();
}

}  // namespace

std::vector<HereDocument> settings_written_by(const std::string& script) {
  std::vector<HereDocument> out = documents_of(script);
  std::erase_if(out, [](const HereDocument& document) { return document.file.empty(); });
  return out;
}

std::string without_documents(const std::string& script) {
  const std::vector<HereDocument> documents = documents_of(script);
  if (documents.empty()) return script;
  std::vector<std::string> lines = split(script, '\n');
  for (const HereDocument& document : documents) {
    const auto length = std::ranges::count(document.contents, '\n');
    // Its mark is no word of a command either.
    for (std::ptrdiff_t i = 0; i <= length; ++i)
      lines[static_cast<std::size_t>(document.first - 1 + i)].clear();
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string commands_of(const std::string& text) {
  std::vector<std::string> lines = split(without_documents(text), '\n');
  for (std::string& line : lines) line.resize(comment_in(line));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string in_place(const HereDocument& document) {
  return std::string(static_cast<std::size_t>(document.first - 1), '\n') + document.contents;
}

}  // namespace plait
