// plait search: which layout is the fastest that fits, and the proof that none is faster.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>

#include "cli/dialect_options.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/search_machines.h"
#include "cli/search_objective.h"
#include "cli/search_records.h"
#include "core/error.h"
#include "core/json.h"
#include "core/parallel.h"
#include "reports/human.h"
#include "reports/new_file.h"
#include "scenarios/dialects/dialects.h"

namespace plait {
namespace {

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

/// How far it is: on a terminal from the first second on.
class SearchClock {
 public:
  void operator()(const SearchProgress& p) {
    if (p.simulated < last_) begin_ = Clock::now(), first_ = p.simulated;  // the next search
    last_ = p.simulated;
    std::string text = p.best == 0 ? std::string("none fits yet")
                                   : fmt::format("best {:.4g} s", to_seconds(p.best).value);
    if (p.simulated > first_) {
      const double s = std::chrono::duration<double>(Clock::now() - begin_).count();
      const double rate = static_cast<double>(p.simulated - first_) / s;
      text += fmt::format(", {:.0f} simulated/s, at most {} left", rate,
                          spoken_duration(static_cast<double>(p.left) / rate));
    }
    progress_.say(static_cast<std::size_t>(p.simulated),
                  static_cast<std::size_t>(p.simulated + p.left), text);
  }
  void finish() { progress_.finish(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  std::int64_t first_ = 0, last_ = 0;  // counts of the search that runs
  ProgressLine progress_{"enumerating layouts"};
};

std::string suffix_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::kMegatronCore: return "args";
    case Dialect::kDeepSpeed: return "json";
    case Dialect::kTorchtitan: return "toml";
    case Dialect::kAccelerate: return "yaml";
    case Dialect::kVllm: return "sh";
    case Dialect::kPeft: return "json";
    case Dialect::kLlamaCpp: return "sh";
    case Dialect::kOllama: return "Modelfile";
  }
  return "";
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
    NewFile file(folder / fmt::format("{}.{}.{}", scenario.name, name, suffix_of(dialect)));
    file.write(render(settings_of(scenario, dialect, Launcher::kNone), Launcher::kNone));
    file.finish();
  }
}

int print(const SearchCommand& o, const SearchReport& report) {
  if (!o.svg.empty() && !report.front.empty()) {
    NewFile picture(o.svg);
    picture.write(search_svg(report));
    picture.finish();
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

constexpr const char* kNothingDivides =
    "NO LAYOUT: no sizes that may be chosen multiply to the devices and divide the batch, the "
    "sequence, and the model's heads and layers";

constexpr const char* kNotYet = "ENDED BEFORE A LAYOUT THAT FITS WAS FOUND";

constexpr const char* kNotPlanned = "NO LAYOUT THAT FITS CAN BE PLANNED";

/// Where nothing is found for one reason that no layout escapes: throws it.
void say_why(const SearchReport& report, const Scenario& scenario) {
  const auto for_all = [&](const SearchRefusal& r) {
    return r.all && r.why.code == report.refusals.front().why.code;
  };
  const SearchCounts& c = report.counts;
  if (c.simulated + c.open > 0 || report.refusals.empty()) return;
  if (!std::ranges::all_of(report.refusals, for_all)) return;
  throw locate(InputError(report.refusals.front().why), scenario);
}

/// The scenario as written may be none of the layouts that are searched, and better than these.
void put_first_if_best(const SearchCommand& o, SearchReport& out) {
  if (!out.own || !out.own->report.memory.fits || out.best.empty()) return;
  if (!is_better(o, *out.own, out.best.front())) return;
  out.own_is_best = true;
  out.best.insert(out.best.begin(), *out.own);
  out.best.front().settings.clear();
  if (out.best.size() > o.best) out.best.pop_back();
}

/// The best, and what they are compared with.
void report_rows(const SearchCommand& o, const Machines& machines, const std::vector<Ranked>& best,
                 SearchReport& out) {
  if (machines.studies.empty()) return;
  const Study& guided = machines.as_written ? *machines.as_written : *machines.studies.front();
  std::vector<SearchRow> rows(best.size());
  in_parallel(best.size() + 2, o.jobs, [&](std::size_t i) {
    if (i == 0) out.rule_of_thumb = guided.guides();  // the longest first
    if (i == 1 && machines.as_written) out.own = machines.as_written->own();
    if (i >= 2) rows[i - 2] = machines.studies[best[i - 2].study]->row(best[i - 2].found);
  });
  const std::string too_late = leave_the_best(o, rows);
  if (out.nothing.empty()) out.nothing = too_late;
  const SearchCounts& c = out.counts;
  if (out.nothing.empty() && c.considered == 0) out.nothing = kNothingDivides;
  const bool all_refused = c.refused > 0 && c.simulated == 0;
  if (out.nothing.empty() && all_refused && c.open == 0) out.nothing = kNotPlanned;
  if (out.nothing.empty() && out.counts.open > 0) out.nothing = kNotYet;
  if (o.wants_front()) out.front.insert(out.front.begin(), rows.begin(), rows.end());
  out.front = pareto_front(std::move(out.front));
  out.best = std::move(rows);
  put_first_if_best(o, out);
}

int lead(const SearchCommand& o, const Machines& machines, const SearchRanks& ranks) {
  const Studies& studies = machines.studies;
  print_warnings(machines.warnings);
  SearchReport report = machines.about;
  SearchRecords records(o, studies, report.run);
  Ranking ranking(o);
  SearchClock clock;
  std::uint32_t i = 0;
  for (; i < studies.size() && !interrupted; ++i) {
    Study& study = *studies[i];
    const std::vector<Found> found =
        study.run({ranks, interrupted, std::ref(clock), records.ears(i, study), records.known(i),
                   ranking.slowest(study.scenario())},
                  report);
    ranks.dismiss(interrupted);
    ranking.add(study.scenario(), i, found);
  }
  clock.finish();
  report.not_begun = std::ssize(studies) - i;
  const bool cut = report.not_begun > 0 || report.front_cut || report.counts.open > 0;
  report.interrupted = interrupted && cut;
  records.finish(!report.interrupted);
  if (!studies.empty()) say_why(report, studies.front()->scenario());
  report_rows(o, machines, ranking.reported(), report);
  save_page(o, studies, report);
  const int found = print(o, report);
  // Behind the answer, which stands where a dialect cannot say the layout (D009).
  if (!report.best.empty()) export_layout(o, report.best.front());
  return found;
}

int run_search(const SearchCommand& o, const Command& command) {
  if (print_help_for_sets(o.scenario, o.output)) return kYes;
  const InterruptGuard guard;
  Machines machines;
  try {
    machines = machines_of(o, command);
  } catch (const InputError&) {
    if (another_rank_speaks()) return kUsage;
    throw;
  }
  return on_search_ranks([&](const SearchRanks& ranks) {
    if (ranks.leads()) return lead(o, machines, ranks);
    for (const std::unique_ptr<Study>& study : machines.studies) {
      if (!study->follow(ranks)) break;
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
  sub.option("--max-gpus", options.max_gpus, "Machines of more are left out").positive();
  Option tokens =
      sub.option("--tokens", options.tokens, "To be trained on: days and price of it all")
          .between(1.0, kMostTokens);
  sub.option("--deadline,--days", options.days,
             "Only layouts that train on --tokens in so many days")
      .positive()
      .needs(tokens);
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
  sub.option("--resume", options.resume,
             "A journal of what was simulated: a search that ended early goes on from it")
      .takes("FILE");
  sub.option("--csv", options.csv, "Write every simulated layout, while it runs, as CSV")
      .writes_file();
  sub.option("--sqlite", options.sqlite, "The same into an SQLite database").writes_file();
}

}  // namespace

void add_search(Command& command) {
  auto options = std::make_shared<SearchCommand>();
  Subcommand sub = command.program.subcommand(
      "search",
      "The fastest layouts that fit, with the proof that none is faster (exit code 1: "
      "nothing fits)");
  add_scenario_options(sub, options->scenario);
  sub.option("--keep", options->keep, "A field that stays as it is, where all are searched")
      .takes("PATH")
      .repeatable();
  add_vary_option(sub, options->variations);
  sub.option("--best", options->best, "How many layouts to find").between(1, 1000).shows_default();
  add_goals(sub, *options);
  sub.flag(
      "--front", options->front,
      "Also the layouts that no other beats in time, memory, GPUs and cost at once: those of the "
      "best, and with less memory the fastest in steps of 5 %");
  sub.option("--svg", options->svg, "Draw this front: time against memory").writes_file();
  add_html_option(sub, options->html);
  sub.option("--budget", options->budget,
             "Simulations at most; the answer then says how far it may be off")
      .positive();
  sub.option("--price", options->prices,
             "Of a device for an hour, in your currency; of one kind: h100-sxm=2.5")
      .takes("[DEVICE=]PRICE")
      .separated_by_commas();
  add_files(sub, *options);
  add_jobs_option(sub, options->jobs);
  add_output_options(sub, options->output);
  sub.runs([&command, options] { return run_search(*options, command); },
           [options] {
             if (options->scenario.file == "-" && started_by_launcher()) {
               usage_error("scenario: every rank reads it: name a file");
             }
           });
}

}  // namespace plait
