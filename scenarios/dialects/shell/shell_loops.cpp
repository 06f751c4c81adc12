#include "scenarios/dialects/shell/shell_loops.h"

#include <algorithm>
#include <optional>

#include "core/parse_number.h"
#include "core/split.h"

namespace plait {
namespace {

constexpr std::int64_t kMostNumber = 4096;   // of a loop's bounds, and
constexpr std::size_t kMostValues = 10'000;  // so many values: loops of launch scripts are short

/// From `first` to `last`; nothing where that is too much.
std::vector<std::string> numbers(std::int64_t first, std::int64_t step, std::int64_t last) {
  std::vector<std::string> out;
  if (step == 0 || std::max(first, last) > kMostNumber || std::min(first, last) < -kMostNumber)
    return out;
  for (std::int64_t i = first; step > 0 ? i <= last : i >= last; i += step) {
    out.push_back(std::to_string(i));
  }
  return out;
}

/// What blanks stand between, but for those in brackets.
std::vector<std::string> words_with_brackets(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0 && (c == ' ' || c == '\t')) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  std::erase(out, "");
  return out;
}

/// "i++", "++i", "i += 2" as what i becomes: "i + 1", "i + 2"; "" where it is none of these.
std::string next_value(std::string_view step, const std::string& name) {
  std::string text(step);
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t'; });
  for (const char by : {'+', '-'}) {
    const std::string twice(2, by);
    if (text == name + twice || text == twice + name) return name + by + "1";
  }
  if (!text.starts_with(name)) return "";
  text.erase(0, name.size());
  if (text.starts_with('=')) return text.substr(1);
  const bool changes = text.size() > 2 && text[1] == '=' &&
                       std::string_view("+-*/").find(text[0]) != std::string_view::npos;
  return changes ? name + text[0] + "(" + text.substr(2) + ")" : "";
}

/// Nothing where only a run knows the values, or they are too many.
std::vector<std::string> counted(const std::string& name, std::string_view first,
                                 std::string_view condition, std::string_view next,
                                 ShellVariables variables) {
  std::vector<std::string> out;
  std::optional<std::int64_t> value = variables.number(first);
  while (value && out.size() < kMostValues) {
    variables.set(name, std::to_string(*value));
    const auto goes_on = variables.number(condition);
    if (!goes_on) return {};
    if (*goes_on == 0) return out;
    out.push_back(std::to_string(*value));
    value = variables.number(next);
  }
  return {};
}

}  // namespace

std::vector<std::string> expanded_braces(const std::string& word) {
  if (word.size() < 3 || word.front() != '{' || word.back() != '}') return {word};
  const std::string inner = word.substr(1, word.size() - 2);
  const std::size_t dots = inner.find("..");
  if (dots == std::string::npos) {
    if (inner.find(',') == std::string::npos) return {word};
    return split(inner, ',');
  }
  const auto first = parse_number<std::int64_t>(inner.substr(0, dots));
  const auto last = parse_number<std::int64_t>(inner.substr(dots + 2));
  if (!first || !last) return {word};
  std::vector<std::string> out = numbers(*first, *first <= *last ? 1 : -1, *last);
  return out.empty() ? std::vector<std::string>{word} : out;
}

std::vector<std::string> sequence_of(std::string_view command, const ShellVariables& variables) {
  const std::vector<std::string> words = words_with_brackets(command);
  if (words.size() < 2 || words.size() > 4 || words[0] != "seq") return {};
  std::vector<std::int64_t> said;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool bracketed = words[i].starts_with("$((");
    const auto number = variables.number(words[i].substr(bracketed ? 1 : 0));
    if (!number) return {};
    said.push_back(*number);
  }
  const std::int64_t first = said.size() > 1 ? said.front() : 1;
  return numbers(first, said.size() > 2 ? said[1] : 1, said.back());
}

void take_counting_loop(std::string_view text, int line, ShellVariables& variables) {
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  const std::vector<std::string> parts = split(text, ';');
  const std::size_t equals = parts[0].find('=');
  if (parts.size() != 3 || equals == std::string::npos) return;
  const std::string name(trimmed(parts[0].substr(0, equals)));
  const std::vector<std::string> values =
      counted(name, parts[0].substr(equals + 1), parts[1], next_value(parts[2], name), variables);
  if (values.empty()) return variables.forget(name);
  variables.loop(name, values, line);
}

}  // namespace plait
