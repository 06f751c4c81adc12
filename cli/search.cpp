// plait search: which layout is the fastest that fits, and the proof that none is faster.

#include "search/search.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/prediction.h"
#include "core/error.h"
#include "core/json.h"
#include "core/parallel.h"
#include "reports/new_file.h"
#include "reports/search.h"
#include "reports/vary.h"
#include "search/open_space.h"
#include "search/rule_of_thumb.h"

namespace plait {
namespace {

struct SearchCommand {
  ScenarioOptions scenario;
  std::vector<std::string> variations, keep;
  std::string objective = "time";
  std::size_t best = 10;
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_gpus = 0;  // 0: any
  double tokens = 0, days = 0;
  bool front = false;
  std::string svg;
  OutputOptions output;
  int jobs = 1;
};

/// Each point of the front has less memory than the one before by this share at least.
constexpr double kFrontStep = 0.05;
constexpr std::size_t kMostFrontPoints = 16;

std::atomic<bool> interrupted{false};
void interrupt(int /*signal*/) { interrupted = true; }

/// Ctrl-C ends the search, not the program: the best so far is printed.
class InterruptGuard {
 public:
  InterruptGuard() : before_(std::signal(SIGINT, interrupt)) {}
  ~InterruptGuard() { std::signal(SIGINT, before_); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  void (*before_)(int);
};

void say_progress(std::int64_t simulated, SimTime best) {
  if (::isatty(STDERR_FILENO) != 1) return;
  std::fprintf(
      stderr, "\r%-60s\r",
      fmt::format("{} simulated, best {:.4g} s", simulated, to_seconds(best).value).c_str());
}

/// What --set has to say for the scenario to become the layout: what it writes itself, and what is
/// not as it is where nothing is written.
Assignments needed(const Layout& layout, const OpenScenario& open) {
  const Assignments defaults = settings_of(Layout{});
  Assignments out = settings_of(layout);
  std::erase_if(out, [&](const auto& setting) {
    const bool is_default = std::ranges::find(defaults, setting) != defaults.end();
    const bool follows = setting.first == "strategy.dp";
    const std::string section = setting.first.substr(0, setting.first.rfind('.'));
    const bool written = open.find(setting.first) != nullptr || section == "strategy.pipeline" ||
                         section == "strategy.recompute";
    return open.find(setting.first) == nullptr && (follows || (is_default && !written));
  });
  return out;
}

std::string words_of(const Layout& layout, const Scenario& s) {
  std::string out = layout_text(s.strategy);
  const bool gathers = layout.zero_stage == 3 && layout.dp * layout.fsdp * layout.cp > 1;
  if (gathers && !layout.reshard) out += ", gathered weights kept";
  return out + fmt::format(", micro-batch {}", layout.micro_batch);
}

/// One machine, all layouts.
class Study {
 public:
  Study(const SearchCommand& options, const Command& command, const std::string& text,
        const std::string& file, Assignments machine)
      : options_(options), command_(command), machine_(std::move(machine)) {
    std::vector<Override> sets = options.scenario.overrides();
    sets.insert(sets.end(), machine_.begin(), machine_.end());
    open_ = parse_open_scenario(text, file, sets);
    costs_ = costs_of(open_.scenario);
    if (!open_.leaves_open()) own_ = as_written(text, file, sets);
  }

  const Scenario& scenario() const { return open_.scenario; }
  /// But for options without effect (W001): they are what is searched.
  std::vector<std::string> warnings() const {
    std::vector<std::string> out = open_.scenario.warnings;
    std::erase_if(out, [](const std::string& w) { return w.starts_with("W001"); });
    if (open_.scenario.flow_network) {
      out.emplace_back(
          "W006: network flow: layouts are searched and simulated with the analytic network");
    }
    return out;
  }

  void run(SearchReport& out) {
    Bounds bounds(open_.scenario, costs_);
    const Space space = space_of(open_, options_.keep);
    SearchOptions how{.best = options_.best,
                      .threads = options_.jobs,
                      .budget = options_.budget,
                      .stop = &interrupted,
                      .progress = say_progress};
    const SearchResult result = search(open_.scenario, costs_, bounds, space, how);
    const Certificate& c = result.certificate;
    out.counts += {c.considered,   c.refused,   c.too_large, c.too_slow,
                   c.does_not_fit, c.simulated, c.open,      c.gap};
    out.best = rows(result.best);
    if ((options_.front || !options_.svg.empty()) && !result.best.empty())
      walk_front(result.best.front(), bounds, space, out);
    add_others(out);
  }

