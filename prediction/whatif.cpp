#include "prediction/whatif.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/parallel.h"
#include "reports/bound.h"
#include "scenarios/overrides.h"

namespace plait {
namespace {

/// Of what is worse when it is too little and when it is too much nothing is "enough", nor of the
/// amount of work, nor of a price, which takes no time.
bool is_best_at_an_end(const std::string& path) {
  return path != "training.checkpoint.interval" && path != "training.tokens" &&
         path != "cluster.price_per_device_hour";
}

/// Curves beyond these are not compared with one another.
constexpr std::size_t kMostCurves = 8;

class WhatIfStudy {
 public:
  WhatIfStudy(const WhatIfQuestion& asked, const std::string& command_line, int jobs,
              const WhatIfWatch& watch)
      : asked_(asked), evaluator_(command_line, asked.prices), jobs_(jobs), watch_(watch) {
    study_.scenario = asked.base.name;
    study_.command = command_line;
    for (const Variation& v : asked.variations) {
      study_.knobs.push_back(make_knob(v, resolved_value(asked.base, v.path).value_or("")));
    }
  }

  WhatIf run() {
    evaluate_points();
    study_.warnings = evaluator_.warnings_of_prices();
    if (!study_.base.report) return std::move(study_);
    find_break_evens();
    find_crossovers();
    return std::move(study_);
  }

 private:
  void evaluate_points() {
    const std::vector<Assignments> all = combinations(asked_.variations);
    study_.points.resize(all.size());
    const auto evaluate = [&](std::size_t i) {
      if (i == 0) {
        study_.base = point({}, false);
        for (const Knob& k : study_.knobs) {
          study_.base.values.push_back(k.base.empty() ? "as is" : k.base);
        }
      } else {
        study_.points[i - 1] = point(all[i - 1], true);
        for (const Override& set : all[i - 1]) study_.points[i - 1].values.push_back(set.value);
      }
    };
    in_parallel(all.size() + 1, jobs_, evaluate,
                [&](std::size_t done) { watch_(done, all.size() + 1, "points"); });
  }
  WhatIfPoint point(const Assignments& changes, bool may_fill) {
    Outcome o = evaluator_(variant(changes, may_fill));
    return {{}, std::move(o.report), std::move(o.reason), std::move(o.filled)};
  }
  Variant variant(const Assignments& changes, bool may_fill) const {
    Variant out{&asked_.text, asked_.sets, may_fill};
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
    in_parallel(found.size(), jobs_, search,
                [&](std::size_t done) { watch_(done, found.size(), "break-evens"); });
    for (std::size_t k = 0; k < found.size(); ++k) {
      for (BreakEven& b : found[k]) {
        study_.findings.push_back({k, std::move(b)});
        if (study_.findings.back().found.kind == BreakEven::Kind::kNoEffect)
          find_use(study_.findings.back());
      }
    }
  }
  /// Whether anything depends on a field that has no effect on time.
  void find_use(KnobFinding& finding) {
    const auto low = report_at({set_to(finding.knob, finding.found.low)});
    const auto high = report_at({set_to(finding.knob, finding.found.high)});
    finding.changes_nothing = low && high && same_prediction(*low, *high);
    if (!finding.changes_nothing) return;
    std::vector<Override> sets = asked_.sets;
    sets.push_back(set_to(finding.knob, finding.found.high));
    for (const Warning& w : parse_scenario(asked_.text.text, asked_.text.file, sets).warnings) {
      if (w.code == "W001" && w.path == study_.knobs[finding.knob].path) finding.why = w.text;
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
        sets.push_back({study_.knobs[k + 1].path, values[k]});
      }
      const auto r = report_at(sets);
      return r ? compared_time_s(*r) : 0;
    };
    const double at = change_between(low, high, [&](double v) { return time(a, v) < time(b, v); });
    study_.crossovers.push_back({others(*at_left ? a : b), others(*at_left ? b : a), at});
  }

  const WhatIfQuestion& asked_;
  Evaluator evaluator_;
  int jobs_;
  const WhatIfWatch& watch_;
  WhatIf study_;
};

}  // namespace

WhatIf what_if(const WhatIfQuestion& asked, const std::string& command_line, int jobs,
               const WhatIfWatch& watch) {
  return WhatIfStudy(asked, command_line, jobs, watch).run();
}

}  // namespace plait
