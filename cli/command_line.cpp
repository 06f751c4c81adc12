#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include "core/error.h"

namespace plait {

Option Option::required(bool yes) {
  option_->required(yes);
  return *this;
}
Option Option::takes(const std::string& value) {
  option_->type_name(value);
  return *this;
}
Option Option::one_of(const std::vector<std::string>& names) {
  option_->check(CLI::IsMember(names));
  return *this;
}
Option Option::between(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
Option Option::between(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
Option Option::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}
Option Option::not_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}
Option Option::separated_by_commas() {
  option_->delimiter(',')->allow_extra_args(false);
  return *this;
}
Option Option::repeatable() {
  option_->expected(1)->take_all();
  return *this;
}
Option Option::shows_default() {
  option_->capture_default_str();
  return *this;
}
Option Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}
Option Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}
Option Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}
bool Option::given() const { return option_->count() > 0; }
std::string Option::name() const { return option_->get_name(); }

Subcommand Subcommand::subcommand(const std::string& name, const std::string& says) {
  return Subcommand(app_->add_subcommand(name, says), action_);
}
Subcommand Subcommand::find(const std::string& name) {
  return Subcommand(app_->get_subcommand(name), action_);
}

Option Subcommand::option(const std::string& names, std::string& to, const std::string& says) {
  return Option(app_->add_option(names, to, says));
}
Option Subcommand::option(const std::string& names, std::vector<std::string>& to,
                          const std::string& says) {
  return Option(app_->add_option(names, to, says));
}
Option Subcommand::option(const std::string& names, std::vector<std::int64_t>& to,
                          const std::string& says) {
  return Option(app_->add_option(names, to, says));
}
Option Subcommand::option(const std::string& names, int& to, const std::string& says) {
  return Option(app_->add_option(names, to, says));
}
Option Subcommand::option(const std::string& names, std::int64_t& to, const std::string& says) {
  return Option(app_->add_option(names, to, says));
}
Option Subcommand::option(const std::string& names, std::size_t& to, const std::string& says) {
  return Option(app_->add_option(names, to, says));
}
Option Subcommand::option(const std::string& names, double& to, const std::string& says) {
  return Option(app_->add_option(names, to, says));
}
Option Subcommand::option(const std::string& names, std::function<void(const std::string&)> take,
                          const std::string& says) {
  return Option(app_->add_option_function<std::string>(names, std::move(take), says));
}
Option Subcommand::flag(const std::string& names, bool& to, const std::string& says) {
  return Option(app_->add_flag(names, to, says));
}

void Subcommand::footer(const std::string& text) { app_->footer(text); }
void Subcommand::needs_subcommand() { app_->require_subcommand(1); }

void Subcommand::runs(std::function<int()> action, std::function<void()> check) {
  app_->callback([to = action_, action = std::move(action), check = std::move(check)] {
    if (check) check();
    *to = action;
  });
}

CommandLine::CommandLine(const std::string& name, const std::string& version,
                         const std::string& says)
    : app_(std::make_unique<CLI::App>(says, name)) {
  app_->require_subcommand(1);
  app_->set_version_flag("--version", name + " " + version);
}
CommandLine::~CommandLine() = default;

Subcommand CommandLine::program() { return Subcommand(app_.get(), &action_); }

namespace {

[[noreturn]] void refuse(const std::string& problem, const std::string& command) {
  throw InputError({.code = "G001", .problem = problem, .cure = "see " + command + " --help"});
}

/// "plait topology show", as far as it was understood.
std::string understood(const CLI::App& app) {
  std::string words = app.get_name();
  for (const CLI::App* sub : app.get_subcommands()) words += " " + understood(*sub);
  return words;
}

}  // namespace

std::string CommandLine::help() const { return app_->help(); }

int CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_->exit(error);  // --help, --version
    refuse(error.what(), understood(*app_));
  }
  return action_();
}

void usage_error(const std::string& problem) { refuse(problem, "plait"); }

}  // namespace plait
