#include "scenarios/dialects/yaml_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/split.h"

namespace plait {
namespace {

/// Reads on, character by character.
class Quotes {
 public:
  /// It is a quote, or stands between two.
  bool hold(char c) {
    const bool inside = quote_ != 0, opens = c == '\'' || c == '"';
    if (inside ? c == quote_ : opens) quote_ = inside ? 0 : c;
    return inside || opens;
  }

 private:
  char quote_ = 0;  // that is open
};

/// What stands in front of a comment.
std::string_view uncommented(std::string_view line) {
  Quotes quotes;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quotes.hold(line[i]) || line[i] != '#') continue;
    if (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t') return line.substr(0, i);
  }
  return line;
}

std::string scalar(std::string_view text) {
  return text == "null" || text == "~" ? "" : std::string(strip_quotes(text));
}

struct Level {
  std::size_t indent;
  std::string prefix;
};

/// Lines, as entries.
class YamlLines {
 public:
  explicit YamlLines(const std::string& file) : entries(file), file_(file) {}

  void add(const std::string& path, std::string_view value, int line) {
    const bool in_braces = value.starts_with('{');
    entries.add(path, in_braces ? "" : scalar(value), line);
    if (in_braces) add_braces(path, value, line);
  }
  [[noreturn]] void refuse(std::string_view content, int line, std::size_t column) const {
    throw InputError({"D002",
                      fmt::format("\"{}\" is no line of a map", content.substr(0, 60)),
                      {file_, line, static_cast<int>(column), ""},
                      "key: value",
                      "correct the line"});
  }

  ConfigEntries entries;

 private:
  /// "{a: 1, b: {c: 2}}"
  void add_braces(const std::string& path, std::string_view value, int line) {
    constexpr int kMostNested = 100;
    if (++nested_ > kMostNested) refuse(value, line, 0);
    std::string_view rest = value.substr(1);
    while (true) {
      const std::size_t end = end_of_item(rest);
      if (end == std::string_view::npos) refuse(value, line, 0);
      const std::string_view item = trimmed(rest.substr(0, end));
      const std::size_t colon = item.find(':');
      if (colon == std::string_view::npos ? !item.empty() : colon == 0) refuse(value, line, 0);
      if (!item.empty()) {
        add(path + "." + scalar(trimmed(item.substr(0, colon))), trimmed(item.substr(colon + 1)),
            line);
      }
      const bool last = rest[end] == '}';
      rest = rest.substr(end + 1);
      if (last) break;
    }
    if (!trimmed(rest).empty()) refuse(value, line, 0);
    --nested_;
  }
  /// Of its comma or brace.
  static std::size_t end_of_item(std::string_view text) {
    int depth = 0;
    Quotes quotes;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (quotes.hold(c)) continue;
      if (c == '{' || c == '[') {
        ++depth;
      } else if (depth == 0 && (c == ',' || c == '}')) {
        return i;
      } else if (c == '}' || c == ']') {
        --depth;
      }
    }
    return std::string_view::npos;
  }

  const std::string& file_;
  int nested_ = 0;
};

// ---- JSON ----

std::string scalar(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::kBool: return json.boolean() ? "true" : "false";
    case Json::Kind::kInteger: return std::to_string(json.integer());
    case Json::Kind::kNumber: return fmt::format("{}", json.number());
    case Json::Kind::kText: return json.text();
    case Json::Kind::kList: return json.children().empty() ? "[]" : "[...]";
    case Json::Kind::kNull:
    case Json::Kind::kObject: break;
  }
  return "";
}

void add_members(const Json& object, ConfigEntries& out) {
  for (const Json* member : object.children()) {
    out.add(member->path(), scalar(*member), member->where().line);
    if (member->is(Json::Kind::kObject)) add_members(*member, out);
  }
}

}  // namespace

ConfigEntries read_yaml_map(std::string_view text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    ConfigEntries members(file);
    add_members(parse_json(std::string(text), file).root(), members);
    return members;
  }
  YamlLines out(file);
  std::vector<Level> levels = {{0, ""}};
  std::string opened;  // the key whose value may follow on deeper lines
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = uncommented(text.substr(at, end - at));
    at = end + 1;
    ++number;
    const std::string_view content = trimmed(line);
    if (content.empty() || content == "---" || content == "...") continue;
    if (content == "-" || content.starts_with("- ")) {
      if (!opened.empty()) out.entries.say(std::exchange(opened, ""), "[...]");
      continue;
    }
    const std::size_t indent = line.find_first_not_of(' '), colon = content.find(':');
    const bool is_pair = colon != std::string_view::npos && colon > 0 && line[indent] != '\t' &&
                         (colon + 1 == content.size() || content[colon + 1] == ' ');
    if (!is_pair) out.refuse(content, number, indent + 1);
    if (indent > levels.back().indent && !opened.empty()) levels.push_back({indent, opened + "."});
    while (levels.size() > 1 && indent < levels.back().indent) levels.pop_back();
    const std::string path = levels.back().prefix + scalar(trimmed(content.substr(0, colon)));
    const std::string_view value = trimmed(content.substr(colon + 1));
    opened = value.empty() ? path : "";
    out.add(path, value, number);
  }
  return std::move(out.entries);
}

std::vector<YamlKey> yaml_keys(const std::string& text) {
  std::vector<YamlKey> out;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::size_t first = line.find_first_not_of(" \t-");
    if (first == std::string::npos) continue;
    const std::size_t colon = line.find(": ", first);
    if (colon != std::string::npos)
      out.push_back({line.substr(first, colon - first), first, number});
  }
  return out;
}

}  // namespace plait
