// plait whatif: one scenario with some of its fields varied, what bounds each point, and from where
// on a field no longer matters.

#include "reports/whatif.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <functional>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/new_file.h"
#include "prediction/run_facts.h"
#include "prediction/whatif.h"
#include "scenarios/overrides.h"

namespace plait {
namespace {

struct WhatIfOptions {
  ScenarioOptions scenario;
  std::vector<std::string> variations, prices;
  OutputOptions output;
  std::string svg, html;
  int jobs = 1;
};

void refuse_twice(const std::vector<Variation>& variations, const Variation& variation) {
  for (const Variation& other : variations) {
    if (canonical_path(other.path) != canonical_path(variation.path)) continue;
    throw InputError({.code = "G016",
                      .problem = fmt::format("-L varies {} twice", variation.path),
                      .expected = "each field once",
                      .cure = "write all its values in one -L"});
  }
}

WhatIfQuestion question_of(const WhatIfOptions& options) {
  const std::string& file = options.scenario.file;
  WhatIfQuestion out{{input_name(file), read_text_file(file)},
                     options.scenario.overrides(),
                     {},
                     {},
                     options.prices};
  out.base = parse_scenario(out.text.text, out.text.file, out.sets);
  print_warnings(out.base.warnings);
  for (const std::string& v : options.variations) {
    const Variation variation = parse_variation(v);
    refuse_twice(out.variations, variation);
    out.variations.push_back(variation);
  }
  return out;
}

std::string rendered(const WhatIf& study, const OutputOptions& output) {
  switch (output.kind()) {
    case Format::kJson: return whatif_json(study);
    case Format::kCsv: return whatif_csv(study);
    case Format::kText: return whatif_text(study, output.style());
  }
  return "";
}

/// The values of each varied field as numbers of one unit, where they are such.
std::string positions_json(const WhatIf& study) {
  std::vector<std::string> out;
  for (const Knob& knob : study.knobs) {
    std::vector<double> numbers;
    for (const Measure& m : knob.measures) numbers.push_back(m.number);
    const std::string_view unit = knob.numeric() ? knob.measures.front().unit.name : "";
    out.push_back(
        fmt::format(R"({{"numbers":[{}],"unit":{}}})", fmt::join(numbers, ","), json_quote(unit)));
  }
  return json_list(out);
}

void save_page(const WhatIfOptions& options, const WhatIf& study, const Scenario& base) {
  if (options.html.empty()) return;
  Page page = page_of("whatif", run_facts(base, study.command), whatif_json(study));
  page.scenario = base.canonical_json;
  page.pictures.push_back({"positions", positions_json(study)});
  save_page(options.html, page);
}

std::vector<std::string> reasons_of(const WhatIf& study) {
  std::vector<std::string> out;
  for (const WhatIfPoint& p : study.points) out.push_back(p.reason);
  return out;
}

int whatif(const WhatIfOptions& options, const std::string& command_line) {
  if (print_help_for_sets(options.scenario, options.output)) return kYes;
  refuse_two_prices(options.prices, options.variations);
  const WhatIfQuestion asked = question_of(options);
  ProgressLine progress("predicting");
  const WhatIf study = what_if(asked, command_line, options.jobs, std::ref(progress));
  progress.finish();
  refuse_rows_of_serving(reasons_of(study));
  print_warnings(study.warnings);
  if (!options.svg.empty()) {
    write_file(options.svg, whatif_svg(study));
  }
  save_page(options, study, asked.base);
  print_result(options.output, rendered(study, options.output));
  if (first_report(study) != nullptr) return kYes;
  refuse_all_rows();
}

}  // namespace

void add_whatif(Command& command) {
  auto options = std::make_shared<WhatIfOptions>();
  Subcommand sub = command.program.subcommand(
      "whatif", "Vary fields of a scenario: step times, what bounds each, and break-evens");
  add_scenario_options(sub, options->scenario);
  add_vary_option(sub, options->variations).required();
  add_price_option(sub, options->prices);
  add_output_options(sub, options->output);
  sub.option("--svg", options->svg, "Also draw step time over the first varied field")
      .writes_file();
  add_html_option(sub, options->html);
  add_jobs_option(sub, options->jobs);
  sub.runs([&command, options] { return whatif(*options, command.line); });
}

}  // namespace plait
