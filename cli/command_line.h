#pragma once
// The command line as the program declares it: subcommands, their options and what is to be done.
// CLI11 takes it apart; it is included by command_line.cpp and command_tree.cpp alone, because it
// compiles for seconds.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace plait {

/// What is known of the program besides its options.
struct Declared {
  std::function<int()> action;  // of the subcommand on the command line
  std::vector<CLI::Option*> written;
};

/// One option or argument. A handle: copies are the same option. Each function returns the handle,
/// so that declarations read as one sentence.
class Option {
 public:
  Option(CLI::Option* option, Declared* declared) : option_(option), declared_(declared) {}

  Option required(bool yes = true);
  /// What --help calls the value: "FILE".
  Option takes(const std::string& value);
  /// A file to write, which no other word of the command line may name (G027): what is read would
  /// be lost, or one result by another.
  Option writes_file();
  Option one_of(const std::vector<std::string>& names);
  Option between(int least, int most);
  Option between(double least, double most);
  Option positive();
  Option not_negative();
  /// a,b,c in one word.
  Option separated_by_commas();
  /// One value each time that the option is given, which may be any number of times.
  Option repeatable();
  /// --help says what it is when it is not given.
  Option shows_default();
  Option needs(const Option& other);
  Option excludes(const Option& other);
  /// Under a heading of its own in --help.
  Option group(const std::string& heading);

  bool given() const;
  std::string name() const;

 private:
  CLI::Option* option_;
  Declared* declared_;
};

/// A subcommand, or the program itself. A handle.
class Subcommand {
 public:
  Subcommand(CLI::App* app, Declared* declared) : app_(app), declared_(declared) {}

  Subcommand subcommand(const std::string& name, const std::string& says);
  /// One that was declared. Throws InputError G001 where none was.
  Subcommand find(const std::string& name);

  /// `names`: "-o,--output", or a bare word for an argument. The value goes to `to`, which outlives
  /// the parsing; what it holds before is the default.
  Option option(const std::string& names, std::string& to, const std::string& says);
  Option option(const std::string& names, std::vector<std::string>& to, const std::string& says);
  Option option(const std::string& names, std::vector<std::int64_t>& to, const std::string& says);
  Option option(const std::string& names, int& to, const std::string& says);
  Option option(const std::string& names, std::int64_t& to, const std::string& says);
  Option option(const std::string& names, std::size_t& to, const std::string& says);
  Option option(const std::string& names, double& to, const std::string& says);
  /// `take` is called with the value.
  Option option(const std::string& names, const std::function<void(const std::string&)>& take,
                const std::string& says);
  Option flag(const std::string& names, bool& to, const std::string& says);

  /// As its --help prints it.
  std::string help() const;
  /// Below the options in --help.
  void footer(const std::string& text);
  void needs_subcommand();
  /// What is done where this is the subcommand on the command line; it returns the exit code.
  /// `check` is called once all options are known, before; it may throw usage_error().
  void runs(std::function<int()> action, std::function<void()> check = {});

  const CLI::App& parser() const { return *app_; }

 private:
  CLI::App* app_;
  Declared* declared_;
};

/// The program: what has to be declared before run().
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& version, const std::string& says);
  ~CommandLine();

  Subcommand program();
  /// As --help prints it.
  std::string help() const;
  /// Takes the command line apart and does what its subcommand is for. Returns the exit code; 0
  /// after --help and --version. Throws InputError G001 where it cannot be understood, G027 where a
  /// file would be written that it names elsewhere.
  int run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  Declared declared_;
};

/// G001: words of the command line that do not go together.
[[noreturn]] void usage_error(const std::string& problem);

}  // namespace plait
