// plait search: which layout is the fastest that fits, and the proof that none is faster.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/dialect_options.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/search_clock.h"
#include "cli/search_crew.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/new_file.h"
#include "prediction/search/answer.h"
#include "prediction/search/idle_in_best.h"
#include "reports/human.h"
#include "scenarios/dialects/dialects.h"

namespace plait {
namespace {

struct SearchCommand {
  ScenarioOptions scenario;
  SearchQuestion question;  // without what the other options say of it
  std::vector<std::string> variations;
  std::string objective = "time";
  std::string svg, html;
  SearchFiles files;
  std::vector<std::string> exports;
  std::string export_folder = ".";
  OutputOptions output;
};

std::atomic<bool> interrupted{false};

/// Whoever asks twice does not want to wait for the end of a round.
void interrupt(int signal) {
  if (!interrupted.exchange(true)) return;
  remove_unfinished_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Ctrl-C, and SIGTERM of a batch system whose time is over, end the search, not the program: the
/// best so far is printed. The second one ends the program.
class InterruptGuard {
 public:
  InterruptGuard()
      : before_int_(std::signal(SIGINT, interrupt)),
        before_term_(std::signal(SIGTERM, interrupt)) {}
  ~InterruptGuard() {
    std::signal(SIGINT, before_int_);
    std::signal(SIGTERM, before_term_);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  void (*before_int_)(int);
  void (*before_term_)(int);
};

/// A scenario's name as a part of a file's: it names no folder, and hides nothing.
std::string file_name_of(std::string name) {
  static constexpr std::string_view kKept =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  std::ranges::replace_if(
      name, [](char c) { return kKept.find(c) == std::string_view::npos; }, '_');
  if (name.starts_with('.')) name.front() = '_';
  return name.empty() ? "scenario" : name;
}

/// FOLDER/SCENARIO.DIALECT.SUFFIX in each dialect that was asked for.
void export_layout(const SearchCommand& o, const SearchRow& row) {
  if (o.exports.empty()) return;
  std::vector<Override> sets = o.scenario.overrides();
  for (const Assignments& more : {row.machine, row.settings}) {
    sets.insert(sets.end(), more.begin(), more.end());
  }
  const Scenario scenario = parse_scenario(read_text_file(o.scenario.file), o.scenario.file, sets);
  new_folder(o.export_folder);
  for (const std::string& name : o.exports) {
    const Dialect dialect = dialect_named(name);
    const std::filesystem::path folder = o.export_folder;
    write_file(
        folder / fmt::format("{}.{}.{}", file_name_of(scenario.name), name, row_of(dialect).suffix),
        render(settings_of(scenario, dialect, Launcher::kNone), Launcher::kNone));
  }
}

int print(const SearchCommand& o, const SearchReport& report) {
  if (!o.svg.empty() && !report.front.empty()) {
    write_file(o.svg, search_svg(report));
  }
  switch (o.output.kind()) {
    case Format::kText: print_result(o.output, search_text(report, o.output.style())); break;
    case Format::kJson: print_result(o.output, search_json(report)); break;
    case Format::kCsv: print_result(o.output, search_csv(report)); break;
  }
  return report.best.empty() ? kNo : kYes;
}

void save_page(const SearchCommand& o, const Studies& studies, const SearchReport& report) {
  if (o.html.empty()) return;
  Page page = page_of("search", report.run, search_json(report));
  if (studies.size() == 1) page.scenario = studies.front()->scenario().canonical_json;
  save_page(o.html, page);
}

SearchQuestion question_of(const SearchCommand& o, const Command& command) {
  SearchQuestion out = o.question;
  out.file = input_name(o.scenario.file);
  out.text = read_text_file(o.scenario.file);
  out.sets = o.scenario.overrides();
  for (const std::string& v : o.variations) out.varied.push_back(parse_variation(v));
  out.objective = objective_named(o.objective);
  out.front = out.front || !o.svg.empty();
  out.command_line = command.line;
  return out;
}

int lead(const SearchCommand& o, const SearchQuestion& question, const Machines& machines,
         const SearchRanks& ranks) {
  print_warnings(machines.warnings);
  SearchReport report = machines.about;
  SearchRecords records(o.files, machines.studies, report.run);
  SearchClock clock;
  const std::vector<Ranked> best =
      search_machines(question, machines, records, {ranks, interrupted, std::ref(clock)}, report);
  clock.finish();
  records.finish(!report.interrupted);
  report_rows(question, machines, best, report);
  print_warnings(idle_in_best(question, report.best));
  save_page(o, machines.studies, report);
  const int found = print(o, report);
  // Behind the answer, which stands where a dialect cannot say the layout (D009).
  if (!report.best.empty()) export_layout(o, report.best.front());
  return found;
}

int run_search(const SearchCommand& o, const Command& command) {
  if (print_help_for_sets(o.scenario, o.output)) return kYes;
  const InterruptGuard guard;
  SearchQuestion question;
  Machines machines;
  try {
    question = question_of(o, command);
    machines = machines_of(question);
  } catch (const InputError&) {
    if (another_rank_speaks()) return kUsage;
    throw;
  }
  return on_search_ranks([&](const SearchRanks& ranks) {
    if (ranks.leads()) return lead(o, question, machines, ranks);
    const auto answer = [&](SearchWork& work) { return ranks.follow(work, question.jobs); };
    for (const std::unique_ptr<Study>& study : machines.studies) {
      if (!study->follow(answer)) break;
    }
    return kYes;
  });
}

constexpr double kMostTokens = 1e18;  // as of training.tokens

/// What the best is, and among which.
void add_goals(Subcommand& sub, SearchCommand& options) {
  sub.option("--objective", options.objective,
             "What the best has least of, per token: time, cost, energy; or gpus")
      .one_of({"time", "cost", "energy", "gpus"})
      .shows_default();
  sub.option("--max-gpus", options.question.max_gpus, "Machines of more are left out").positive();
  sub.option("--tokens", options.question.tokens,
             "To be trained on (default: training.tokens): days and price of it all")
      .between(1.0, kMostTokens);
  sub.option("--deadline,--days", options.question.days,
             "Only layouts that train on these in so many days")
      .positive();
}

/// What is written beside the answer, and read again.
void add_files(Subcommand& sub, SearchCommand& options) {
  Option exported =
      sub.option("--export", options.exports,
                 "Write the best layout as settings of these programs (docs/export.md)")
          .one_of(training_dialect_names())
          .takes("DIALECT")
          .separated_by_commas();
  sub.option("--export-to", options.export_folder, "The folder of --export")
      .takes("FOLDER")
      .needs(exported)
      .shows_default();
  sub.option("--resume", options.files.journal,
             "A journal of what was simulated: a search that ended early goes on from it")
      .takes("FILE");
  sub.option("--csv", options.files.csv, "Write every simulated layout, while it runs, as CSV")
      .writes_file();
  sub.option("--sqlite", options.files.sqlite, "The same into an SQLite database").writes_file();
}

}  // namespace

void add_search(Command& command) {
  auto options = std::make_shared<SearchCommand>();
  Subcommand sub = command.program.subcommand(
      "search",
      "The fastest layouts that fit, with the proof that none is faster (exit code 1: "
      "nothing fits)");
  add_scenario_options(sub, options->scenario);
  sub.option("--keep", options->question.keep,
             "A field that stays as it is, where all are searched")
      .takes("PATH")
      .repeatable();
  add_vary_option(sub, options->variations);
  sub.option("--best", options->question.best, "How many layouts to find")
      .between(1, 1000)
      .shows_default();
  add_goals(sub, *options);
  sub.flag(
      "--front", options->question.front,
      "Also the layouts that no other beats in time, memory, GPUs and cost at once: those of the "
      "best, and with less memory the fastest in steps of 5 %");
  sub.option("--svg", options->svg, "Draw this front: time against memory").writes_file();
  add_html_option(sub, options->html);
  sub.option("--budget", options->question.budget,
             "Simulations at most, of each variant and with its front, and besides the scenario as "
             "written and the rule of thumb; the answer then says how far it may be off")
      .positive();
  add_price_option(sub, options->question.prices);
  add_files(sub, *options);
  add_jobs_option(sub, options->question.jobs);
  add_output_options(sub, options->output);
  sub.runs([&command, options] { return run_search(*options, command); },
           [options] {
             if (options->scenario.file == "-" && started_by_launcher()) {
               usage_error("scenario: every rank reads it: name a file");
             }
           });
}

}  // namespace plait
