#include "scenarios/dialects/manifest.h"

#include <algorithm>
#include <sstream>

#include "scenarios/dialects/yaml_map.h"

namespace plait {
namespace {

/// "image: NAME" names the container.
bool is_manifest(const std::string& text) {
  return std::ranges::any_of(yaml_keys(text), [](const YamlKey& k) { return k.name == "image"; });
}

/// Quotes around an item, around which a shell's would be none: a command in them is its words.
std::string item(std::string text) {
  std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
  const std::size_t last = text.find_last_not_of(" \t\r,");
  text.resize(last == std::string::npos ? 0 : last + 1);
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return text;
  const bool quoted = text.size() > first + 1 && (text[first] == '"' || text[first] == '\'') &&
                      text.back() == text[first] &&
                      text.find(text[first], first + 1) + 1 == text.size();
  if (quoted) text[first] = ' ', text.pop_back();
  return text;
}

}  // namespace

std::string without_items(const std::string& text) {
  if (!is_manifest(text)) return text;
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t");
    const bool is_item = first != std::string::npos && line.compare(first, 2, "- ") == 0;
    if (is_item) line[first] = ' ';
    const bool is_listed =
        first != std::string::npos && (line[first] == '"' || line[first] == '\'');
    out += (is_item || is_listed ? item(line) : line) + "\n";
  }
  return out;
}

}  // namespace plait
