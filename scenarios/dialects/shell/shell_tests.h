#pragma once
// What a test of a shell script comes to, as far as its words say: [ A = B ], [[ A == pattern ]],
// -z, -n, -eq and kin, true and false. What only a run knows is unknown.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/warning.h"
#include "scenarios/dialects/shell/shell_words.h"

namespace plait {

enum class Truth : std::uint8_t { kFalse, kTrue, kUnknown };

/// Stands for a ((A > 1)) that only a run knows.
inline constexpr std::string_view kNumbers = "((...))";

/// The word begins a test.
bool begins_test(const ShellWord& word);
/// Of a command: true, false, or a test, in which && and || are words.
Truth truth_of(std::span<const ShellWord> command);

/// With * and ? in the pattern.
bool matches(std::string_view pattern, std::string_view text);

/// A variable that the script does not set, which is empty in a test.
bool is_unset(const ShellWord& word);

/// Commands joined by && and ||, from the left.
class Condition {
 public:
  void add(const ShellWord& word) { words_.push_back(word); }
  /// Between [[ and ]].
  bool is_open() const;
  /// &&, or else ||: behind a command, or between brackets.
  void join(bool by_and);
  /// What only a run knows is false.
  bool holds();
  /// How it was read, where a run may differ: W008.
  std::optional<Warning> note();

 private:
  void judge();

  std::vector<ShellWord> words_;  // of the last command
  Truth truth_ = Truth::kTrue;
  bool by_and_ = true;
  std::vector<std::string> unset_;
  int line_ = 0;
};

}  // namespace plait
