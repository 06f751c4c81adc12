#include "cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace plait {
namespace {

/// "{a,b}" or "TEXT:{a,b}": what an option that takes one of a set is called by the parser.
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  std::istringstream names(type.substr(open + 1, close - open - 1));
  std::vector<std::string> out;
  for (std::string name; std::getline(names, name, ',');) out.push_back(name);
  return out;
}

OptionText text_of(const CLI::Option& option) {
  OptionText out;
  out.positional = option.get_positional();
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (out.positional) out.names = {option.get_name(true)};
  if (option.get_items_expected_max() > 0) out.value = option.get_type_name();
  out.choices = choices_in(out.value);
  if (!out.choices.empty()) out.value = out.value.substr(out.value.find('{'));
  out.says = option.get_description();
  return out;
}

void add(const CLI::App& app, const std::string& name, std::vector<CommandText>& out) {
  CommandText text{name, app.get_description(), {}, app.get_footer()};
  for (const CLI::Option* option : app.get_options({})) text.options.push_back(text_of(*option));
  out.push_back(std::move(text));
  for (const CLI::App* sub : app.get_subcommands({})) {
    add(*sub, name.empty() ? sub->get_name() : name + " " + sub->get_name(), out);
  }
}

}  // namespace

std::vector<CommandText> command_tree(const Subcommand& program) {
  std::vector<CommandText> out;
  add(program.parser(), "", out);
  return out;
}

}  // namespace plait
