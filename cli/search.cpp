// plait search: which layout is the fastest that fits, and the proof that none is faster.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "cli/page.h"
#include "cli/prediction.h"
#include "cli/progress.h"
#include "cli/search_study.h"
#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"
#include "plait_version.h"
#include "reports/new_file.h"
#include "reports/simulated_layouts.h"
#include "search/journal.h"

namespace plait {
namespace {

std::atomic<bool> interrupted{false};
void interrupt(int /*signal*/) { interrupted = true; }

/// Ctrl-C, and SIGTERM of a batch system whose time is over, end the search, not the program: the
/// best so far is printed.
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
    const double s = std::chrono::duration<double>(Clock::now() - begin_).count();
    const double rate = static_cast<double>(p.simulated) / s;
    progress_(static_cast<std::size_t>(p.simulated), static_cast<std::size_t>(p.simulated + p.left),
              fmt::format("best {:.4g} s, {:.0f} simulated/s, at most {:.0f} s left",
                          to_seconds(p.best).value, rate, static_cast<double>(p.left) / rate));
  }
  void finish() const { progress_.finish(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  Progress progress_{std::chrono::seconds(1)};
};

/// What the objective makes small. Energy: the devices at their rated power.
double score(const SearchCommand& o, const SearchRow& row, double watts) {
  const Report& r = row.report;
  const double gpu_seconds_per_token = static_cast<double>(r.world_size) / r.tokens_per_s;
  if (o.objective == "gpus") return static_cast<double>(r.world_size);
  if (o.objective == "energy") return gpu_seconds_per_token * watts;
  if (o.objective == "cost") {
    return r.price_per_billion_tokens > 0 ? r.price_per_billion_tokens : gpu_seconds_per_token;
  }
  return 1 / r.tokens_per_s;
}

bool in_time(const SearchCommand& o, const Report& r) {
  constexpr double kSecondsPerDay = 86400;
  return o.days == 0 || o.tokens / r.tokens_per_s <= o.days * kSecondsPerDay;
}

/// The rows of all machines, by the objective.
void rank(const SearchCommand& o, std::vector<std::pair<double, SearchRow>> rows,
          SearchReport& out) {
  std::erase_if(rows, [&](const auto& r) { return !in_time(o, r.second.report); });
  std::ranges::stable_sort(
      rows, {}, [](const auto& r) { return std::pair(r.first, r.second.report.step_time_s); });
  out.best.clear();
  for (auto& [value, row] : rows) {
    if (out.best.size() < o.best) out.best.push_back(std::move(row));
  }
}

using Studies = std::vector<std::unique_ptr<Study>>;

/// The machines that are searched.
Studies studies_of(const SearchCommand& o, const Command& command) {
  const std::string file = o.scenario.file == "-" ? "<stdin>" : o.scenario.file;
  const std::string text = read_text_file(o.scenario.file);
  std::vector<Variation> variations;
  for (const std::string& v : o.variations) variations.push_back(parse_variation(v));
  Studies out;
  for (const Assignments& machine : combinations(variations)) {
    auto study = std::make_unique<Study>(o, command, text, file, outer_first(machine));
    const bool too_many = o.max_gpus > 0 && study->scenario().cluster.world_size() > o.max_gpus;
    if (!too_many) out.push_back(std::move(study));
  }
  return out;
}

/// What makes two searches the same: layouts have the same numbers and the same figures.
std::string fingerprint_of(const Studies& studies) {
  std::string text = fmt::format("{} {}\n", kVersion, kRevision);
  for (const std::unique_ptr<Study>& study : studies) text += study->identity();
  return sha256(text);
}

/// The files that a search keeps while it runs.
class Records {
 public:
  Records(const SearchCommand& o, const Studies& studies, const RunFacts& facts) {
    if (!o.resume.empty()) journal_ = std::make_unique<Journal>(o.resume, fingerprint_of(studies));
    if (!o.csv.empty()) writers_.push_back(write_layouts_csv(o.csv));
    if (!o.sqlite.empty()) {
      writers_.push_back(write_layouts_sqlite(o.sqlite, facts.scenario, facts));
    }
  }
  /// What they have to hear of study number `space`.
  SearchEars ears(std::uint32_t space, const Study& study) {
    SearchEars out;
    out.all_memory = journal_ != nullptr || !writers_.empty();
    if (journal_) {
      out.at_once = [this, space](std::uint32_t layout, const Answer& answer) {
        journal_->add({space, layout, answer});
      };
    }
    if (!writers_.empty()) {
      out.in_order = [this, &study](const std::vector<Simulated>& news) { write(study, news); };
    }
    return out;
  }
  std::vector<std::pair<std::uint32_t, Answer>> known(std::uint32_t space) const {
    std::vector<std::pair<std::uint32_t, Answer>> out;
    if (!journal_) return out;
    for (const JournalEntry& e : journal_->entries()) {
      if (e.space == space) out.emplace_back(e.layout, e.answer);
    }
    return out;
  }
  void finish() {
    for (const std::unique_ptr<LayoutWriter>& w : writers_) w->finish();
  }

 private:
  void write(const Study& study, const std::vector<Simulated>& news) {
    std::vector<SimulatedLayout> rows;
    for (const Simulated& n : news) {
      SimulatedLayout row{study.machine(), study.settings(n.number)};
      row.bound_s = to_seconds(n.bound).value;
      row.planned = !n.answer.refused();
      if (row.planned) {
        row.step_time_s = to_seconds(n.answer.step).value;
        row.memory_bytes = n.answer.memory, row.room_bytes = n.answer.room;
      }
      rows.push_back(std::move(row));
    }
    for (const std::unique_ptr<LayoutWriter>& w : writers_) w->add(rows);
  }

  std::unique_ptr<Journal> journal_;
  std::vector<std::unique_ptr<LayoutWriter>> writers_;
};

int print(const SearchCommand& o, const SearchReport& report) {
  if (!o.svg.empty() && !report.fastest_by_memory.empty()) {
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

/// What the scenario and its first machine are called.
SearchReport report_of(const SearchCommand& o, const Command& command, const Studies& studies) {
  SearchReport report;
  report.objective = o.objective;
  if (studies.empty()) return report;
  const Scenario& s = studies.front()->scenario();
  report.scenario = s.name, report.model = s.model.name;
  report.cluster = cluster_text(s.cluster);
  report.run = run_facts(s, command.line);
  return report;
}

void save_page(const SearchCommand& o, const Studies& studies, const SearchReport& report) {
  if (o.html.empty()) return;
  Page page = page_of("search", report.run, search_json(report));
  if (studies.size() == 1) page.scenario = studies.front()->scenario().canonical_json;
  save_page(o.html, page);
}

int lead(const SearchCommand& o, const Command& command, const Studies& studies,
         const SearchRanks& ranks) {
  if (!studies.empty()) print_warnings(studies.front()->warnings());
  SearchReport report = report_of(o, command, studies);
  Records records(o, studies, report.run);
  std::vector<std::pair<double, SearchRow>> rows;
  SearchClock clock;
  for (std::uint32_t i = 0; i < studies.size() && !interrupted; ++i) {
    Study& study = *studies[i];
    study.run({ranks, interrupted, std::ref(clock), records.ears(i, study), records.known(i)},
              report);
    ranks.dismiss(interrupted);
    for (SearchRow& row : report.best) {
      const double value = score(o, row, study.scenario().cluster.device.power.value);
      rows.emplace_back(value, std::move(row));
    }
    report.best.clear();
  }
  clock.finish();
  records.finish();
  report.interrupted = interrupted;
  rank(o, std::move(rows), report);
  save_page(o, studies, report);
  return print(o, report);
}

int run_search(const SearchCommand& o, const Command& command) {
  const InterruptGuard guard;
  Studies studies;
  try {
    studies = studies_of(o, command);
  } catch (const InputError&) {
    if (another_rank_speaks()) return kUsage;
    throw;
  }
  return on_search_ranks([&](const SearchRanks& ranks) {
    if (ranks.leads()) return lead(o, command, studies, ranks);
    for (const std::unique_ptr<Study>& study : studies) {
      if (!study->follow(ranks)) break;
    }
    return kYes;
  });
}

}  // namespace

void add_search(Command& command) {
  auto options = std::make_shared<SearchCommand>();
  CLI::App* sub = command.app.add_subcommand(
      "search",
      "The fastest layouts that fit, with the proof that none is faster (exit code 1: "
      "nothing fits)");
  add_scenario_options(*sub, options->scenario);
  sub->footer(
      "Fields that the scenario leaves open (\"auto\", a list, a range) are searched; where it\n"
      "leaves none open, all of them are.\n\n"
      "Examples:\n"
      "  plait search my.json\n"
      "  plait search my.json --set strategy.tp=[1,2,4,8] --set strategy.pp=auto\n"
      "  plait search my.json --keep strategy.tp --keep workload.micro_batch\n"
      "  plait search my.json -L cluster.nodes=2,4,8 --objective cost\n"
      "  mpirun -n 16 plait search my.json --resume my.journal");
  sub->add_option("--keep", options->keep, "A field that stays as it is, where all are searched")
      ->type_name("PATH")
      ->take_all();
  CLI::Option* vary = add_vary_option(*sub, options->variations);
  sub->add_option("--best", options->best, "How many layouts to find")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  sub->add_option("--objective", options->objective,
                  "What the best has least of, per token: time, cost, energy; or gpus")
      ->check(CLI::IsMember({"time", "cost", "energy", "gpus"}))
      ->capture_default_str();
  sub->add_option("--max-gpus", options->max_gpus, "Machines of more are left out")
      ->check(CLI::PositiveNumber);
  CLI::Option* tokens =
      sub->add_option("--tokens", options->tokens, "To be trained on, with --days")
          ->check(CLI::PositiveNumber);
  sub->add_option("--days", options->days, "Only layouts that train on --tokens in so many days")
      ->check(CLI::PositiveNumber)
      ->needs(tokens);
  sub->add_flag("--front", options->front,
                "Also the fastest layouts with less and less memory (time against memory)")
      ->excludes(vary);
  sub->add_option("--svg", options->svg, "Draw this front")->type_name("FILE")->excludes(vary);
  add_html_option(*sub, options->html);
  sub->add_option("--budget", options->budget,
                  "Simulations at most; the answer then says how far it may be off")
      ->check(CLI::PositiveNumber);
  sub->add_option("--resume", options->resume,
                  "A journal of what was simulated: a search that ended early goes on from it")
      ->type_name("FILE");
  sub->add_option("--csv", options->csv, "Write every simulated layout, while it runs, as CSV")
      ->type_name("FILE");
  sub->add_option("--sqlite", options->sqlite, "The same into an SQLite database")
      ->type_name("FILE");
  add_jobs_option(*sub, options->jobs);
  add_output_options(*sub, options->output);
  sub->callback([&command, options] {
    if (options->scenario.file == "-" && started_by_launcher()) {
      throw CLI::ValidationError("scenario", "every rank reads it: name a file");
    }
    command.action = [&command, options] { return run_search(*options, command); };
  });
}

}  // namespace plait
