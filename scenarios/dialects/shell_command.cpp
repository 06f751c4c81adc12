#include "scenarios/dialects/shell_command.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace plait {
namespace {

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> texts) {
  return std::ranges::count(texts, text) != 0;
}

}  // namespace

void ShellCommand::begin(const ShellWord& word, bool broken, bool of_options) {
  const bool is_name = !word.text.starts_with('-'), of_command = std::exchange(named, is_name);
  if (is_name && !of_options) ++number;
  lost = broken && !is_name && (lost || of_command) && !of_options;
  sources = is_any_of(word.text, {"source", "."});
  declares = is_any_of(word.text, {"declare", "typeset", "local", "export", "readonly"});
}

}  // namespace plait