 private:
  /// Nothing where the layout is not one of this machine (S001, S002).
  static std::optional<Scenario> as_written(const std::string& text, const std::string& file,
                                            const std::vector<Override>& sets) {
    try {
      return parse_scenario(text, file, sets);
    } catch (const InputError& error) {
      if (error.text().code != "S001" && error.text().code != "S002") throw;
      return std::nullopt;
    }
  }
  SearchRow row(const Layout& layout, SimTime bound) const {
    const Scenario s = with_layout(open_.scenario, layout);
    SearchRow out;
    out.machine = machine_;
    out.settings = needed(layout, open_);
    out.layout = words_of(layout, s);
    out.report = predict(s, costs_, {}, run_facts(s, command_.line)).report;
    out.bound_s = to_seconds(bound).value;
    return out;
  }
  std::vector<SearchRow> rows(const std::vector<Found>& found) const {
    std::vector<SearchRow> out(found.size());
    in_parallel(found.size(), options_.jobs,
                [&](std::size_t i) { out[i] = row(found[i].layout, found[i].bound); });
    return out;
  }
  /// The fastest of all, then the fastest that needs less memory, and so on.
  void walk_front(const Found& fastest, Bounds& bounds, const Space& space,
                  SearchReport& out) const {
    std::vector<Found> points = {fastest};
    while (points.size() < kMostFrontPoints && !interrupted) {
      const auto memory = static_cast<double>(points.back().result.memory.value);
      const Bytes limit(static_cast<std::int64_t>(memory * (1 - kFrontStep)));
      const SearchResult next = search(open_.scenario, costs_, bounds, space,
                                       {.best = 1,
                                        .threads = options_.jobs,
                                        .memory_limit = limit,
                                        .stop = &interrupted,
                                        .progress = say_progress});
      if (next.best.empty()) break;
      points.push_back(next.best.front());
    }
    out.fastest_by_memory = rows(points);
  }
  void add_others(SearchReport& out) const {
    if (own_ && !out.own) {
      out.own = row(layout_of(own_->strategy, own_->workload), 0);
    }
    if (out.rule_of_thumb) return;
    if (const auto rule = rule_of_thumb(open_.scenario, costs_)) {
      out.rule_of_thumb = row(rule->layout, 0);
    }
  }

  const SearchCommand& options_;
  const Command& command_;
  Assignments machine_;
  OpenScenario open_;
  CostModel costs_;
  std::optional<Scenario> own_;
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

int run_search(const SearchCommand& o, const Command& command) {
  const std::string file = o.scenario.file == "-" ? "<stdin>" : o.scenario.file;
  const std::string text = read_text_file(o.scenario.file);
  std::vector<Variation> variations;
  for (const std::string& v : o.variations) variations.push_back(parse_variation(v));
  SearchReport report;
  report.objective = o.objective;
  std::vector<std::pair<double, SearchRow>> rows;
  const InterruptGuard guard;
  for (const Assignments& machine : combinations(variations)) {
    Study study(o, command, text, file, outer_first(machine));
    const Scenario& s = study.scenario();
    if (o.max_gpus > 0 && s.cluster.world_size() > o.max_gpus) continue;
    if (report.scenario.empty()) {
      print_warnings(study.warnings());
      report.scenario = s.name, report.model = s.model.name,
      report.cluster = cluster_text(s.cluster);
      report.run = run_facts(s, command.line);
    }
    study.run(report);
    for (SearchRow& row : report.best) {
      const double value = score(o, row, s.cluster.device.power.value);
      rows.emplace_back(value, std::move(row));
    }
    report.best.clear();
    if (interrupted) break;
  }
  report.interrupted = interrupted;
  rank(o, std::move(rows), report);
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
      "  plait search my.json -L cluster.nodes=2,4,8 --objective cost");
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
  sub->add_option("--budget", options->budget,
                  "Simulations at most; the answer then says how far it may be off")
      ->check(CLI::PositiveNumber);
  add_jobs_option(*sub, options->jobs);
  add_output_options(*sub, options->output);
  sub->callback([&command, options] {
    command.action = [&command, options] { return run_search(*options, command); };
  });
}

}  // namespace plait
