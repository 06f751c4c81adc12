// The curves of a what-if study: time over the first knob.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/bound.h"
#include "reports/curve_svg.h"
#include "reports/whatif.h"

namespace plait {
namespace {

struct TimeUnit {
  const char* name;
  double scale;
};

TimeUnit unit_for(double longest_s) {
  constexpr double kDay = 86400;
  if (longest_s >= kDay) return {"days", 1 / kDay};
  if (longest_s >= 1) return {"s", 1};
  if (longest_s >= 1e-3) return {"ms", 1e3};
  return {"us", 1e6};
}

double longest(const WhatIf& study) {
  double out = 0;
  for (const WhatIfPoint& p : study.points)
    out = std::max(out, p.report ? compared_time_s(*p.report) : 0);
  return out;
}

void set_x_axis(const Knob& knob, CurveChart& chart) {
  for (std::size_t k = 0; k < knob.values.size(); ++k) {
    const double x = knob.numeric() ? knob.measures[k].number : static_cast<double>(k);
    if (std::ranges::find(chart.ticks, x) != chart.ticks.end()) continue;
    chart.ticks.push_back(x);
    chart.tick_texts.push_back(knob.numeric() ? fmt::format("{:.10g}", x) : knob.values[k]);
  }
  chart.categories = !knob.numeric();
  chart.log_x = knob.numeric() && spans_widely(chart.ticks);
  const std::string_view unit = knob.numeric() ? knob.measures.front().unit.name : "";
  chart.x_title = unit.empty() ? knob.path : fmt::format("{} ({})", knob.path, unit);
}

}  // namespace

std::string whatif_svg(const WhatIf& study) {
  const Knob& knob = study.knobs.front();
  const TimeUnit unit = unit_for(longest(study));
  CurveChart chart;
  chart.title = study.scenario;
  chart.y_title =
      fmt::format("{} time ({})", compares_trainings(study) ? "training" : "step", unit.name);
  chart.mark_title = "bound by:";
  chart.hollow_title = "does not fit in memory";
  set_x_axis(knob, chart);
  std::map<std::string, std::size_t> known;  // curve by name
  const std::size_t each = study.points.size() / knob.values.size();
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const WhatIfPoint& p = study.points[i];
    const auto [at, fresh] = known.emplace(
        name_of_others(study, {p.values.begin() + 1, p.values.end()}), chart.curves.size());
    if (fresh) chart.curves.push_back({at->first, {}});
    const std::size_t k = i / each;
    const double x = knob.numeric() ? knob.measures[k].number : static_cast<double>(k);
    if (!p.report) {
      chart.curves[at->second].gaps.push_back(x);
      continue;
    }
    chart.curves[at->second].points.push_back(
        {x, compared_time_s(*p.report) * unit.scale, bound_of(*p.report), !p.report->memory.fits});
  }
  for (Curve& c : chart.curves) std::ranges::stable_sort(c.points, {}, &CurvePoint::x);
  return curve_svg(chart);
}

}  // namespace plait
