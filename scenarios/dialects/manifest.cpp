#include "scenarios/dialects/manifest.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/parse_number.h"
#include "core/split.h"
#include "scenarios/dialects/yaml_map.h"

namespace plait {
namespace {

/// Quotes around an item, around which a shell's would be none: a command in them is its words.
/// JSON stays one.
std::string_view word_of(std::string_view item) {
  item = trimmed(item);
  const bool quoted = item.size() > 1 && (item[0] == '"' || item[0] == '\'') &&
                      item.find(item[0], 1) == item.size() - 1;
  const bool json = item.find('{') < item.find(' ');
  return quoted && !json ? item.substr(1, item.size() - 2) : item;
}

class Manifest {
 public:
  std::string words_of(const std::string& text) {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) out += of_line(line) + "\n";
    return out;
  }

 private:
  std::string of_line(std::string_view line) {
    if (depth_ > 0) return of_list(line);
    const std::string_view content = trimmed(line);
    const bool awaited = std::exchange(awaits_list_, content.ends_with(':'));
    const std::size_t open = line.find('[');
    const bool opens = open != std::string_view::npos && opens_list(line.substr(0, open), awaited);
    if (content.starts_with("- ") && !opens) return "  " + std::string(word_of(content.substr(2)));
    if (!opens) return std::string(line);
    depth_ = 1;
    return without_dash(line.substr(0, open)) + of_list(line.substr(open + 1));
  }
  /// In front of a "[" of YAML or of a Dockerfile, not of a shell's test.
  static bool opens_list(std::string_view before, bool awaited) {
    before = trimmed(before);
    return before.empty() ? awaited
                          : before == "-" || before.ends_with(':') || before.ends_with(" -") ||
                                before == "CMD" || before == "ENTRYPOINT";
  }
  static std::string without_dash(std::string_view text) {
    std::string out(text);
    if (trimmed(text).starts_with('-')) out[out.find('-')] = ' ';
    return out;
  }

  /// Up to the end of the line or of the list, of which the line is a part.
  std::string of_list(std::string_view line) {
    std::string out, item;
    const auto take_item = [&] { out += " " + std::string(word_of(std::exchange(item, ""))); };
    char quote = 0;
    for (std::size_t i = 0; i < line.size() && depth_ > 0; ++i) {
      const char c = line[i];
      const bool escaped = quote == '"' && i > 0 && line[i - 1] == '\\';
      const bool apart = i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t';
      if (quote == 0 && c == '#' && apart) break;
      if (quote == 0 && (c == ',' || c == '[' || c == ']')) {
        depth_ += c == '[' ? 1 : c == ']' ? -1 : 0;
        take_item();
        continue;
      }
      item += c;
      if (quote == 0 ? c == '"' || c == '\'' : c == quote && !escaped)
        quote = quote == 0 ? c : '\0';
    }
    take_item();
    return out;
  }

  int depth_ = 0;             // brackets that are open
  bool awaits_list_ = false;  // the line before is a key without a value
};

/// Where a line's text begins, and where it does behind the dashes of items; nothing: a blank line.
struct Margin {
  std::size_t text = std::string::npos, key = std::string::npos;
};
Margin margin_of(const std::string& line) {
  return {line.find_first_not_of(" \t\r"), line.find_first_not_of(" \t\r-")};
}

/// For each line the number of the map with a key `image` that it is of, from 1; 0: of none.
std::vector<int> containers_of_lines(const std::string& text) {
  std::vector<Margin> lines;
  for (const std::string& line : split(text, '\n')) lines.push_back(margin_of(line));
  std::vector<int> out(lines.size());
  int number = 0;
  for (const YamlKey& key : yaml_keys(text)) {
    if (key.name != "image") continue;
    ++number;
    const auto ends = [&](std::size_t i) { return lines[i].text < key.indent; };
    const auto image = static_cast<std::size_t>(key.line - 1);
    std::size_t first = image;
    while (first > 0 && !ends(first) && !ends(first - 1)) --first;
    const bool begins = first > 0 && !ends(first) && lines[first - 1].key == key.indent;
    for (std::size_t i = begins ? first - 1 : first; i < lines.size(); ++i) {
      if (i > image && ends(i)) break;
      out[i] = number;
    }
  }
  return out;
}

/// Ways to start an image: FROM NAME, and CMD of its own.
bool is_dockerfile(const std::string& text) {
  bool from = false, starts = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    from = from || line.starts_with("FROM ");
    starts = starts || line.starts_with("CMD [") || line.starts_with("ENTRYPOINT [");
  }
  return from && starts;
}

}  // namespace

/// "image: NAME" names the container.
bool is_manifest(const std::string& text) {
  return std::ranges::any_of(yaml_keys(text), [](const YamlKey& k) { return k.name == "image"; }) ||
         is_dockerfile(text);
}

ManifestReplicas replicas_of_manifest(const std::string& text) {
  if (!is_manifest(text)) return {};
  const std::vector<std::string> lines = split(text, '\n');
  for (const YamlKey& key : yaml_keys(text)) {
    if (key.name != "replicas") continue;
    const std::string& line = lines[static_cast<std::size_t>(key.line - 1)];
    const std::string_view value = std::string_view(line).substr(line.find(':') + 1);
    const auto count = parse_number<std::int64_t>(trimmed(value.substr(0, value.find('#'))));
    if (count) return {*count, key.line};
  }
  return {};
}

std::string without_items(const std::string& text) {
  return is_manifest(text) ? Manifest().words_of(text) : text;
}

std::vector<ShellWord> words_of_container(std::vector<ShellWord> words, const std::string& manifest,
                                          const StartedProgram& program, const std::string& file) {
  const std::vector<int> containers = containers_of_lines(manifest);
  for (ShellWord& word : words) {
    const int container = containers[static_cast<std::size_t>(word.line - 1)];
    word.commands = container == 0 ? std::vector<int>() : std::vector{container};
  }
  return words_of_program(std::move(words), program, file);
}

}  // namespace plait
