#include "scenarios/dialects/shell_variables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/parse_number.h"
#include "scenarios/dialects/shell_arithmetic.h"

namespace plait {

void ShellVariables::set(const std::string& name, std::string value) {
  values_[name] = std::move(value);
  notes_.erase(name);
}

void ShellVariables::loop(const std::string& name, std::vector<std::string> values, int line) {
  set(name, values.front());
  if (values.size() == 1) return;
  const std::vector<std::string> others(values.begin() + 1, values.end());
  notes_[name] = fmt::format("W008: the loop in line {} is read once, with {} = {}; not read: {}",
                             line, name, values.front(), fmt::join(others, ", "));
}

const std::string* ShellVariables::value(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<std::string> ShellVariables::words(std::string_view name) const {
  const auto found = words_.find(name);
  return found == words_.end() ? std::vector<std::string>() : found->second;
}

std::optional<std::int64_t> ShellVariables::number(std::string_view expression) const {
  return shell_arithmetic(expression, [&](std::string_view name) -> std::optional<std::string> {
    const std::string* known = value(name);
    if (known == nullptr || has_list(name)) return std::nullopt;
    return *known;
  });
}

std::string ShellVariables::take_note(std::string_view name) {
  const auto found = notes_.find(name);
  return found == notes_.end() ? "" : std::exchange(found->second, "");
}

std::vector<std::string> expanded_braces(const std::string& word) {
  if (word.size() < 3 || word.front() != '{' || word.back() != '}') return {word};
  const std::string inner = word.substr(1, word.size() - 2);
  std::vector<std::string> out;
  const std::size_t dots = inner.find("..");
  if (dots != std::string::npos) {
    constexpr std::int64_t kMost = 4096;
    const auto first = parse_number<std::int64_t>(inner.substr(0, dots));
    const auto last = parse_number<std::int64_t>(inner.substr(dots + 2));
    if (!first || !last || std::max(*first, *last) > kMost || std::min(*first, *last) < -kMost)
      return {word};
    const std::int64_t step = *first <= *last ? 1 : -1;
    for (std::int64_t i = *first; i != *last + step; i += step) out.push_back(std::to_string(i));
    return out;
  }
  if (inner.find(',') == std::string::npos) return {word};
  for (std::size_t at = 0; at <= inner.size();) {
    const std::size_t end = std::min(inner.find(',', at), inner.size());
    out.push_back(inner.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace plait
