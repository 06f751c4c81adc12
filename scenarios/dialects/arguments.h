#pragma once
// The options of a command line: "--name value", "--name=value", "--flag", and "-name" of programs
// that have such. What was never asked for is known in the end, so that nothing a file says is
// passed over in silence.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/warning.h"
#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/shell/shell_words.h"

namespace plait {

/// Whether "-ngl" is an option, or the launcher's business.
enum class Dashes : std::uint8_t { kTwo, kOneOrTwo };

/// Another name of an option: {"-tp", "--tensor-parallel-size"}.
struct Alias {
  std::string_view other, name;
};
/// The words with each option, "-tp", or "-tp=4", by the name that it is read by.
std::vector<ShellWord> with_names(std::vector<ShellWord> words, std::span<const Alias> aliases);

class Arguments {
 public:
  /// Values of `lists` add up; of any other option that stands several times the last is read, as
  /// argparse has it.
  Arguments(const std::vector<ShellWord>& words, std::string file, Dashes dashes = Dashes::kTwo,
            std::span<const std::string_view> lists = {});

  struct Option {
    std::string name;  // "--tensor-parallel-size", with dashes
    std::vector<ShellWord> values;
    int line = 0;
    bool read = false;
    bool is_switch = false;  // it takes no value
    bool is_number = false;  // it takes one integer
    bool idle = false;       // its value changes nothing
  };

  /// It is there; that alone does not count as read.
  bool has(std::string_view name) const {
    return std::ranges::count(options_, name, &Option::name) != 0;
  }
  /// The option as given, or nothing; it counts as read.
  const Option* find(std::string_view name);
  /// The same of an option whose value changes nothing, any or that one.
  void pass_over(std::string_view name, std::string_view value = "");
  /// It is there. Throws InputError D003 for "--name=false", which would switch on.
  bool flag(std::string_view name);
  /// All values of one of `lists`, of every time that it stands there.
  std::vector<ShellWord> values_of(std::string_view name);
  /// Its line, 0 where it is absent.
  int line(std::string_view name);
  /// Its value. Throws InputError D003 where there is none of that kind.
  std::optional<std::string> text(std::string_view name);
  std::optional<std::string> one_of(std::string_view name, const std::vector<std::string>& names);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min = 1);
  std::optional<double> number(std::string_view name);

  /// D004 where both are there.
  void exclusive(std::string_view a, std::string_view b);
  /// D004: what `name` says cannot be with what `why` names.
  [[noreturn]] void contradiction(std::string_view name, const std::string& why,
                                  const std::string& cure = "remove one of them");
  /// D003: the value of `name`, which is there, is none of those.
  [[noreturn]] void malformed(std::string_view name, const std::string& expected);
  /// D006: what `name` asks for has no counterpart.
  void unsupported(std::string_view name, const std::string& what);

  /// W007 with all options that were not asked for, if any, and what they may be slips of, and W008
  /// with words that may be more options, which only a shell could fill in, and with options that
  /// stand several times.
  void report_unread(Warnings& warnings) const;
  /// Not one of its options was asked for.
  bool knows_none() const {
    return std::ranges::none_of(options_, [](const Option& o) { return o.read; });
  }
  /// The words in front of the first option: "vllm", "serve", "meta-llama/Llama-3.1-8B".
  const std::vector<ShellWord>& leading() const { return leading_; }

 private:
  Where at(const Option& option) const { return {file_, option.line, 0, option.name}; }
  [[noreturn]] void malformed(const Option& option, const std::string& expected) const;
  void report_nothing(Warnings& warnings) const;
  void report_repeated(Warnings& warnings) const;
  bool is_list(std::string_view name) const { return std::ranges::count(lists_, name) != 0; }

  std::string file_;
  std::vector<std::string_view> lists_;
  std::vector<ShellWord> leading_;
  std::vector<ShellWord> nothing_;  // of no option, and what only a shell could fill in
  std::vector<Option> options_;
  std::set<std::string, std::less<>> asked_;  // names that are known here
};

}  // namespace plait
