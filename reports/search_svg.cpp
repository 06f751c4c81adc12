// The front of a search: step time over memory, with the layouts that it is compared with.

#include <fmt/format.h>

#include <algorithm>

#include "reports/curve_svg.h"
#include "reports/search.h"

namespace plait {
namespace {

constexpr double kGib = 1 << 30;

CurvePoint point_of(const SearchRow& row) {
  const Report& r = row.report;
  return {static_cast<double>(r.memory.peak_memory_bytes) / kGib, r.step_time_s, r.bound_by,
          !r.memory.fits};
}

/// Six steps or so, up to `most` or beyond it: the axis ends with the last.
void add_ticks(CurveChart& chart, double most) {
  constexpr double kSteps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
  double step = kSteps[0];
  for (const double s : kSteps) {
    if (most / step > 8) step = s;
  }
  for (double x = 0; x < most + step; x += step) {
    chart.ticks.push_back(x);
    chart.tick_texts.push_back(fmt::format("{:g} GiB", x));
  }
}

}  // namespace

std::string search_svg(const SearchReport& s) {
  CurveChart chart;
  chart.title = fmt::format("{}: the fastest layout for each amount of memory", s.scenario);
  chart.x_title = "memory of the fullest rank", chart.y_title = "step time, s";
  chart.mark_title = "bound by", chart.hollow_title = "does not fit";
  for (const SearchRow& row : s.front) {
    const std::string name = row.machine.empty() ? "the fastest" : machine_words(row.machine);
    auto curve = std::ranges::find(chart.curves, name, &Curve::name);
    if (curve == chart.curves.end()) curve = chart.curves.insert(curve, {name, {}});
    curve->points.push_back(point_of(row));
  }
  for (Curve& curve : chart.curves) std::ranges::sort(curve.points, {}, &CurvePoint::x);
  for (const auto& [name, row] :
       {std::pair{"as written", &s.own}, {"rule of thumb", &s.rule_of_thumb}}) {
    if (*row) chart.curves.push_back({name, {point_of(**row)}});
  }
  double most = 0;
  for (const Curve& c : chart.curves) {
    for (const CurvePoint& p : c.points) most = std::max(most, p.x);
  }
  add_ticks(chart, most);
  return curve_svg(chart);
}

}  // namespace plait
