#include "scenarios/dialects/shell/script_variables.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "core/split.h"

namespace plait {
namespace {

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The name that is assigned to at `at`, or "": VLLM_X=1, or docker's --env=VLLM_X=1.
std::string_view assigned_at(std::string_view line, std::size_t at) {
  if (at > 0 && (is_of_name(line[at - 1]) || line[at - 1] == '$' || line[at - 1] == '{')) return "";
  std::size_t end = at;
  while (end < line.size() && is_of_name(line[end])) ++end;
  return end < line.size() && line[end] == '=' ? line.substr(at, end - at) : std::string_view();
}

/// The script uses it itself: $NAME or ${NAME...}.
bool is_used(const std::string& script, const std::string& name) {
  for (std::size_t at = 0; (at = script.find(name, at)) != std::string::npos; at += name.size()) {
    const std::size_t end = at + name.size();
    const bool whole = end >= script.size() || !is_of_name(script[end]);
    const bool plain = at > 0 && script[at - 1] == '$';
    const bool braced = at > 1 && script[at - 1] == '{' && script[at - 2] == '$';
    if (whole && (plain || braced)) return true;
  }
  return false;
}

/// Up to a comment, which begins a line or follows a blank.
std::string_view without_comment(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    const bool begins = at == 0 || std::isspace(static_cast<unsigned char>(line[at - 1])) != 0;
    if (line[at] == '#' && begins) return line.substr(0, at);
  }
  return line;
}

}  // namespace

std::vector<std::string> variables_of(const std::string& script, std::string_view prefix) {
  std::vector<std::string> out;
  std::istringstream lines(script);
  for (std::string text; std::getline(lines, text);) {
    const std::string_view line = without_comment(text);
    for (std::size_t at = 0; (at = line.find(prefix, at)) != std::string_view::npos; ++at) {
      const std::string name(assigned_at(line, at));
      const bool exported = trimmed(line).starts_with("export ");
      if (name.empty() || (!exported && is_used(script, name))) continue;
      if (std::ranges::find(out, name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

std::optional<VisibleDevices> visible_devices(const std::string& script, std::string_view program) {
  constexpr std::string_view kName = "CUDA_VISIBLE_DEVICES";
  std::istringstream lines(script);
  int number = 0;
  for (std::string text; std::getline(lines, text);) {
    ++number;
    const std::string_view line = without_comment(text);
    const std::size_t at = line.find(kName);
    if (at == std::string_view::npos || assigned_at(line, at) != kName) continue;
    std::string_view list = line.substr(at + kName.size() + 1);
    const bool quoted = list.starts_with('"') || list.starts_with('\'');
    if (quoted) list.remove_prefix(1);
    const std::size_t end = std::min(list.find_first_of(" \t\r;&\"'"), list.size());
    const std::string_view behind = trimmed(list.substr(end), " \t\r;&\"'");
    const bool others = !behind.empty() && !behind.ends_with('\\');
    if (others && behind.find(program) == std::string_view::npos) continue;
    list = list.substr(0, end);
    if (list.find('$') != std::string_view::npos) return std::nullopt;
    VisibleDevices out{0, number};
    for (const std::string& device : split(list, ',')) {
      if (device.empty() || device.starts_with('-')) break;
      ++out.count;
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace plait
