// plait man: the manual page, in the language of man(7), written from the command line as it is
// declared.

#include <fmt/format.h>

#include <sstream>

#include "cli/command_tree.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "plait_version.h"

namespace plait {
namespace {

/// As text of a paragraph: nothing in it is a request or an escape.
std::string plain(const std::string& text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_start = c == '\n';
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + plain(text) + "\\fR"; }

std::string option_text(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ", ") + (option.positional ? italic(name) : bold(name));
  }
  if (!option.positional && !option.value.empty()) names += " " + italic(option.value);
  return ".TP\n" + names + "\n" + plain(option.says) + ".\n";
}

/// The lines behind "Examples:" as they are.
std::string examples_text(const std::string& footer) {
  std::istringstream lines(footer);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) out += plain(line.substr(2)) + "\n";
  }
  return out.empty() ? "" : ".PP\n.nf\n.RS\n" + out + ".RE\n.fi\n";
}

std::string command_text(const CommandText& command) {
  std::string out = ".SS " + plain("plait " + command.name) + "\n" + plain(command.says) + ".\n";
  for (const OptionText& option : command.options) {
    if (option.names.back() != "--help") out += option_text(option);
  }
  return out + examples_text(command.footer);
}

std::string page(const std::vector<CommandText>& tree) {
  const CommandText& program = tree.front();
  std::string out = fmt::format(
      ".TH PLAIT 1 \"\" \"plait {}\" \"User Commands\"\n"
      ".SH NAME\nplait \\- predict how a transformer runs when it is split over many GPUs\n"
      ".SH SYNOPSIS\n.B plait\n.I command\n[\\fIoptions\\fR]\n"
      ".SH DESCRIPTION\n{}\n",
      kVersion, plain(program.says));
  out += ".SH COMMANDS\n";
  for (const CommandText& command : tree) {
    if (!command.name.empty()) out += command_text(command);
  }
  out += ".SH EXIT STATUS\n";
  constexpr const char* kCodes[] = {
      "yes: the prediction was made, the model fits, no gate tripped",
      "the answer is no: it does not fit, or a step time is over a limit",
      "the scenario or the command line is wrong", "the environment: a file, memory, a device",
      "a bug in plait"};
  for (int code = 0; const char* meaning : kCodes) {
    out += fmt::format(".TP\n.B {}\n{}.\n", code++, plain(meaning));
  }
  return out + ".SH EXAMPLES\n" + examples_text(program.footer);
}

}  // namespace

void add_man(Command& command) {
  Subcommand sub = command.program.subcommand("man", "Print the manual page, for man(1)");
  sub.runs([&command] {
    print_result({}, page(command_tree(command.program)));
    return kYes;
  });
}

}  // namespace plait
