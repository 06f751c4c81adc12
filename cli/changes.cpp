#include "cli/changes.h"

#include <fmt/format.h>

#include "reports/human.h"
#include "reports/vary.h"

namespace plait {
namespace {

constexpr int kTimeWidth = 10, kChangeWidth = 9, kMemoryWidth = 11;

std::vector<Line> improvement_lines(const Improvements& found, double step_time_s) {
  std::vector<Line> out = {{},
                           {{"changes of the layout that help most, each by itself", Ink::kBold}}};
  const int width = set_options_width(found.best);
  for (const Improvement& i : found.best) {
    const double change = i.report.step_time_s / step_time_s - 1;
    out.push_back({{"  " + pad_right(set_options(i.sets), width)},
                   {pad_left(human_time(i.report.step_time_s), kTimeWidth)},
                   {pad_left(human_change(change), kChangeWidth), Ink::kGood},
                   {pad_left(human_bytes(i.report.memory.peak_memory_bytes), kMemoryWidth)}});
  }
  if (found.best.empty()) out.push_back({{"  none makes the step shorter"}});
  out.push_back({{fmt::format("  of {} tried {} can be planned and {} fit; plait search combines "
                              "sizes, schedules and recomputation",
                              found.tried, found.planned, found.fit),
                  Ink::kDim}});
  return out;
}

}  // namespace

Changes::Changes(const ScenarioText& text, const std::vector<Override>& sets,
                 const Scenario& scenario, const Report& now, int jobs)
    : fits_(now.memory.fits), step_time_s_(now.step_time_s) {
  if (!fits_) {
    cures_ = cures(scenario);
    return;
  }
  Evaluator evaluator(now.run.command);
  improvements_ = improvements(text, sets, scenario, now, evaluator, jobs);
}

const char* Changes::key() const { return fits_ ? "changes_that_help" : "changes_that_fit"; }

nlohmann::ordered_json Changes::json() const {
  return fits_ ? improvements_json(improvements_, step_time_s_) : cures_json(cures_);
}

std::vector<Line> Changes::lines() const {
  return fits_ ? improvement_lines(improvements_, step_time_s_) : cure_lines(cures_);
}

}  // namespace plait
