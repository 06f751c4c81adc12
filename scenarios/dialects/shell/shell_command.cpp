#include "scenarios/dialects/shell/shell_command.h"

#include <algorithm>
#include <utility>

#include "scenarios/dialects/shell/shell_tests.h"

namespace plait {

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> texts) {
  return std::ranges::count(texts, text) != 0;
}

void ShellCommand::begin(const ShellWord& word, bool broken, bool of_options) {
  const bool is_name = !word.text.starts_with('-'), of_command = std::exchange(named, is_name);
  if (is_name && !of_options) ++number;
  lost = broken && !is_name && (lost || of_command) && !of_options;
  sources = is_any_of(word.text, {"source", "."});
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
