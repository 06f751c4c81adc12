#include "scenarios/dialects/shell/shell_command.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "scenarios/dialects/shell/shell_tests.h"

namespace plait {

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> texts) {
  return std::ranges::count(texts, text) != 0;
}

bool is_option_word(std::string_view word) {
  return word.starts_with("--") || (word.size() > 1 && word[0] == '-' &&
                                    std::isalpha(static_cast<unsigned char>(word[1])) != 0);
}

bool is_descriptor(std::string_view word, char next) {
  return (next == '<' || next == '>') &&
         std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

void ShellCommand::begin(const ShellWord& word, bool broken, bool of_options) {
  const bool is_name = !word.text.starts_with('-'), of_command = std::exchange(named, is_name);
  if (is_name && !of_options) ++number;
  lost = broken && !is_name && (lost || of_command) && !of_options;
  sources = is_any_of(word.text, {"source", "."});
  prepares = is_any_of(
      word.text, {"mkdir", "rm",    "cp",    "mv",     "ln",      "ls",     "cd",     "tar",
                  "grep",  "sed",   "awk",   "find",   "chmod",   "touch",  "cat",    "head",
                  "tail",  "sort",  "echo",  "printf", "read",    "set",    "ulimit", "trap",
                  "kill",  "pkill", "sleep", "wait",   "curl",    "wget",   "git",    "pip",
                  "conda", "ssh",   "scp",   "rsync",  "apt-get", "source", "module", "unset"});
  declares = is_any_of(word.text, {"declare", "typeset", "local", "export", "readonly"});
}

bool stands_alone(const ShellWord& word) {
  const bool named = is_unset(word) && word.text.size() > 1;
  return named || (word.unknown && word.text == kCommand);
}

void pass_over_nothing(std::span<ShellWord> command) {
  const auto is_option = [](const ShellWord& w) { return w.text.starts_with("--"); };
  if (std::ranges::any_of(command, is_option)) return;
  for (ShellWord& word : command) word.nothing = false;
}

void set_parameters(std::span<const ShellWord> command, ShellVariables& variables) {
  if (command.size() < 2 || command[0].text != "set" || command[1].text != "--") return;
  for (std::size_t i = 2; i < command.size(); ++i) {
    if (!command[i].unknown) variables.set(std::to_string(i - 1), command[i].text);
  }
}

bool is_script(std::span<const ShellWord> command) {
  const auto shell = std::ranges::find_if(command, [](const ShellWord& w) {
    const std::string_view text = w.text;
    return is_any_of(text.substr(text.rfind('/') + 1), {"bash", "sh", "zsh"});
  });
  return shell != command.end() && is_any_of(command.back().text, {"-c", "-lc"});
}

}  // namespace plait
