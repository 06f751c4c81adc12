#include "cli/options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/new_file.h"
#include "core/vary.h"
#include "prediction/prices.h"

namespace plait {
namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

/// LC_ALL overrides LC_CTYPE overrides LANG (POSIX, section 8.2); an empty value counts as unset.
std::optional<std::string> locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::optional<std::string> value = environment(name);
    if (value && !value->empty()) return value;
  }
  return std::nullopt;
}

TerminalFacts terminal_facts(bool to_terminal) {
  TerminalFacts facts;
  facts.is_tty = to_terminal && ::isatty(STDOUT_FILENO) == 1;
  winsize window = {};
  if (facts.is_tty && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0) {
    facts.window_columns = window.ws_col;
  }
  facts.columns = environment("COLUMNS");
  facts.no_color = environment("NO_COLOR");
  facts.term = environment("TERM");
  facts.locale = locale();
  return facts;
}

}  // namespace

Format OutputOptions::kind() const {
  if (format == "json" || (format.empty() && file.ends_with(".json"))) return Format::kJson;
  if (format == "csv" || (format.empty() && file.ends_with(".csv"))) return Format::kCsv;
  return Format::kText;
}

TerminalStyle OutputOptions::style() const {
  const ColorChoice choice = color == "always"  ? ColorChoice::kAlways
                             : color == "never" ? ColorChoice::kNever
                                                : ColorChoice::kAuto;
  return terminal_style(choice, terminal_facts(file.empty() || file == "-"));
}

std::vector<Override> ScenarioOptions::overrides() const {
  std::vector<Override> out;
  for (const std::string& s : sets) out.push_back(split_assignment(s));
  return out;
}

void add_output_options(Subcommand command, OutputOptions& options) {
  const auto take_file = [&options](const std::string& file) {
    if (file.ends_with(".html")) {
      usage_error("-o " + file + " would hold text: pages are written by --html FILE");
    }
    if (file.ends_with(".svg")) {
      usage_error("-o " + file +
                  " would hold text: pictures are drawn by --svg FILE, of whatif, search, validate "
                  "and topology show");
    }
    options.file = file;
  };
  command.option("-o,--output", take_file, "Write the result to this file").writes_file();
  command
      .option("--format", options.format,
              "How to write the result (default: by the suffix of FILE, else text)")
      .one_of({"text", "json", "csv"});
  command.option("--color", options.color, "Colour text (auto: on a terminal)")
      .one_of({"auto", "always", "never"})
      .shows_default();
}

Option add_scenario_options(Subcommand command, ScenarioOptions& options) {
  const Option scenario =
      command.option("scenario", options.file, "Scenario file (JSON; - reads standard input)")
          .takes("SCENARIO")
          .required();
  command
      .option("--set", options.sets,
              "Change a field of the scenario: path=value; path=help lists its choices")
      .takes("PATH=VALUE")
      .repeatable();
  add_network_option(command, options.sets);
  return scenario;
}

void add_scenarios_options(Subcommand command, std::vector<std::string>& files,
                           std::vector<std::string>& sets, const std::string& says) {
  command.option("files", files, says).takes("FILE").required();
  command
      .option("--set", sets,
              "Change a field of every scenario: path=value; path=help lists its choices")
      .takes("PATH=VALUE")
      .repeatable();
  add_network_option(command, sets);
}

namespace {

/// The last parts of a path, without the suffix; all of them, where there are no more.
std::string end_of_path(const std::string& file, std::ptrdiff_t parts) {
  const std::filesystem::path path = std::filesystem::path(file).replace_extension();
  const std::ptrdiff_t all = std::distance(path.begin(), path.end());
  std::filesystem::path out;
  for (auto part = std::next(path.begin(), std::max<std::ptrdiff_t>(0, all - parts));
       part != path.end(); ++part) {
    out /= *part;
  }
  return out.string();
}

}  // namespace

std::vector<std::string> names_of_files(const std::vector<std::string>& files) {
  std::vector<std::string> names(files.size()), ends, shorter;
  for (std::ptrdiff_t parts = 1; ends.empty() || ends != shorter; ++parts) {
    shorter = std::exchange(ends, {});
    for (const std::string& f : files) ends.push_back(end_of_path(f, parts));
    std::map<std::string, int> files_of;
    for (const std::string& end : ends) ++files_of[end];
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (names[i].empty() && files_of[ends[i]] == 1) names[i] = ends[i];
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (names[i].empty()) names[i] = files[i];
  }
  return names;
}

Option add_vary_option(Subcommand command, std::vector<std::string>& variations) {
  return command
      .option("-L,--vary", variations,
              "Vary a field: path=a,b,c or path=lo-hi*factor; several make all combinations")
      .takes("PATH=VALUES")
      .repeatable();
}

void add_price_option(Subcommand command, std::vector<std::string>& prices) {
  command
      .option("--price", prices,
              "Of a device for an hour, in your currency; of one kind: h100-sxm=2.5")
      .takes("[DEVICE=]PRICE")
      .separated_by_commas();
}

void refuse_two_prices(const std::vector<std::string>& prices,
                       std::vector<std::string> variations) {
  for (std::string& v : variations) v.resize(std::min(v.size(), v.find('=')));
  require_one_price(prices, variations);
}

void add_jobs_option(Subcommand command, int& jobs) {
  command.option("-j,--jobs", jobs, "Threads; the result does not depend on them")
      .between(1, 1024)
      .shows_default();
}

void add_network_option(Subcommand command, std::vector<std::string>& sets) {
  command
      .option(
          "--network", [&sets](const std::string& model) { sets.push_back("network=" + model); },
          "Messages take their time by themselves (analytic) or share links (flow)")
      .one_of({"analytic", "flow"});
}

void print_result(const OutputOptions& options, const std::string& text) {
  if (!options.file.empty() && options.file != "-") {
    write_file(options.file, text);
    return;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) return;  // the reader has seen enough
  throw EnvironmentError(std::string("cannot write the result: ") + std::strerror(errno));
}

void refuse_rows_of_serving(const std::vector<std::string>& reasons) {
  const auto serves = [](const std::string& r) { return r.starts_with("S065"); };
  if (reasons.empty() || !std::ranges::all_of(reasons, serves)) return;
  throw InputError(
      {.code = "G009",
       .problem = "none of these can be planned: they serve, where training steps are compared",
       .cure = "compare scenarios of serving by plait serve, which takes several, and -L"});
}

void refuse_all_rows() {
  throw InputError({.code = "G009",
                    .problem = "none of these can be planned",
                    .cure = "the table says why: change the scenario, or the values of -L"});
}

void print_warnings(const Warnings& warnings) {
  for (const Warning& w : warnings) {
    std::fprintf(stderr, "warning: %s\n", printable(printed(w)).c_str());
  }
}

}  // namespace plait
