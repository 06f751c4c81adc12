#include "scenarios/dialects/toml_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/split.h"

namespace plait {
namespace {

/// What stands in front of a comment; `depth`: brackets that are open behind it.
std::string_view code_of(std::string_view line, int& depth) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      return line.substr(0, i);
    } else {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    }
  }
  return line;
}

class TomlReader {
 public:
  TomlReader(std::string_view text, const std::string& file)
      : left_(text), file_(file), out_(file) {}

  ConfigEntries read() {
    while (!left_.empty()) {
      int depth = 0;
      const std::string_view code = trimmed(code_of(next_line(), depth));
      if (code.empty()) continue;
      if (code.front() == '[' && code.back() == ']') {
        table_ = std::string(trimmed(code.substr(1, code.size() - 2))) + ".";
      } else {
        add(code, depth);
      }
    }
    return std::move(out_);
  }

 private:
  std::string_view next_line() {
    const std::size_t end = std::min(left_.find('\n'), left_.size());
    const std::string_view line = left_.substr(0, end);
    left_.remove_prefix(std::min(end + 1, left_.size()));
    ++line_;
    return line;
  }

  void add(std::string_view code, int depth) {
    const int line = line_;
    const std::size_t equals = code.find('=');
    const std::string key(strip_quotes(trimmed(code.substr(0, equals))));
    if (equals == std::string_view::npos || key.empty()) {
      throw InputError({"D002",
                        fmt::format("\"{}\" is no line of a table", code.substr(0, 60)),
                        {file_, line, 0, ""},
                        "[table], or key = value",
                        "correct the line"});
    }
    std::string value(trimmed(code.substr(equals + 1)));
    while (depth > 0 && !left_.empty()) value += trimmed(code_of(next_line(), depth));
    out_.add(table_ + key, std::string(strip_quotes(value)), line);
  }

  std::string_view left_;
  const std::string& file_;
  std::string table_;
  int line_ = 0;
  ConfigEntries out_;
};

}  // namespace

ConfigEntries read_toml_map(std::string_view text, const std::string& file) {
  return TomlReader(text, file).read();
}

}  // namespace plait
