#include "topologies/importers/lines.h"

#include <regex>
#include <utility>

#include "core/split.h"

namespace plait {
namespace {

/// Escape sequences of a terminal: ESC [ parameters letter (ECMA-48, section 5.4).
std::string without_colours(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') ++i;
    while (i + 1 < line.size() && (line[i + 1] < '@' || line[i + 1] > '~')) ++i;
    ++i;  // the letter that ends it
  }
  return out;
}

/// mpirun --tag-output: "[1,0]<stdout>:"; srun --label: "0: ".
std::string without_prefix(const std::string& line) {
  static const std::regex prefix(R"(^\s*(\[\d+,\d+\]<std(out|err)>:\s?|\d+: ))");
  std::smatch match;
  return std::regex_search(line, match, prefix) ? match.suffix().str() : line;
}

}  // namespace

std::vector<TextLine> lines_of(std::string_view text) {
  std::vector<TextLine> out;
  if (constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
      text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    // Lines of kilobytes are no table's; regular expressions recurse over them.
    std::string clean = without_colours(line);
    if (clean.size() < 4096) clean = without_prefix(clean);
    out.push_back({std::move(clean), number});
  }
  return out;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : line) {
    if (c != ' ' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      out.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

std::vector<std::string> cells_of(std::string_view line, char separator) {
  std::vector<std::string> out = split(line, separator);
  for (std::string& cell : out) cell = std::string(trimmed(cell));
  return out;
}

}  // namespace plait
