#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "cli/options.h"
#include "core/error.h"
#include "core/plain_number.h"
#include "core/spelling.h"

namespace plait {

Option Option::required(bool yes) {
  option_->required(yes);
  return *this;
}
Option Option::takes(const std::string& value) {
  option_->type_name(value);
  return *this;
}
Option Option::writes_file() {
  declared_->written.push_back(option_);
  return takes("FILE");
}
Option Option::one_of(const std::vector<std::string>& names) {
  option_->check(CLI::IsMember(names));
  return *this;
}
Option Option::between(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
namespace {

/// CLI11's own say 1e18 in 26 digits.
CLI::Validator number_that(const std::function<bool(double)>& holds, const std::string& name,
                           const std::string& expected) {
  const auto refusal = [=](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0' && holds(value)) return "";
    const std::string plain = plain_number(text), number = plain == text ? "" : plain;
    return fmt::format("{} is no {}{}", text, expected, number.empty() ? "" : "; write " + number);
  };
  return {CLI::Validator(refusal, name)};
}

}  // namespace

Option Option::between(double least, double most) {
  const std::string range = fmt::format("{} to {}", least, most);
  const auto holds = [=](double x) { return x >= least && x <= most; };
  option_->check(number_that(holds, range, "number from " + range));
  return *this;
}
Option Option::positive() {
  option_->check(number_that([](double x) { return x > 0; }, "POSITIVE", "number above 0"));
  return *this;
}
Option Option::not_negative() {
  option_->check(number_that([](double x) { return x >= 0; }, "NONNEGATIVE", "number from 0 on"));
  return *this;
}
Option Option::separated_by_commas() {
  option_->delimiter(',');
  return repeatable();
}
Option Option::repeatable() {
  // A word at a time: the next may be the scenario.
  option_->expected(1)->take_all()->allow_extra_args(false);
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
  return {app_->add_subcommand(name, says), declared_};
}

Option Subcommand::option(const std::string& names, std::string& to, const std::string& says) {
  return {app_->add_option(names, to, says), declared_};
}
Option Subcommand::option(const std::string& names, std::vector<std::string>& to,
                          const std::string& says) {
  return {app_->add_option(names, to, says), declared_};
}
Option Subcommand::option(const std::string& names, std::vector<std::int64_t>& to,
                          const std::string& says) {
  return {app_->add_option(names, to, says), declared_};
}
Option Subcommand::option(const std::string& names, int& to, const std::string& says) {
  return {app_->add_option(names, to, says), declared_};
}
Option Subcommand::option(const std::string& names, std::int64_t& to, const std::string& says) {
  return {app_->add_option(names, to, says), declared_};
}
Option Subcommand::option(const std::string& names, std::size_t& to, const std::string& says) {
  return {app_->add_option(names, to, says), declared_};
}
Option Subcommand::option(const std::string& names, double& to, const std::string& says) {
  return {app_->add_option(names, to, says), declared_};
}
Option Subcommand::option(const std::string& names,
                          const std::function<void(const std::string&)>& take,
                          const std::string& says) {
  return {app_->add_option_function<std::string>(names, take, says), declared_};
}
Option Subcommand::flag(const std::string& names, bool& to, const std::string& says) {
  return {app_->add_flag(names, to, says), declared_};
}

void Subcommand::footer(const std::string& text) { app_->footer(text); }
void Subcommand::needs_subcommand() { app_->require_subcommand(1); }

void Subcommand::runs(std::function<int()> action, std::function<void()> check) {
  app_->callback([to = &declared_->action, action = std::move(action), check = std::move(check)] {
    if (check) check();
    *to = action;
  });
}

CommandLine::CommandLine(const std::string& name, const std::string& version,
                         const std::string& says)
    : app_(std::make_unique<CLI::App>(says, name)) {
  app_->require_subcommand(1);
  app_->set_version_flag("-V,--version", name + " " + version);
}
CommandLine::~CommandLine() = default;

Subcommand CommandLine::program() { return {app_.get(), &declared_}; }

namespace {

[[noreturn]] void refuse(const std::string& problem, const std::string& command,
                         const std::string& meant = "") {
  const std::string see = meant.empty() ? "see " : meant + " See ";
  throw InputError({.code = "G001", .problem = problem, .cure = see + command + " --help"});
}

/// The subcommand that the words lead to.
const CLI::App& reached(const CLI::App& app) {
  const std::vector<CLI::App*> next = app.get_subcommands();
  return next.empty() ? app : reached(*next.back());
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options({})) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// Whether `word`, as "-L" or "--price", is an option of `app`.
bool takes(const CLI::App& app, const std::string& word) {
  return app.get_option_no_throw(word) != nullptr;
}

/// Which subcommands of the program take an option: "plait compare, whatif take it"; none: "".
std::string takers_of(const CLI::App& program, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* sub : program.get_subcommands({})) {
    if (takes(*sub, word)) names.push_back(sub->get_name());
  }
  if (names.empty()) return "";
  return fmt::format("plait {} {} it", fmt::join(names, ", "), names.size() > 1 ? "take" : "takes");
}

/// "plait topology show": all words that lead to it.
std::string path_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : path_of(*parent) + " " + app.get_name();
}

[[noreturn]] void refuse_word(const std::string& problem, const std::string& word,
                              const std::vector<std::string>& known, const std::string& expected,
                              const std::string& command) {
  const std::string meant = did_you_mean(word, known, "");
  throw InputError({.code = "G001",
                    .problem = problem,
                    .expected = expected,
                    .cure = (meant.empty() ? "see " : meant + " See ") + command + " --help"});
}

[[noreturn]] void refuse_subcommand(const CLI::App& at, const std::string& word,
                                    const std::string& command) {
  const std::vector<std::string> known = subcommand_names(at);
  if (known.empty()) {
    refuse_word(fmt::format("{} takes no further word, such as {}", command, word), word, {}, "",
                command);
  }
  if (word.ends_with(".json")) {
    throw InputError({.code = "G001",
                      .problem = fmt::format("{} has no subcommand {}", command, word),
                      .expected = fmt::format("one of {}", fmt::join(known, ", ")),
                      .cure = fmt::format("for a scenario: plait run {}", word)});
  }
  refuse_word(fmt::format("{} has no subcommand {}", command, word), word, known,
              fmt::format("one of {}", fmt::join(known, ", ")), command);
}

/// "--json" where a command has its formats behind --format.
std::string format_meant(const CLI::App& at, const std::string& option) {
  const bool is_format = option == "--json" || option == "--csv" || option == "--text";
  if (!is_format || !takes(at, "--format")) return "";
  return fmt::format("{} --format {}", path_of(at), option.substr(2));
}

/// A word that nothing takes is the reason, whatever else is then missing.
void refuse_unknown_word(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty()) return;
  const std::string& word = left.front();
  const CLI::App& at = reached(app);
  const std::string command = path_of(at);
  if (word.starts_with('-')) {
    const std::string option = word.substr(0, word.find('='));
    const std::string meant = format_meant(at, option);
    if (const std::string cure = meant.empty() ? takers_of(app, option) : meant; !cure.empty()) {
      throw InputError({.code = "G001",
                        .problem = fmt::format("{} has no option {}", command, option),
                        .cure = cure});
    }
    refuse_word(fmt::format("{} has no option {}", command, word), word, option_names(at), "",
                command);
  }
  if (at.get_require_subcommand_min() > 0) refuse_subcommand(at, word, command);
  refuse_word(fmt::format("{} takes no further word, such as {}", command, word), word, {}, "",
              command);
}

