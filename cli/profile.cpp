// plait profile SCENARIO TRACE: a torch profiler trace of a run beside the scenario's prediction.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "core/error.h"
#include "core/json.h"
#include "core/new_file.h"
#include "plan/places.h"
#include "prediction/prediction.h"
#include "prediction/run_facts.h"
#include "reports/compare.h"
#include "reports/html/timeline.h"
#include "reports/human.h"
#include "reports/profile/profile_rows.h"
#include "sim/lanes.h"
#include "topologies/placement.h"

namespace plait {
namespace {

struct ProfileOptions {
  ScenarioOptions scenario;
  OutputOptions output;
  std::string trace, fail_over, measurements, html;
  std::int64_t rank = -1, steps = 0;
};

/// Of the trace's own rank, unless it is given.
std::int64_t rank_of(const ProfileOptions& options, const KinetoTrace& trace, const Plan& plan) {
  const std::int64_t rank =
      options.rank >= 0 ? options.rank : std::max<std::int64_t>(0, trace.rank);
  const std::int64_t ranks = rank_count(plan);
  if (rank < ranks) return rank;
  throw InputError({.code = "K014",
                    .problem = fmt::format("{} rank {}, and the scenario has {} ranks",
                                           options.rank >= 0 ? "--rank names" : "the trace is of",
                                           rank, human_count(ranks)),
                    .where = {options.trace, 0, 0, ""},
                    .expected = fmt::format("a rank from 0 to {}", ranks - 1),
                    .cure = "describe the job that was profiled (cluster.nodes, strategy), or name "
                            "the rank of the scenario that does the same with --rank"});
}

struct ChosenTrack {
  const Track& track;
  bool own = true;  // of the rank's class
};

/// The track of the rank's class. Of very many classes not all are recorded: then the first one of
/// its stage.
ChosenTrack track_of(const Prediction& p, std::int64_t rank) {
  const std::int64_t stage = stage_of_rank(p.plan, rank);
  const std::int64_t position = first_place_of(p.plan, rank) - stage * p.plan.places_per_stage();
  const std::size_t lane = p.simulation.lanes->lane_of[static_cast<std::size_t>(position)];
  const std::vector<Track>& tracks = p.simulation.timeline.tracks;
  const std::size_t recorded = tracks.size() / p.plan.programs.size();
  const bool own = lane < recorded;
  return {tracks[static_cast<std::size_t>(stage) * recorded + (own ? lane : 0)], own};
}

KinetoTrace read_watched(const std::string& file) {
  ProgressLine progress("reading");
  return read_kineto(file, [&](std::int64_t done, std::int64_t all) {
    constexpr std::int64_t kMiB = 1 << 20;
    progress(static_cast<std::size_t>(done / kMiB), static_cast<std::size_t>(all / kMiB), "MiB");
  });
}

std::string rendered(const ProfileComparison& c, const OutputOptions& output) {
  switch (output.kind()) {
    case Format::kJson: return profile_json(c);
    case Format::kCsv: return profile_csv(c);
    case Format::kText: return profile_text(c, output.style());
  }
  return "";
}

/// With the simulated timeline of the rank's class.
void save_page(const ProfileOptions& options, const Scenario& scenario, const Prediction& p,
               const ProfileComparison& c, const Track& track) {
  if (options.html.empty()) return;
  Page page = page_of("profile", p.report.run, profile_json(c));
  page.scenario = scenario.canonical_json;
  TimelineInputs in = {p.plan, p.simulation.timeline, "simulated", {track.rank}};
  in.devices = devices_of_ranks(scenario.cluster, scenario.placement);
  page.pictures.push_back({"timelines", json_list({timeline_json(in)})});
  save_page(options.html, page);
}

/// Without shapes there is nothing in it that plait calibrate fits.
void save_measurements(const std::string& file, const std::vector<Row>& rows) {
  write_file(file, lines_of(rows));
  const bool shapes = std::ranges::any_of(
      rows, [](const Row& row) { return std::holds_alternative<KernelRow>(row); });
  if (shapes) return;
  print_warnings(
      {{"W017", fmt::format("the trace has no shapes of products, so {} has nothing that plait "
                            "calibrate fits: record it with record_shapes=True",
                            file)}});
}

int profile(const ProfileOptions& options, const std::string& command_line) {
  if (print_help_for_sets(options.scenario, options.output)) return kYes;
  const double limit = options.fail_over.empty() ? 0 : parse_limit(options.fail_over);
  const Scenario scenario = load_scenario(options.scenario.file, options.scenario.overrides());
  const KinetoTrace trace = read_watched(options.trace);
  const TraceSteps steps =
      steps_of(trace, options.steps > 0 ? std::optional(options.steps) : std::nullopt);
  ProgressLine progress("predicting");
  const Prediction p =
      predict(scenario, {.watch = progress.watch("ops")}, run_facts(scenario, command_line));
  progress.finish();
  const std::int64_t rank = rank_of(options, trace, p.plan);
  const auto [track, own] = track_of(p, rank);
  ProfileComparison c = compare_profile({.trace = trace,
                                         .steps = steps,
                                         .plan = p.plan,
                                         .cluster = scenario.cluster,
                                         .track = track,
                                         .rank = rank,
                                         .kernels = scenario.kernels,
                                         .report = p.report});
  if (!own) {
    c.notes.push_back(fmt::format(
        "rank {} stands for rank {}: not all classes of ranks are recorded", track.rank, rank));
  }
  print_warnings(p.report.run.warnings);
  save_page(options, scenario, p, c, track);
  if (!options.measurements.empty()) {
    save_measurements(options.measurements, profile_rows(trace, steps, c));
  }
  print_result(options.output, rendered(c, options.output));
  if (options.fail_over.empty() || std::abs(step_difference(c)) <= limit) return kYes;
  std::fprintf(stderr, "over the limit of %s: %s\n", options.fail_over.c_str(),
               options.trace.c_str());
  return kNo;
}

}  // namespace

void add_profile(Command& command) {
  auto options = std::make_shared<ProfileOptions>();
  Subcommand sub = command.program.subcommand(
      "profile", "Compare a torch profiler trace of your own run with the prediction, by kernel");
  add_scenario_options(sub, options->scenario);
  sub.option("trace", options->trace,
             "What torch.profiler wrote on one rank, .json or .json.gz (- for standard input)")
      .takes("TRACE")
      .required();
  add_output_options(sub, options->output);
  add_html_option(sub, options->html);
  sub.option("--rank", options->rank,
             "Rank of the scenario to compare with (default: the trace's own, else 0)")
      .not_negative()
      .takes("RANK");
  sub.option("--steps", options->steps,
             "Take the whole trace as so many steps, where none are annotated")
      .positive()
      .takes("N");
  sub.option("--measurements", options->measurements,
             "Also write what was measured of products (with record_shapes) and collectives as "
             "plait bench does, for plait calibrate")
      .writes_file();
  sub.option("--fail-over", options->fail_over,
             "Exit code 1 when the predicted step time differs from the measured by more than "
             "this (5%)")
      .takes("LIMIT");
  sub.footer(
      "In the job: torch.profiler.profile(activities=[CPU, CUDA], schedule=...), prof.step() "
      "behind\n"
      "each step, prof.export_chrome_trace(\"rank0.pt.trace.json.gz\"). More: docs/profile.md");
  sub.runs([&command, options] { return profile(*options, command.line); });
}

}  // namespace plait
