#include "scenarios/dialects/shell/shell_tests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>

namespace plait {
namespace {

Truth truth(bool value) { return value ? Truth::kTrue : Truth::kFalse; }

bool is_bracket(const ShellWord& word) {
  constexpr std::array<std::string_view, 5> kBrackets = {"[", "[[", "test", "]", "]]"};
  return !word.unknown && std::ranges::count(kBrackets, std::string_view(word.text)) != 0;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What is no number is an error of the shell, and so false.
Truth compared(std::string_view a, std::string_view by, std::string_view b) {
  const auto left = number_of(a), right = number_of(b);
  if (!left || !right) return Truth::kFalse;
  if (by == "-eq") return truth(*left == *right);
  if (by == "-ne") return truth(*left != *right);
  if (by == "-lt") return truth(*left < *right);
  if (by == "-le") return truth(*left <= *right);
  if (by == "-gt") return truth(*left > *right);
  return by == "-ge" ? truth(*left >= *right) : Truth::kUnknown;
}

Truth negation(Truth of) {
  if (of == Truth::kUnknown) return of;
  return truth(of == Truth::kFalse);
}

Truth both(Truth a, Truth b) {
  if (a == Truth::kFalse || b == Truth::kFalse) return Truth::kFalse;
  return a == Truth::kTrue ? b : a;
}

Truth either(Truth a, Truth b) { return negation(both(negation(a), negation(b))); }

std::string_view text_of(const ShellWord& word) {
  return is_unset(word) ? std::string_view() : word.text;
}

Truth of_words(std::span<const ShellWord> words) {
  if (std::ranges::any_of(words, [](const ShellWord& w) { return w.unknown && !is_unset(w); }))
    return Truth::kUnknown;
  const auto text = [&](std::size_t i) { return text_of(words[i]); };
  if (words.size() == 1) return truth(!text(0).empty());
  if (words.size() == 2 && text(0) == "-z") return truth(text(1).empty());
  if (words.size() == 2 && text(0) == "-n") return truth(!text(1).empty());
  if (words.size() != 3) return Truth::kUnknown;
  const std::string_view by = text(1);
  if (by == "=" || by == "==") return truth(matches(text(2), text(0)));
  if (by == "!=") return truth(!matches(text(2), text(0)));
  return compared(text(0), by, text(2));
}

/// An odd number of ! stands in front, which are left out.
bool take_negations(std::span<const ShellWord>& words) {
  bool negated = false;
  for (; !words.empty() && words.front().text == "!"; words = words.subspan(1)) negated = !negated;
  return negated;
}

bool is_join(const ShellWord& word) { return word.text == "&&" || word.text == "||"; }

/// Between brackets, from the left.
Truth of_joined(std::span<const ShellWord> words) {
  Truth out = Truth::kTrue;
  for (bool by_and = true;;) {
    const auto end = std::ranges::find_if(words, is_join);
    std::span<const ShellWord> one(words.begin(), end);
    const bool negated = take_negations(one);
    const Truth last = negated ? negation(of_words(one)) : of_words(one);
    out = by_and ? both(out, last) : either(out, last);
    if (end == words.end()) return out;
    by_and = end->text == "&&";
    words = std::span<const ShellWord>(end + 1, words.end());
  }
}

}  // namespace

bool begins_test(const ShellWord& word) {
  if (word.text == kNumbers) return true;
  return !word.unknown && (word.text == "[" || word.text == "[[" || word.text == "test" ||
                           word.text == "true" || word.text == "false");
}

Truth truth_of(std::span<const ShellWord> command) {
  const bool negated = take_negations(command);
  const bool bracketed = !command.empty() && is_bracket(command.front());
  std::span<const ShellWord> rest = command;
  if (bracketed) rest = rest.subspan(1);
  if (!rest.empty() && is_bracket(rest.back())) rest = rest.first(rest.size() - 1);
  Truth out = Truth::kUnknown;
  if (bracketed) {
    out = of_joined(rest);
  } else if (rest.size() == 1 && (rest[0].text == "true" || rest[0].text == "false")) {
    out = truth(rest[0].text == "true");
  }
  return negated ? negation(out) : out;
}

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, behind = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, behind = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1, t = ++behind;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool is_unset(const ShellWord& word) {
  const auto in_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return word.unknown && word.text.starts_with('$') &&
         std::ranges::all_of(std::string_view(word.text).substr(1), in_name);
}

bool Condition::is_open() const {
  return std::ranges::count(words_, "[[", &ShellWord::text) >
         std::ranges::count(words_, "]]", &ShellWord::text);
}

void Condition::join(bool by_and) {
  if (is_open()) return words_.push_back({.text = by_and ? "&&" : "||"});
  judge();
  by_and_ = by_and;
}

bool Condition::holds() {
  judge();
  return truth_ == Truth::kTrue;
}

void Condition::judge() {
  if (words_.empty()) return;
  if (line_ == 0) line_ = words_.front().line;
  for (const ShellWord& word : words_) {
    if (is_unset(word)) unset_.push_back(word.text);
  }
  const Truth last = truth_of(words_);
  truth_ = by_and_ ? both(truth_, last) : either(truth_, last);
  words_.clear();
}

std::optional<Warning> Condition::note() {
  const bool is_true = holds();
  if (truth_ != Truth::kUnknown && unset_.empty()) return std::nullopt;
  const std::string why = truth_ == Truth::kUnknown
                              ? "only a run knows what it is"
                              : fmt::format("the script does not set {}", fmt::join(unset_, ", "));
  return Warning{"W008", fmt::format("the test in line {} is read as {}: {}", line_, is_true, why)};
}

}  // namespace plait
