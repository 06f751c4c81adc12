// plait serve SCENARIO: what users of a server would feel. A command of its own beside `plait run`:
// its answer is a distribution over requests, not a step.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/row_warnings.h"
#include "core/file.h"
#include "core/json.h"
#include "core/vary.h"
#include "prediction/evaluate.h"
#include "prediction/prices.h"
#include "prediction/run_facts.h"
#include "prediction/serving.h"
#include "reports/html/requests.h"
#include "reports/serving.h"
#include "reports/serving_comparison.h"

namespace plait {
namespace {

struct ServeOptions {
  std::vector<std::string> files;
  ScenarioOptions scenario;  // the first of them
  OutputOptions output;
  std::vector<std::string> variations, prices;
  std::string html;
  bool max_rate = false;
  ServingQuestion question() const {
    return max_rate ? ServingQuestion::kMaxRate : ServingQuestion::kAsWritten;
  }
};

std::string rendered(const ServingReport& report, const OutputOptions& output) {
  switch (output.kind()) {
    case Format::kJson: return to_json(report);
    case Format::kCsv: return to_csv(report);
    case Format::kText: return to_text(report, output.style());
  }
  return "";
}

void save_page_of(const ServingReport& report, const Scenario& scenario, const std::string& file) {
  if (file.empty()) return;
  Page page = page_of("serve", report.run, to_json(report));
  if (report.fits) {
    page.pictures.push_back(
        {"requests", requests_json(report.requests, report.service, report.kinds)});
  }
  add_machine(page, scenario);
  save_page(file, page);
}

int serve_one(const ServeOptions& options, const std::string& command_line) {
  Scenario scenario = load_scenario(options.scenario.file, options.scenario.overrides());
  set_price(options.prices, scenario);
  ProgressLine progress("serving");
  const ServingReport report = predict_serving(
      scenario, options.question(), run_facts(scenario, command_line), std::ref(progress));
  progress.finish();
  print_warnings(report.run.warnings);
  print_result(options.output, rendered(report, options.output));
  save_page_of(report, scenario, options.html);
  return report.is_yes() ? kYes : kNo;
}

std::string rendered(const std::vector<ServingCandidate>& candidates, const OutputOptions& output) {
  switch (output.kind()) {
    case Format::kJson: return serving_comparison_json(candidates);
    case Format::kCsv: return serving_comparison_csv(candidates);
    case Format::kText: return serving_comparison_text(candidates, output.style());
  }
  return "";
}

/// Or of requests that are too long for the layout.
bool is_of_one_serving_row(const InputError& error) {
  const std::string& code = error.text().code;
  if (code == "S066" || code == "S184" || code == "R001") return false;
  return is_of_one_row(error) || code.starts_with('R');
}

/// A scenario with its name, where several are compared.
struct ServedSource {
  std::string name;
  ScenarioText text;
};

/// A layout that cannot serve what is asked is a row with its reason. `devices` are added to: those
/// of its machine.
ServingCandidate candidate_of(const ServedSource& source, const ServeOptions& options,
                              const Assignments& sets, const std::string& command_line,
                              ProgressLine& progress, std::vector<std::string>& devices) {
  std::vector<Override> overrides = options.scenario.overrides();
  ServingCandidate out;
  out.label = source.name + (source.name.empty() || sets.empty() ? "" : " ") + label_of(sets);
  const Assignments ordered = outer_first(sets);
  overrides.insert(overrides.end(), ordered.begin(), ordered.end());
  try {
    Scenario scenario = parse_scenario(source.text.text, source.text.file, overrides);
    if (!options.prices.empty()) {
      scenario.price_per_device_hour = price_of(options.prices, scenario);
    }
    std::ranges::copy(kinds_of_devices(scenario.cluster), std::back_inserter(devices));
    out.report = predict_serving(scenario, options.question(), run_facts(scenario, command_line),
                                 std::ref(progress));
  } catch (const InputError& error) {
    if (!is_of_one_serving_row(error)) throw;
    out.reason = fmt::format("{}: {}", error.text().code, error.text().problem);
  }
  return out;
}

Warnings warnings_of(const std::vector<ServingCandidate>& candidates) {
  std::vector<RowWarnings> rows;
  for (const ServingCandidate& c : candidates) {
    if (c.report) rows.push_back({c.label, c.report->run.warnings});
  }
  return warnings_of_rows(rows);
}

std::vector<ServedSource> read_sources(const ServeOptions& options) {
  const std::vector<std::string> names = names_of_files(options.files);
  std::vector<ServedSource> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& file = options.files[i];
    out.push_back({names.size() > 1 ? names[i] : "", {input_name(file), read_text_file(file)}});
  }
  return out;
}

RunFacts facts_of(const std::vector<ServedSource>& sources, const ServeOptions& options,
                  const std::string& command_line) {
  const ScenarioText& first = sources.front().text;
  const Scenario written = parse_scenario(first.text, first.file, options.scenario.overrides());
  RunFacts facts = run_facts(written, command_line);
  if (sources.size() > 1) facts.scenario = fmt::format("{} scenarios", sources.size());
  return facts;
}

int serve_several(const ServeOptions& options, const std::string& command_line) {
  const std::vector<ServedSource> sources = read_sources(options);
  std::vector<Variation> variations;
  for (const std::string& v : options.variations) variations.push_back(parse_variation(v));
  std::vector<ServingCandidate> candidates;
  std::vector<std::string> devices;
  ProgressLine progress("serving");
  for (const ServedSource& source : sources) {
    for (const Assignments& sets : combinations(variations)) {
      candidates.push_back(candidate_of(source, options, sets, command_line, progress, devices));
    }
  }
  progress.finish();
  require_prices(options.prices, devices);
  print_warnings(idle_prices(options.prices, devices));
  print_warnings(warnings_of(candidates));
  print_result(options.output, rendered(candidates, options.output));
  if (!options.html.empty()) {
    save_page(options.html, page_of("serve_compare", facts_of(sources, options, command_line),
                                    serving_comparison_json(candidates)));
  }
  const bool any = std::ranges::any_of(
      candidates, [](const ServingCandidate& c) { return c.report && c.report->is_yes(); });
  return any ? kYes : kNo;
}

int run(ServeOptions& options, const std::string& command_line) {
  options.scenario.file = options.files.front();
  if (print_help_for_sets(options.scenario, options.output)) return kYes;
  refuse_two_prices(options.prices, options.variations);
  const bool one = options.files.size() == 1 && options.variations.empty();
  return one ? serve_one(options, command_line) : serve_several(options, command_line);
}

}  // namespace

void add_serve(Command& command) {
  auto options = std::make_shared<ServeOptions>();
  Subcommand sub = command.program.subcommand(
      "serve",
      "Serve requests: latency, throughput and cache of an engine (exit code 1: does not fit, or "
      "misses serving.slo)");
  add_scenarios_options(sub, options->files, options->scenario.sets);
  add_vary_option(sub, options->variations);
  add_price_option(sub, options->prices);
  sub.flag("--max-rate", options->max_rate,
           "Look for the highest rate of Poisson arrivals that attains serving.slo");
  add_output_options(sub, options->output);
  add_html_option(sub, options->html);
  sub.runs([&command, options] { return run(*options, command.line); });
}

}  // namespace plait
