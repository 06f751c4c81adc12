// plait whatif: one scenario with some of its fields varied, what bounds each point, and from where
// on a field no longer matters.

#include "reports/whatif.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "core/error.h"
#include "core/json.h"
#include "prediction/evaluate.h"
#include "reports/new_file.h"
#include "scenarios/overrides.h"

namespace plait {
namespace {

/// Of what is worse when it is too little and when it is too much nothing is "enough", nor of the
/// amount of work.
bool is_best_at_an_end(const std::string& path) {
  return path != "training.checkpoint.interval" && path != "training.tokens";
}

struct WhatIfOptions {
  ScenarioOptions scenario;
  std::vector<std::string> variations;
  OutputOptions output;
  std::string svg, html;
  int jobs = 1;
};

/// Curves beyond these are not compared with one another.
constexpr std::size_t kMostCurves = 8;

class Study {
 public:
  Study(const WhatIfOptions& options, const std::string& command_line)
      : options_(options),
        common_(options.scenario.overrides()),
        text_{input_name(options.scenario.file), read_text_file(options.scenario.file)},
        evaluator_(command_line) {
    base_ = parse_scenario(text_.text, text_.file, common_);
    print_warnings(base_.warnings);
    study_.scenario = base_.name;
    study_.command = command_line;
    for (const std::string& v : options.variations) {
      const Variation variation = parse_variation(v);
      refuse_twice(variation);
      study_.knobs.push_back(
          make_knob(variation, resolved_value(base_, variation.path).value_or("")));
      variations_.push_back(variation);
    }
  }

  /// Nothing varied.
  const Scenario& base() const { return base_; }

  WhatIf run() {
    evaluate_points();
    if (!study_.base.report) return std::move(study_);
    find_break_evens();
    find_crossovers();
    progress_.finish();
    return std::move(study_);
  }

 private:
  void refuse_twice(const Variation& variation) const {
    for (const Variation& other : variations_) {
      if (canonical_path(other.path) != canonical_path(variation.path)) continue;
      throw InputError({.code = "G016",
                        .problem = fmt::format("-L varies {} twice", variation.path),
                        .expected = "each field once",
                        .cure = "write all its values in one -L"});
    }
  }

  void evaluate_points() {
    const std::vector<Assignments> all = combinations(variations_);
    study_.points.resize(all.size());
    const auto evaluate = [&](std::size_t i) {
      if (i == 0) {
        study_.base = point({}, false);
        for (const Knob& k : study_.knobs) {
          study_.base.values.push_back(k.base.empty() ? "as is" : k.base);
        }
      } else {
        study_.points[i - 1] = point(all[i - 1], true);
        for (const Override& set : all[i - 1]) study_.points[i - 1].values.push_back(set.second);
      }
    };
    in_parallel(all.size() + 1, options_.jobs, evaluate,
                [&](std::size_t done) { progress_(done, all.size() + 1, "points"); });
  }
  WhatIfPoint point(const Assignments& changes, bool may_fill) {
    Outcome o = evaluator_(variant(changes, may_fill));
    return {{}, std::move(o.report), std::move(o.reason), std::move(o.filled)};
  }
  Variant variant(const Assignments& changes, bool may_fill) const {
    Variant out{&text_, common_, may_fill};
    const Assignments ordered = outer_first(changes);
    out.sets.insert(out.sets.end(), ordered.begin(), ordered.end());
    return out;
  }

  /// Nothing for values that the format or the layout refuses.
  std::optional<Report> report_at(const Assignments& changes) {
    try {
      return evaluator_(variant(changes, true)).report;
    } catch (const InputError&) {
      return std::nullopt;
    }
  }
  Override set_to(std::size_t knob, double number) const {
    const Measure m = measure_of(study_.knobs[knob], number);
    const std::string gap = m.unit.name.empty() ? "" : " ";
    return {study_.knobs[knob].path, fmt::format("{}{}{}", m.number, gap, m.unit.name)};
  }
  bool is_continuous_knob(std::size_t k) const {
    return study_.knobs[k].numeric() && is_continuous(study_.knobs[k].path);
  }

