#include "scenarios/dialects/shell/program_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/error.h"

namespace plait {
namespace {

bool share_one(const std::vector<int>& a, const std::vector<int>& b) {
  return std::ranges::find_first_of(a, b) != a.end();
}

/// Where a command with options starts the program.
class Starts {
 public:
  explicit Starts(const std::vector<ShellWord>& words) : words_(words) {
    for (const ShellWord& w : words) {
      if (w.of.empty() && w.commands.size() == 1) first_.try_emplace(w.commands[0], w.text);
      if (w.text.starts_with('-')) has_options_.insert(w.commands.begin(), w.commands.end());
    }
  }

  /// One of each command or list.
  std::vector<std::size_t> of(const StartedProgram& program) const {
    for (const StartsProgram& starts : program.known) {
      std::vector<std::size_t> out;
      for (std::size_t i = 0; i < words_.size(); ++i) {
        const bool again = !out.empty() && words_[out.back()].commands == words_[i].commands;
        if (!again && may_start(words_[i]) && starts(words_[i], next(i))) out.push_back(i);
      }
      if (!out.empty()) return out;
    }
    return {};
  }

 private:
  const ShellWord& next(std::size_t i) const {
    static const ShellWord kNone;
    return i + 1 < words_.size() ? words_[i + 1] : kNone;
  }
  /// A command that prints another does not run it.
  bool may_start(const ShellWord& word) const {
    const auto runs = [&](int command) {
      const auto first = first_.find(command);
      const bool prints =
          first != first_.end() && (first->second == "echo" || first->second == "printf");
      return has_options_.contains(command) && !(prints && word.of.empty());
    };
    return !word.text.starts_with('-') && std::ranges::any_of(word.commands, runs);
  }

  const std::vector<ShellWord>& words_;
  std::map<int, std::string> first_;  // word of a command
  std::set<int> has_options_;
};

std::vector<std::string> texts_with(const std::vector<ShellWord>& words, const ShellWord& start) {
  std::vector<std::string> out;
  for (const ShellWord& w : words) {
    if (share_one(w.commands, start.commands)) out.push_back(w.text);
  }
  return out;
}

/// D004.
void refuse_two(const std::vector<ShellWord>& words, const std::vector<std::size_t>& starts,
                const StartedProgram& program, const std::string& file) {
  const ShellWord& first = words[starts.front()];
  for (const std::size_t i : starts) {
    const ShellWord& other = words[i];
    if (share_one(first.commands, other.commands)) continue;
    if (texts_with(words, first) == texts_with(words, other)) continue;
    throw InputError(
        {"D004",
         fmt::format("the file starts {} in line {} and, with other options, in line {}",
                     program.name, first.line, other.line),
         {file, other.line, 0, ""},
         "one command that starts it",
         "import each by itself: leave the other out"});
  }
}

/// The program's word.
std::optional<ShellWord> take_program(std::vector<ShellWord>& words, const StartedProgram& program,
                                      const std::string& file) {
  const std::vector<std::size_t> starts = Starts(words).of(program);
  if (starts.empty()) return std::nullopt;
  const ShellWord start = words[starts.front()];
  const auto is_of = [&](const ShellWord& w) {
    return w.commands.empty() || share_one(w.commands, start.commands);
  };
  const bool of_caller = std::ranges::any_of(words, [&](const ShellWord& w) {
    return is_of(w) && (w.text.starts_with("$@") || w.text.starts_with("$*"));
  });
  if (of_caller) return start;
  refuse_two(words, starts, program, file);
  std::erase_if(words, [&](const ShellWord& w) { return !is_of(w); });
  return start;
}

}  // namespace

bool is_program(const ShellWord& word, std::string_view program) {
  return word.text == program || word.text.ends_with("/" + std::string(program));
}

bool starts_program(const std::vector<ShellWord>& words, const StartedProgram& program) {
  return !Starts(words).of(program).empty();
}

std::vector<ShellWord> words_of_program(std::vector<ShellWord> words, const StartedProgram& program,
                                        const std::string& file) {
  take_program(words, program, file);
  return words;
}

std::vector<ShellWord> words_behind_program(std::vector<ShellWord> words,
                                            const StartedProgram& program,
                                            const std::string& file) {
  const std::optional<ShellWord> start = take_program(words, program, file);
  if (!start) return words;
  const auto is_beside = [&](const ShellWord& w) {
    return w.of == start->of && w.commands == start->commands;
  };
  const auto lists = std::stable_partition(words.begin(), words.end(), is_beside);
  const auto at = std::find_if(words.begin(), lists, [&](const ShellWord& w) {
    return w.line == start->line && w.text == start->text;
  });
  words.erase(words.begin(), at);
  return words;
}

}  // namespace plait
