// plait compare: several scenarios, or one with its knobs varied, side by side.

#include "reports/compare.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/row_warnings.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/parallel.h"
#include "core/vary.h"
#include "plait_version.h"
#include "prediction/evaluate.h"
#include "reports/json.h"
#include "reports/stored_report.h"

namespace plait {
namespace {

struct CompareOptions {
  std::vector<std::string> files, sets, variations, prices;
  OutputOptions output;
  std::string fail_over, html;
  int jobs = 1;
};

/// One file of the command line.
struct Source {
  ScenarioText file;
  std::string name;
  std::optional<Report> stored;  // when it is a report and not a scenario
  std::string timeline, memory;  // of a stored page
};

/// One row of the table to be.
struct ComparedTask {
  std::string label;
  Variant variant;
  const Source* stored = nullptr;  // instead of a variant
};

/// A row and, for a page, its timeline and the memory of its ranks as JSON.
struct ComparedRow {
  ComparedScenario candidate;
  std::string timeline, memory;
};

/// More timelines than these cannot be compared by eye.
constexpr std::size_t kMostTimelines = 6;

/// A file as a report or a page, where it is one.
Source read_source(const std::string& file, const std::string& name) {
  Source out{{file, read_text_file(file)}, name, std::nullopt, "", ""};
  const std::optional<StoredPage> page = page_of_html(out.file.text);
  out.stored = report_from_json(page ? page->result : out.file.text);
  if (page && !out.stored) {
    throw InputError({.code = "G018",
                      .problem = "a page that holds no single prediction",
                      .where = {file, 0, 0, ""},
                      .expected = "a page that plait run --html wrote",
                      .cure = "compare scenarios, or pages and JSON of plait run"});
  }
  if (out.stored && !(out.stored->step_time_s > 0)) {
    throw InputError({.code = "G029",
                      .problem = fmt::format("a step of {} s", out.stored->step_time_s),
                      .where = {file, 0, 0, "step_time_s"},
                      .expected = "a time above 0",
                      .cure = "write the result anew by plait run --format json"});
  }
  if (page && !page->timelines.empty()) out.timeline = page->timelines.front();
  if (page) out.memory = page->memory;
  return out;
}

std::vector<Source> read_sources(const std::vector<std::string>& files) {
  const std::vector<std::string> names = names_of_files(files);
  std::vector<Source> out;
  for (std::size_t i = 0; i < files.size(); ++i) {
    out.push_back(read_source(files[i], names[i]));
  }
  return out;
}

std::string name_of_candidate(const Source& source, bool many_files, const Assignments& sets) {
  std::vector<std::string> parts;
  if (many_files || sets.empty()) parts.push_back(source.name);
  for (const Override& s : sets) parts.push_back(short_name(s));
  return fmt::format("{}", fmt::join(parts, " "));
}

/// A stored report stands as it is; a scenario stands for all combinations of the variations.
std::vector<ComparedTask> tasks_of(const CompareOptions& o, const std::vector<Source>& sources) {
  std::vector<Variation> variations;
  for (const std::string& v : o.variations) variations.push_back(parse_variation(v));
  const std::vector<Assignments> all = combinations(variations);
  const std::vector<Override> common = ScenarioOptions{"", o.sets}.overrides();
  std::vector<ComparedTask> tasks;
  for (const Source& source : sources) {
    for (const Assignments& sets : source.stored ? std::vector<Assignments>(1) : all) {
      ComparedTask task{name_of_candidate(source, sources.size() > 1, sets),
                        {&source.file, common, !sets.empty()},
                        source.stored ? &source : nullptr};
      const Assignments ordered = outer_first(sets);
      task.variant.sets.insert(task.variant.sets.end(), ordered.begin(), ordered.end());
      tasks.push_back(std::move(task));
    }
  }
  if (!o.html.empty() && tasks.size() <= kMostTimelines) {
    for (ComparedTask& task : tasks) task.variant.timeline_label = task.label;
  }
  return tasks;
}

/// A stored timeline goes by the name of its row.
std::string labelled(const std::string& timeline, const std::string& label) {
  if (timeline.empty()) return "";
  auto tree = nlohmann::ordered_json::parse(timeline);
  tree["label"] = label;
  return tree.dump();
}

ComparedRow evaluate(const ComparedTask& task, Evaluator& evaluator) {
  if (task.stored != nullptr) {
    return {{task.label, *task.stored->stored, ""},
            labelled(task.stored->timeline, task.label),
            task.stored->memory};
  }
  Outcome o = evaluator(task.variant);
  const std::string filled = o.filled ? " " + short_name(*o.filled) : "";
  return {{task.label + filled, std::move(o.report), std::move(o.reason)},
          std::move(o.timeline),
          std::move(o.memory)};
}

std::vector<ComparedRow> evaluate_all(const std::vector<ComparedTask>& tasks, int jobs,
                                      Evaluator& evaluator) {
  std::vector<ComparedRow> out(tasks.size());
  ProgressLine progress("predicting");
  in_parallel(
      tasks.size(), jobs, [&](std::size_t i) { out[i] = evaluate(tasks[i], evaluator); },
      [&](std::size_t done) { progress(done, tasks.size(), "candidates"); });
  return out;
}

Warnings warnings_of(const std::vector<ComparedScenario>& candidates) {
  std::vector<RowWarnings> rows;
  for (const ComparedScenario& c : candidates) {
    if (c.report) rows.push_back({c.label, c.report->run.warnings});
  }
  return warnings_of_rows(rows);
}

/// Of a result only a scenario could be predicted otherwise.
Warnings warnings_of_results(const CompareOptions& o, const std::vector<Source>& sources) {
  std::vector<std::string> options, files;
  if (!o.sets.empty()) options.emplace_back("--set");
  if (!o.variations.empty()) options.emplace_back("-L");
  if (!o.prices.empty()) options.emplace_back("--price");
  for (const Source& source : sources) {
    if (source.stored) files.push_back(source.file.file);
  }
  if (options.empty() || files.empty()) return {};
  return {{"W002", fmt::format("results stand as they are, whatever {} says: {}",
                               fmt::join(options, " or "), fmt::join(files, ", "))}};
}

std::string rendered(const std::vector<ComparedScenario>& candidates, const OutputOptions& output) {
  switch (output.kind()) {
    case Format::kJson: return comparison_json(candidates);
    case Format::kCsv: return comparison_csv(candidates);
    case Format::kText: return comparison_text(candidates, output.style());
  }
  return "";
}

void save_page(const std::string& file, const std::vector<ComparedScenario>& candidates,
               const std::vector<ComparedRow>& rows, const std::string& command_line) {
  if (file.empty()) return;
  RunFacts facts;
  facts.version = kVersion, facts.command = command_line;
  const std::optional<std::size_t> first = reference_of(candidates);
  facts.scenario = fmt::format("{} candidates", candidates.size());
  if (first) facts.scenario += ", compared to " + candidates[*first].label;
  Page page = page_of("compare", facts, comparison_json(candidates));
  std::vector<std::string> timelines, memories;
  for (std::size_t k = 0; k < rows.size() && rows.size() <= kMostTimelines; ++k) {
    const ComparedRow& row = rows[k];
    if (!row.timeline.empty()) timelines.push_back(row.timeline);
    if (row.memory.empty() || !row.candidate.report) continue;
    memories.push_back(
        json_object({{"candidate", fmt::format("{}", k)}, {"ranks", row.memory}}, false));
  }
  page.pictures.push_back({"timelines", json_list(timelines)});
  page.pictures.push_back({"memories", json_list(memories)});
  save_page(file, page);
}

int compare(const CompareOptions& options, const std::string& command_line) {
  if (print_help_for_sets({options.files.front(), options.sets}, options.output)) return kYes;
  refuse_two_prices(options.prices, options.variations);
  const double limit = options.fail_over.empty() ? 0 : parse_limit(options.fail_over);
  const std::vector<Source> sources = read_sources(options.files);
  Evaluator evaluator(command_line, options.prices);
  const std::vector<ComparedRow> rows =
      evaluate_all(tasks_of(options, sources), options.jobs, evaluator);
  print_warnings(evaluator.warnings_of_prices());
  print_warnings(warnings_of_results(options, sources));
  std::vector<ComparedScenario> candidates;
  std::vector<std::string> reasons;
  for (const ComparedRow& row : rows) {
    candidates.push_back(row.candidate);
    reasons.push_back(row.candidate.reason);
  }
  refuse_rows_of_serving(reasons);
  save_page(options.html, candidates, rows, command_line);
  print_warnings(warnings_of(candidates));
  print_result(options.output, rendered(candidates, options.output));
  if (!reference_of(candidates)) refuse_all_rows();
  if (options.fail_over.empty()) return kYes;
  const std::vector<std::string> over = over_limit(candidates, limit);
  for (const std::string& label : over) {
    std::fprintf(stderr, "over the limit of %s: %s\n", options.fail_over.c_str(), label.c_str());
  }
  return over.empty() ? kYes : kNo;
}

}  // namespace

void add_compare(Command& command) {
  auto options = std::make_shared<CompareOptions>();
  Subcommand sub = command.program.subcommand(
      "compare", "Predict several scenarios, or one with its knobs varied, side by side");
  add_scenarios_options(sub, options->files, options->sets,
                        "Scenarios, or reports that run --format json or --html wrote");
  add_vary_option(sub, options->variations);
  add_price_option(sub, options->prices);
  add_output_options(sub, options->output);
  add_html_option(sub, options->html);
  sub.option("--fail-over", options->fail_over,
             "Exit code 1 when a step time differs from the first by more than this (5%)")
      .takes("LIMIT");
  add_jobs_option(sub, options->jobs);
  sub.runs([&command, options] { return compare(*options, command.line); });
}

}  // namespace plait
