#include "scenarios/dialects/shell/shell_variables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "scenarios/dialects/shell/shell_arithmetic.h"
#include "scenarios/dialects/shell/shell_cursor.h"

namespace plait {

bool is_assignment(std::string_view text, std::size_t equals) {
  if (equals == std::string_view::npos || equals == 0) return false;
  return std::ranges::all_of(text.substr(0, equals),
                             [](char c) { return is_shell_name(c) || c == '+'; });
}

void ShellVariables::set(const std::string& name, std::string value) {
  values_[name] = std::move(value);
  notes_.erase(name);
}

void ShellVariables::loop(const std::string& name, std::vector<std::string> values, int line) {
  set(name, values.front());
  if (values.size() == 1) return;
  const std::vector<std::string> others(values.begin() + 1, values.end());
  notes_[name] = {"W008",
                  fmt::format("the loop in line {} is read once, with {} = {}; not read: {}", line,
                              name, values.front(), fmt::join(others, ", "))};
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

std::optional<Warning> ShellVariables::take_note(std::string_view name) {
  const auto found = notes_.find(name);
  if (found == notes_.end()) return std::nullopt;
  Warning out = std::move(found->second);
  notes_.erase(found);
  return out;
}

Warnings ShellVariables::take_notes(std::string_view expression) {
  Warnings out;
  std::string name;
  for (std::size_t i = 0; i <= expression.size(); ++i) {
    if (i < expression.size() && is_shell_name(expression[i])) {
      name += expression[i];
      continue;
    }
    if (std::optional<Warning> note = take_note(name)) out.push_back(std::move(*note));
    name.clear();
  }
  return out;
}

}  // namespace plait