/// "Could not convert: --trace-ranks = 0-7": words and texts need no conversion.
std::string said_by(const CLI::ParseError& error) {
  constexpr std::string_view kConvert = "Could not convert: ", kIs = " = ";
  std::string said = error.what();
  const std::size_t is = said.find(kIs);
  if (!said.starts_with(kConvert) || is == std::string::npos) return said;
  return fmt::format("{}: {} is no number that it takes",
                     said.substr(kConvert.size(), is - kConvert.size()),
                     said.substr(is + kIs.size()));
}

/// "--to: megatron not in {megatron-core,deepspeed}": which of them may be meant.
std::string meant_by(const std::string& said) {
  constexpr std::string_view kBehind = ": ", kNames = " not in {";
  const std::size_t word = said.find(kBehind), names = said.find(kNames);
  if (word >= names || !said.ends_with('}')) return "";
  const std::size_t first = word + kBehind.size();
  std::vector<std::string> known;
  std::istringstream list(said.substr(names + kNames.size()));
  for (std::string name; std::getline(list, name, ',');) known.push_back(std::move(name));
  known.back().pop_back();  // the bracket
  return did_you_mean(said.substr(first, names - first), known, "");
}

bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || a == "-") return false;
  std::error_code ignored;  // of one that is not there
  return a == b || std::filesystem::equivalent(a, b, ignored);
}

