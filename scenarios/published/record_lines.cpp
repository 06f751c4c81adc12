#include "scenarios/published/record_lines.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"

namespace plait {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

/// Whether the first line that says something is an object, whole.
bool has_records_as_lines(std::string_view text, const std::string& file) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos || text[begin] != '{') return false;
  try {
    parse_json(text.substr(begin, text.find('\n', begin) - begin), file);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// With a comma behind each line but the last, so that all stay in their places.
std::string list_of_lines(std::string_view text) {
  std::string out = "[";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const bool says = line.find_first_not_of(kBlanks) != std::string_view::npos;
    out += line;
    if (says && text.find_first_not_of(kBlanks, end) != std::string_view::npos) out += ',';
    if (end < text.size()) out += '\n';
    begin = end + 1;
  }
  return out + "]";
}

}  // namespace

JsonDocument parse_records(const std::string& text, const std::string& file) {
  if (!has_records_as_lines(text, file)) return parse_json(text, file);
  return parse_json(list_of_lines(text), file);
}

}  // namespace plait
