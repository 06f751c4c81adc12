#include "prediction/improvements.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/parallel.h"
#include "search/neighbours.h"

namespace plait {
namespace {

/// Changes that save less are not worth making: pages show tenths of a percent.
constexpr double kLeastGain = 0.001;

struct Tried {
  const Neighbour* neighbour = nullptr;
  Outcome outcome;
};

std::vector<Override> with(std::vector<Override> sets, const Assignments& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

class Trials {
 public:
  Trials(const ScenarioText& text, const std::vector<Override>& sets, Evaluator& evaluator,
         int jobs, const Watch& watch)
      : text_(text), sets_(sets), evaluator_(evaluator), jobs_(jobs), watch_(watch) {}

  /// Each on its own, in the order of `neighbours`.
  std::vector<Tried> run(const std::vector<const Neighbour*>& neighbours, bool analytic) {
    std::vector<Tried> out(neighbours.size());
    const auto predict_one = [&](std::size_t i) {
      std::vector<Override> all = with(sets_, neighbours[i]->sets);
      if (analytic) all.push_back({"network", "analytic"});
      out[i].neighbour = neighbours[i];
      try {
        out[i].outcome = evaluator_({&text_, std::move(all), true});
      } catch (const InputError&) {
        // Not of the layout, but of something that it would take: no improvement.
      }
    };
    in_parallel(out.size(), jobs_, predict_one, [&](std::size_t done) {
      if (watch_) watch_(static_cast<std::int64_t>(done), static_cast<std::int64_t>(out.size()));
    });
    return out;
  }

 private:
  const ScenarioText& text_;
  const std::vector<Override>& sets_;
  Evaluator& evaluator_;
  int jobs_;
  const Watch& watch_;
};

bool helps(const Tried& t, double than) {
  return t.outcome.report && t.outcome.report->memory.fits &&
         t.outcome.report->step_time_s < than * (1 - kLeastGain);
}

/// Those that help, the fastest first.
void keep_faster(std::vector<Tried>& tried, double than) {
  std::erase_if(tried, [&](const Tried& t) { return !helps(t, than); });
  std::ranges::stable_sort(tried, {}, [](const Tried& t) { return t.outcome.report->step_time_s; });
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

/// What the analytic network says of the scenario as it is: it is quicker than the flow network,
/// and says what is worth a look, but for parts of a GPU and where it has no answer.
std::optional<Report> sketch_of(const Scenario& scenario, Trials& trials) {
  if (!scenario.flow_network || scenario.cluster.shares_memory()) return std::nullopt;
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
    if (t.outcome.report->memory.fits) ++out.fit;
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
    Assignments made = t.neighbour->sets;
    if (t.outcome.filled) made.push_back(*t.outcome.filled);
    out.best.push_back({std::move(made), std::move(*t.outcome.report)});
  }
  return out;
}

}  // namespace plait