/// What an option writes has a name and a folder, and is named by no other word. Known before the
/// work begins, whose result it would else take along.
void refuse_overwriting(const CLI::App& app, const CLI::Option& written) {
  if (written.count() == 0) return;
  const std::string& file = written.results().back();
  if (file.empty()) {
    throw InputError(
        {.code = "G001",
         .problem = fmt::format("{} names no file", written.get_name()),
         .cure = "write a name behind it; a variable of the shell that is not set is none"});
  }
  if (file == "-" && !written.check_name("--output")) {
    throw InputError({.code = "G001",
                      .problem = fmt::format("{} - is no file: standard output has the result",
                                             written.get_name()),
                      .cure = "write a name behind it: ./- where that is the name"});
  }
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code error;
  const bool makes_it = app.get_name() == "export";  // a trace's folder with those above it
  if (!makes_it && !folder.empty() && !std::filesystem::is_directory(folder, error)) {
    throw EnvironmentError(
        fmt::format("cannot write {}: there is no folder {}", file, folder.string()));
  }
  for (const CLI::Option* other : app.get_options({})) {
    if (other == &written) continue;
    const std::vector<std::string>& words = other->results();
    const auto same = [&](const std::string& word) { return same_file(file, word); };
    if (std::ranges::none_of(words, same)) continue;
    throw InputError(
        {.code = "G027",
         .problem = fmt::format("{} would write {}, which {}", written.get_name(), file,
                                other->get_positional() ? "is read" : other->get_name() + " names"),
         .cure = "write to another file"});
  }
}

}  // namespace

Subcommand Subcommand::find(const std::string& name) {
  const std::vector<CLI::App*> all = app_->get_subcommands([](const CLI::App*) { return true; });
  const auto found = std::ranges::find(all, name, &CLI::App::get_name);
  if (found == all.end()) refuse_subcommand(*app_, name, path_of(*app_));
  return {*found, declared_};
}

std::string Subcommand::help() const {
  // Its own, whichever subcommand is the one on the command line.
  return app_->get_formatter()->make_help(app_, path_of(*app_), CLI::AppFormatMode::Normal);
}

std::string CommandLine::help() const { return app_->help(); }

int CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      const int code = app_->exit(error, text, text);
      print_result({}, text.str());
      return code;
    }
    refuse_unknown_word(*app_);
    const std::string said = said_by(error);
    refuse(said, path_of(reached(*app_)), meant_by(said));
  }
  const CLI::App& command = reached(*app_);
  for (const CLI::Option* option : declared_.written) {
    if (command.get_option_no_throw(option->get_name()) == option) {
      refuse_overwriting(command, *option);
    }
  }
  return declared_.action();
}

void usage_error(const std::string& problem) { refuse(problem, "plait"); }

}  // namespace plait
