#pragma once
// Whose fault is it? InputError: the user's file or command line (exit code 2). EnvironmentError:
// the machine (3). InternalError: ours (4), raised by PLAIT_CHECK. Libraries throw; only `main`
// catches.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// A place in a user's input. Line and column count from 1; 0 means unknown.
struct Where {
  std::string file;
  int line = 0;
  int column = 0;
  std::string path;  // dotted JSON path, "strategy.tp"
};

/// What is wrong, where, what was expected, and how to mend it. `what()` is the whole message:
///   error[S010]: 6 attention heads cannot be split over tp = 4
///     --> strategy.tp (my.json:14:9)
///     expected: a divisor of 6
///     cure: set strategy.tp to 1, 2, 3 or 6
class InputError : public std::runtime_error {
 public:
  struct Text {
    std::string code;  // "S010"; documented in docs/errors.md
    std::string problem;
    Where where = {};
    std::string expected = {};
    std::string cure = {};
    std::vector<std::string> others = {};  // paths of the other fields that it is about
  };
  explicit InputError(Text text);
  const Text& text() const { return text_; }

 private:
  Text text_;
};

class EnvironmentError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line,
                             const std::string& detail);

/// What a file or an option says may hold bytes that a terminal would act on, or that end a text:
/// here they are "\x1b".
std::string printable(const std::string& text);

/// The candidate nearest to `word` by edit distance, or "" when none is near enough to be a typo.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace plait

#define PLAIT_CHECK(condition, detail) \
  ((condition) ? void(0) : ::plait::fail_check(#condition, __FILE__, __LINE__, (detail)))
