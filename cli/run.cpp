// plait run SCENARIO: predict one step.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "core/file.h"
#include "core/json.h"
#include "core/new_file.h"
#include "prediction/changes.h"
#include "prediction/costs.h"
#include "prediction/evaluate.h"
#include "prediction/idle_overrides.h"
#include "prediction/link_use.h"
#include "prediction/prediction.h"
#include "prediction/prices.h"
#include "prediction/run_facts.h"
#include "reports/csv.h"
#include "reports/human.h"
#include "reports/json.h"
#include "reports/json_tree.h"
#include "reports/text.h"
#include "reports/trace.h"
#include "scenarios/overrides.h"
#include "topologies/placement.h"

namespace plait {
namespace {

struct RunCommandOptions {
  ScenarioOptions scenario;
  OutputOptions output;
  std::string trace, html;
  std::vector<std::string> prices;
  std::vector<std::int64_t> trace_ranks;
  bool unfold = false, changes = false;
  int jobs = 1;  // of changes
};

/// `changes`: null where they were not asked for.
std::string rendered(const Report& report, const Changes* changes, const OutputOptions& output) {
  switch (output.kind()) {
    case Format::kCsv: return to_csv(report);
    case Format::kText:
      return to_text(report, output.style()) +
             (changes != nullptr ? render(change_lines(*changes), output.style()) : "");
    case Format::kJson: break;
  }
  nlohmann::ordered_json tree = json_tree(report);
  if (changes != nullptr) tree[key_of(*changes)] = changes_json(*changes);
  return json_text(tree);
}

/// Viewers in a browser take long from there on, or give up.
constexpr std::int64_t kLargeTrace = 200'000'000;  // bytes

void warn_of_size(std::int64_t bytes) {
  if (bytes < kLargeTrace) return;
  print_warnings(
      {{"W012", fmt::format("the trace has about {}: --trace-ranks 0 writes one rank alone",
                            human_bytes(bytes))}});
}

void save_trace(const RunCommandOptions& options, const Scenario& scenario, const Prediction& p) {
  if (options.trace.empty()) return;
  const TraceInputs in = {.plan = p.plan,
                          .timeline = p.simulation.timeline,
                          .memory = p.memory,
                          .run = p.report.run,
                          .ranks = options.trace_ranks,
                          .devices = devices_of_ranks(scenario.cluster, scenario.placement)};
  warn_of_size(size_of_trace(in));
  NewFile file(options.trace);
  write_trace(in, [&](std::string_view part) { file.write(part); });
  file.finish();
}

void save_page(const RunCommandOptions& options, const Scenario& scenario, const Prediction& p,
               const Changes& changes) {
  Page page = page_of("run", p.report.run, to_json(p.report));
  add_pictures(page, scenario, p);
  page.pictures.push_back({"link_use", link_use_json(link_use(scenario, p))});
  page.pictures.push_back({key_of(changes), changes_json(changes).dump()});
  save_page(options.html, page);
}

/// Whether W001 says it of the field, or of the object that it is in.
bool is_told(const Warnings& warnings, const std::string& path) {
  return std::ranges::any_of(warnings, [&path](const Warning& w) {
    return w.code == "W001" && (path + ".").starts_with(w.path + ".");
  });
}

/// Whether the scenario says so itself, or has it by default.
bool is_what_it_was(const ScenarioText& text, std::vector<Override> sets, std::size_t set) {
  const std::string with = parse_scenario(text.text, text.file, sets).canonical_json;
  sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(set));
  return parse_scenario(text.text, text.file, sets).canonical_json == with;
}

/// As it was said: --network is another word for --set network.
std::string words_of_set(const std::string& set) {
  return set.starts_with("network=") ? "--network " + set.substr(8) : "--set " + set;
}

/// W002, unless W001 says it of the field. `scenario` has the prices, which are no part of --set.
void warn_of_idle_sets(const RunCommandOptions& options, const ScenarioText& text,
                       const Scenario& scenario, Reported& out) {
  std::vector<Override> sets = options.scenario.overrides();
  if (!options.prices.empty()) {
    sets.push_back(
        {"cluster.price_per_device_hour", fmt::format("{}", scenario.price_per_device_hour)});
  }
  for (const std::size_t i : idle_overrides(sets, text, out, options.unfold)) {
    if (i >= options.scenario.sets.size()) continue;
    if (is_told(out.report.run.warnings, canonical_path(sets[i].path))) continue;
    out.report.run.warnings.push_back(
        {"W002",
         fmt::format("{} changes nothing{}", words_of_set(options.scenario.sets[i]),
                     is_what_it_was(text, sets, i) ? ": it is what it was" : " in the result")});
  }
}

int run(const RunCommandOptions& options, const std::string& command_line) {
  if (print_help_for_sets(options.scenario, options.output)) return kYes;
  const std::string& file = options.scenario.file;
  const ScenarioText text = {input_name(file), read_text_file(file)};
  const std::vector<Override> sets = options.scenario.overrides();
  Scenario scenario = parse_scenario(text.text, text.file, sets);
  set_price(options.prices, scenario);
  ProgressLine progress("predicting");
  const PredictionOptions how = {.unfold = options.unfold,
                                 .memory_curve = !options.trace.empty() || !options.html.empty(),
                                 .watch = progress.watch("ops")};
  const RunFacts facts = run_facts(scenario, command_line);
  std::optional<Prediction> whole;  // where more is asked for than the report
  if (how.unfold || how.memory_curve || scenario.flow_network) {
    whole = predict(scenario, how, facts);
  }
  Reported out = whole ? *whole : report_of(scenario, costs_of(scenario), facts);
  warn_of_idle_sets(options, text, scenario, out);
  if (whole) {
    whole->report = out.report;
    save_trace(options, scenario, *whole);
  }
  progress.finish();
  std::optional<Changes> changes;
  if (options.changes || !options.html.empty()) {
    ProgressLine line;
    changes = changes_of(text, sets, scenario, out.report, options.jobs,
                         line.watch("changes of the layout"));
  }
  if (!options.html.empty()) save_page(options, scenario, *whole, *changes);
  print_warnings(out.report.run.warnings);
  print_result(options.output,
               rendered(out.report, options.changes ? &*changes : nullptr, options.output));
  return out.report.memory.fits ? kYes : kNo;
}

}  // namespace

void add_run(Command& command) {
  auto options = std::make_shared<RunCommandOptions>();
  Subcommand sub = command.program.subcommand(
      "run",
      "Predict one training step: time, memory and what bounds them (exit code 1: does not fit)");
  add_scenario_options(sub, options->scenario);
  add_price_option(sub, options->prices);
  add_output_options(sub, options->output);
  Option trace =
      sub.option("--trace", options->trace, "Also write the timeline for ui.perfetto.dev")
          .writes_file();
  sub.option("--trace-ranks", options->trace_ranks,
             "Ranks to trace (default: one of each pipeline stage)")
      .separated_by_commas()
      .takes("R,R")
      .needs(trace);
  add_html_option(sub, options->html);
  sub.flag("--changes", options->changes,
           "Also try changes of the layout, one by one: which make it fit, or the step shorter");
  add_jobs_option(sub, options->jobs);
  sub.flag("--unfold", options->unfold, "Simulate every rank on its own: slower, same result");
  sub.runs([&command, options] { return run(*options, command.line); },
           [options] {
             if (options->changes && options->output.kind() == Format::kCsv)
               usage_error("--changes has no CSV form; write text or JSON");
           });
}

}  // namespace plait
