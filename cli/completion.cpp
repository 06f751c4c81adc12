// plait completion SHELL: a script that completes subcommands, options, their choices and the
// fields behind --set and -L, written from the command line as it is declared.

#include <fmt/format.h>

#include <memory>

#include "cli/command_tree.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace plait {
namespace {

/// Options of the program that take PATH=VALUE.
bool takes_field(const std::string& name) { return name == "--set" || name == "-L"; }

std::vector<std::string> words_of(const CommandText& command) {
  std::vector<std::string> out;
  for (const OptionText& option : command.options) {
    if (option.positional) {
      out.insert(out.end(), option.choices.begin(), option.choices.end());
      continue;
    }
    out.insert(out.end(), option.names.begin(), option.names.end());
  }
  return out;
}

/// Names of the subcommands of `parent` ("" is the program).
std::vector<std::string> below(const std::vector<CommandText>& tree, const std::string& parent) {
  std::vector<std::string> out;
  const std::string prefix = parent.empty() ? "" : parent + " ";
  for (const CommandText& c : tree) {
    if (c.name.size() <= prefix.size() || !c.name.starts_with(prefix)) continue;
    const std::string rest = c.name.substr(prefix.size());
    if (rest.find(' ') == std::string::npos) out.push_back(rest);
  }
  return out;
}

std::string bash_cases(const std::vector<CommandText>& tree) {
  std::string options, choices;
  for (const CommandText& c : tree) {
    std::vector<std::string> words = below(tree, c.name);
    for (const std::string& word : words_of(c)) words.push_back(word);
    options += fmt::format("    \"{}\") words=\"{}\" ;;\n", c.name, fmt::join(words, " "));
    for (const OptionText& option : c.options) {
      for (const std::string& name : option.names) {
        if (option.positional) continue;
        if (takes_field(name)) {
          choices +=
              fmt::format("    \"{} {}\") words=$fields; compopt -o nospace ;;\n", c.name, name);
        } else if (!option.choices.empty()) {
          choices += fmt::format("    \"{} {}\") words=\"{}\" ;;\n", c.name, name,
                                 fmt::join(option.choices, " "));
        } else if (!option.value.empty()) {
          choices += fmt::format("    \"{} {}\") words= ;;\n", c.name, name);
        }
      }
    }
  }
  return fmt::format("  case \"$command\" in\n{}  esac\n  case \"$command $before\" in\n{}  esac\n",
                     options, choices);
}

std::string bash_script(const std::vector<CommandText>& tree) {
  return fmt::format(
      "# Completion of plait for bash. Load it: source <(plait completion bash)\n"
      "_plait() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local command= words= commands=\"|{}|\" i\n"
      "  local fields=\"{}=\"\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    local longer=\"${{command:+$command }}${{COMP_WORDS[i]}}\"\n"
      "    [[ $commands == *\"|$longer|\"* ]] && command=$longer\n"
      "  done\n"
      "{}"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}}\n"
      "complete -o default -F _plait plait\n",
      fmt::join(
          [&tree] {
            std::vector<std::string> names;
            for (const CommandText& c : tree) names.push_back(c.name);
            return names;
          }(),
          "|"),
      fmt::join(field_paths(), "= "), bash_cases(tree));
}

std::string zsh_script(const std::vector<CommandText>& tree) {
  return "#compdef plait\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(tree);
}

/// In single quotes of fish.
std::string in_fish_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_option(const CommandText& command, const OptionText& option) {
  const std::string& parent = command.name;
  const std::string when =
      parent.empty() ? "__fish_use_subcommand"
                     : "__fish_seen_subcommand_from " + parent.substr(parent.rfind(' ') + 1);
  std::string line = fmt::format("complete -c plait -n {}", in_fish_quotes(when));
  std::string values = fmt::format("{}", fmt::join(option.choices, " "));
  for (const std::string& name : option.names) {
    if (option.positional) continue;
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (takes_field(name)) values = fmt::format("{}=", fmt::join(field_paths(), "= "));
  }
  if (!option.positional && !option.value.empty()) line += " -r";
  if (!values.empty()) line += " -f -a " + in_fish_quotes(values);
  return line + " -d " + in_fish_quotes(option.says) + "\n";
}

std::string fish_script(const std::vector<CommandText>& tree) {
  std::string out = "# Completion of plait for fish. Load it: plait completion fish | source\n";
  for (const CommandText& c : tree) {
    const std::size_t space = c.name.rfind(' ');
    const std::string parent = space == std::string::npos ? "" : c.name.substr(0, space);
    const std::string when =
        parent.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + parent;
    if (!c.name.empty()) {
      out += fmt::format("complete -c plait -f -n {} -a {} -d {}\n", in_fish_quotes(when),
                         c.name.substr(space + 1), in_fish_quotes(c.says));
    }
    for (const OptionText& option : c.options) out += fish_option(c, option);
  }
  return out;
}

}  // namespace

void add_completion(Command& command) {
  auto shell = std::make_shared<std::string>();
  Subcommand sub =
      command.program.subcommand("completion", "Print a script that completes plait in a shell");
  sub.option("shell", *shell, "Which shell").required().one_of({"bash", "zsh", "fish"});
  sub.runs([&command, shell] {
    const std::vector<CommandText> tree = command_tree(command.program);
    print_result({}, *shell == "bash"  ? bash_script(tree)
                     : *shell == "zsh" ? zsh_script(tree)
                                       : fish_script(tree));
    return kYes;
  });
}

}  // namespace plait
