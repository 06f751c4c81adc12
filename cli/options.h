#pragma once
// Options that several subcommands share.

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "core/warning.h"
#include "reports/terminal.h"
#include "scenarios/scenario.h"

namespace plait {

enum class Format { kText, kJson, kCsv };

struct OutputOptions {
  std::string file;  // "" or "-": standard output
  std::string format;
  std::string color = "auto";

  /// As asked for, or by the suffix of the file.
  Format kind() const;
  TerminalStyle style() const;
};
void add_output_options(Subcommand command, OutputOptions& options);

struct ScenarioOptions {
  std::string file;
  std::vector<std::string> sets;  // path=value

  std::vector<Override> overrides() const;
};
/// Returns the scenario itself.
Option add_scenario_options(Subcommand command, ScenarioOptions& options);
/// The same of several: files, and --set for all of them.
void add_scenarios_options(
    Subcommand command, std::vector<std::string>& files, std::vector<std::string>& sets,
    const std::string& says = "Scenario files (JSON; - reads standard input)");
/// File names without suffix, and of their folders as much as tells the files apart.
std::vector<std::string> names_of_files(const std::vector<std::string>& files);
/// -L PATH=VALUES, any number of times.
Option add_vary_option(Subcommand command, std::vector<std::string>& variations);
/// --price [DEVICE=]PRICE (prediction/prices.h).
void add_price_option(Subcommand command, std::vector<std::string>& prices);
/// Throws InputError G024 where one of `variations`, PATH=VALUES, says the price of any device too.
void refuse_two_prices(const std::vector<std::string>& prices, std::vector<std::string> variations);
/// -j THREADS.
void add_jobs_option(Subcommand command, int& jobs);
/// --network MODEL, another word for --set network=MODEL.
void add_network_option(Subcommand command, std::vector<std::string>& sets);

/// When one of `sets` is path=help: the choices of that field. Otherwise "".
std::string help_for_sets(const std::vector<std::string>& sets);
/// The same with what the scenario, where it can be read, has there. True where it is printed.
bool print_help_for_sets(const ScenarioOptions& scenario, const OutputOptions& output);
/// Every field of a scenario, an object before its own: "strategy", "strategy.pp", ...
std::vector<std::string> field_paths();

/// The result, on standard output or in the file. Throws EnvironmentError.
void print_result(const OutputOptions& options, const std::string& text);
/// Throws InputError G009 before a table of `reasons` that would only say, in each row, that its
/// scenario serves.
void refuse_rows_of_serving(const std::vector<std::string>& reasons);
/// Throws InputError G009 after a table in which each row says why it cannot be planned.
[[noreturn]] void refuse_all_rows();
/// "warning: ..." on standard error.
void print_warnings(const Warnings& warnings);

}  // namespace plait
