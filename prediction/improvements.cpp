#include "prediction/improvements.h"

#include <algorithm>
#include <optional>
#include <set>

#include "prediction/trials.h"

namespace plait {
namespace {

/// Changes that save less are not worth making: pages show tenths of a percent.
constexpr double kLeastGain = 0.001;

bool helps(const Tried& t, double than) {
  return t.fits() && t.step_time_s() < than * (1 - kLeastGain);
}

/// Those that help, the fastest first.
void keep_faster(std::vector<Tried>& tried, double than) {
  std::erase_if(tried, [&](const Tried& t) { return !helps(t, than); });
  std::ranges::stable_sort(tried, {}, &Tried::step_time_s);
}

/// The fastest of each decision.
std::vector<Tried> one_of_each(const std::vector<Tried>& sorted, std::size_t most) {
  std::vector<Tried> out;
  std::set<std::string> decided;
  for (const Tried& t : sorted) {
    if (out.size() < most && decided.insert(t.neighbour->decision).second) out.push_back(t);
  }
  return out;
}

/// What the analytic network says of the scenario as it is, where it may say what is worth a look.
std::optional<Report> sketch_of(const Scenario& scenario, Trials& trials) {
  if (!may_sketch(scenario)) return std::nullopt;
  const Neighbour unchanged;
  return trials.run({&unchanged}, true).front().outcome.report;
}

}  // namespace

Improvements improvements(const ScenarioText& text, const std::vector<Override>& sets,
                          const Scenario& scenario, const Report& now, Evaluator& evaluator,
                          int jobs, const Watch& watch, std::size_t most) {
  const std::vector<Neighbour> all = neighbours(scenario);
  std::vector<const Neighbour*> asked;
  for (const Neighbour& n : all) asked.push_back(&n);
  Trials trials(text, sets, evaluator, jobs, watch);
  const std::optional<Report> sketch = sketch_of(scenario, trials);
  std::vector<Tried> tried = trials.run(asked, sketch.has_value());
  Improvements out;
  out.tried = tried.size();
  for (const Tried& t : tried) {
    if (!t.outcome.report) continue;
    ++out.planned;
    if (t.fits()) ++out.fit;
  }
  keep_faster(tried, sketch ? sketch->step_time_s : now.step_time_s);
  tried = one_of_each(tried, most);
  if (sketch && !tried.empty()) {
    asked.clear();
    for (const Tried& t : tried) asked.push_back(t.neighbour);
    tried = trials.run(asked, false);
    keep_faster(tried, now.step_time_s);
  }
  for (Tried& t : tried) {
    out.best.push_back({made_by(t), std::move(*t.outcome.report)});
  }
  return out;
}

}  // namespace plait