  void find_break_evens() {
    std::vector<std::vector<BreakEven>> found(study_.knobs.size());
    const auto search = [&](std::size_t k) {
      if (!is_continuous_knob(k) || !is_best_at_an_end(study_.knobs[k].path)) return;
      std::vector<double> values;
      for (const Measure& m : study_.knobs[k].measures) values.push_back(m.number);
      found[k] = break_evens(values, [&](double v) -> std::optional<Sample> {
        const auto r = report_at({set_to(k, v)});
        if (!r) return std::nullopt;
        return Sample{v, compared_time_s(*r), bound_of(*r)};
      });
    };
    in_parallel(found.size(), options_.jobs, search,
                [&](std::size_t done) { progress_(done, found.size(), "break-evens"); });
    for (std::size_t k = 0; k < found.size(); ++k) {
      for (BreakEven& b : found[k]) study_.findings.push_back({k, std::move(b)});
    }
  }

  void find_crossovers() {
    const std::size_t values = study_.knobs[0].values.size();
    const std::size_t curves = study_.points.size() / values;
    if (curves > kMostCurves || !is_continuous_knob(0)) return;
    std::vector<std::size_t> order(values);
    for (std::size_t k = 0; k < values; ++k) order[k] = k;
    std::ranges::stable_sort(order, {},
                             [&](std::size_t k) { return study_.knobs[0].measures[k].number; });
    for (std::size_t a = 0; a < curves; ++a) {
      for (std::size_t b = a + 1; b < curves; ++b) {
        for (std::size_t k = 1; k < values; ++k) {
          cross(order[k - 1] * curves, order[k] * curves, a, b);
        }
      }
    }
  }
  /// Between two neighbouring values of the first knob, whose points begin at `left` and `right`.
  void cross(std::size_t left, std::size_t right, std::size_t a, std::size_t b) {
    const auto faster = [&](std::size_t first) -> std::optional<bool> {
      const auto &x = study_.points[first + a].report, &y = study_.points[first + b].report;
      if (!x || !y || compared_time_s(*x) == compared_time_s(*y)) return std::nullopt;
      return compared_time_s(*x) < compared_time_s(*y);
    };
    const auto at_left = faster(left), at_right = faster(right);
    const std::size_t curves = study_.points.size() / study_.knobs[0].values.size();
    const double low = study_.knobs[0].measures[left / curves].number;
    const double high = study_.knobs[0].measures[right / curves].number;
    if (!at_left || !at_right || *at_left == *at_right || low <= 0) return;
    const auto others = [&](std::size_t curve) {
      const auto& all = study_.points[left + curve].values;
      return std::vector<std::string>(all.begin() + 1, all.end());
    };
    const auto time = [&](std::size_t curve, double v) {
      Assignments sets = {set_to(0, v)};
      const std::vector<std::string> values = others(curve);
      for (std::size_t k = 0; k < values.size(); ++k) {
        sets.emplace_back(study_.knobs[k + 1].path, values[k]);
      }
      const auto r = report_at(sets);
      return r ? compared_time_s(*r) : 0;
    };
    const double at = change_between(low, high, [&](double v) { return time(a, v) < time(b, v); });
    study_.crossovers.push_back({others(*at_left ? a : b), others(*at_left ? b : a), at});
  }

  const WhatIfOptions& options_;
  std::vector<Override> common_;
  ScenarioText text_;
  Scenario base_;
  Evaluator evaluator_;
  std::vector<Variation> variations_;
  WhatIf study_;
  ProgressLine progress_{"predicting"};
};

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

int whatif(const WhatIfOptions& options, const std::string& command_line) {
  if (const std::string help = help_for_sets(options.scenario.sets); !help.empty()) {
    print_result(options.output, help);
    return kYes;
  }
  Study asked(options, command_line);
  const WhatIf study = asked.run();
  if (!options.svg.empty()) {
    NewFile file(options.svg);
    file.write(whatif_svg(study));
    file.finish();
  }
  save_page(options, study, asked.base());
  print_result(options.output, rendered(study, options.output));
  if (first_report(study) != nullptr) return kYes;
  std::fprintf(stderr, "error[G009]: none of these can be planned\n");
  return kUsage;
}

}  // namespace

void add_whatif(Command& command) {
  auto options = std::make_shared<WhatIfOptions>();
  Subcommand sub = command.program.subcommand(
      "whatif", "Vary fields of a scenario: step times, what bounds each, and break-evens");
  add_scenario_options(sub, options->scenario);
  add_vary_option(sub, options->variations).required();
  add_output_options(sub, options->output);
  sub.option("--svg", options->svg, "Also draw step time over the first varied field")
      .writes_file();
  add_html_option(sub, options->html);
  add_jobs_option(sub, options->jobs);
  sub.runs([&command, options] { return whatif(*options, command.line); });
}

}  // namespace plait
