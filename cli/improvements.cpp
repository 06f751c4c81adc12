#include "cli/improvements.h"

#include <algorithm>
#include <set>
#include <thread>

#include "cli/progress.h"
#include "core/error.h"

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
  Trials(const ScenarioText& text, const std::vector<Override>& sets, Evaluator& evaluator)
      : text_(text), sets_(sets), evaluator_(evaluator) {}

  /// Each on its own, in the order of `neighbours`.
  std::vector<Tried> run(const std::vector<const Neighbour*>& neighbours, bool analytic) {
    std::vector<Tried> out(neighbours.size());
    const int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    ProgressLine progress;
    const auto predict_one = [&](std::size_t i) {
      std::vector<Override> all = with(sets_, neighbours[i]->sets);
      if (analytic) all.emplace_back("network", "analytic");
      out[i].neighbour = neighbours[i];
      try {
        out[i].outcome = evaluator_({&text_, std::move(all), true});
      } catch (const InputError&) {
        // Not of the layout, but of something that it would take: no improvement.
      }
    };
    in_parallel(out.size(), jobs, predict_one,
                [&](std::size_t done) { progress(done, out.size(), "changes of the layout"); });
    progress.finish();
    return out;
  }

 private:
  const ScenarioText& text_;
  const std::vector<Override>& sets_;
  Evaluator& evaluator_;
};

bool helps(const Tried& t, double than) {
  return t.outcome.report && t.outcome.report->memory.fits &&
         t.outcome.report->step_time_s < than * (1 - kLeastGain);
}

void sort_by_time(std::vector<Tried>& tried) {
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

}  // namespace

Improvements improvements(const ScenarioText& text, const std::vector<Override>& sets,
                          const Scenario& scenario, const Report& now, Evaluator& evaluator,
                          std::size_t most) {
  const std::vector<Neighbour> all = neighbours(scenario);
  const Neighbour unchanged;
  std::vector<const Neighbour*> asked;
  for (const Neighbour& n : all) asked.push_back(&n);
  Trials trials(text, sets, evaluator);
  double than = now.step_time_s;
  // The analytic network, which is quicker, says what is worth a look, but for parts of a GPU.
  const bool two_looks = scenario.flow_network && !scenario.cluster.shares_memory();
  if (two_looks) {
    than = trials.run({&unchanged}, true).front().outcome.report->step_time_s;
  }
  std::vector<Tried> tried = trials.run(asked, two_looks);
  Improvements out;
  out.tried = tried.size();
  for (const Tried& t : tried) {
    if (!t.outcome.report) continue;
    ++out.planned;
    if (t.outcome.report->memory.fits) ++out.fit;
  }
  std::erase_if(tried, [&](const Tried& t) { return !helps(t, than); });
  sort_by_time(tried);
  tried = one_of_each(tried, most);
  if (two_looks && !tried.empty()) {
    asked.clear();
    for (const Tried& t : tried) asked.push_back(t.neighbour);
    tried = trials.run(asked, false);
    std::erase_if(tried, [&](const Tried& t) { return !helps(t, now.step_time_s); });
    sort_by_time(tried);
  }
  for (Tried& t : tried) {
    Assignments made = t.neighbour->sets;
    if (t.outcome.filled) made.push_back(*t.outcome.filled);
    out.best.push_back({std::move(made), std::move(*t.outcome.report)});
  }
  return out;
}

nlohmann::ordered_json improvements_json(const Improvements& found, double step_time_s) {
  nlohmann::ordered_json best = nlohmann::ordered_json::array();
  for (const Improvement& i : found.best) {
    nlohmann::ordered_json sets = nlohmann::ordered_json::object();
    for (const auto& [path, value] : i.sets) sets[path] = value;
    best.push_back({{"set", std::move(sets)},
                    {"step_time_s", i.report.step_time_s},
                    {"step_time_change", i.report.step_time_s / step_time_s - 1},
                    {"peak_memory_bytes", i.report.memory.peak_memory_bytes},
                    {"bound_by", i.report.bound_by}});
  }
  return {{"tried", found.tried},
          {"planned", found.planned},
          {"fit", found.fit},
          {"step_time_s", step_time_s},
          {"best", std::move(best)}};
}

}  // namespace plait
