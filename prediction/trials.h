#pragma once
// Changes of a layout, each tried on its own.

#include <cstdint>
#include <vector>

#include "core/watch.h"
#include "prediction/evaluate.h"
#include "reports/changes.h"
#include "search/neighbours.h"

namespace plait {

/// A neighbour and its prediction.
struct Tried {
  const Neighbour* neighbour = nullptr;
  Outcome outcome;
  bool fits() const { return outcome.report && outcome.report->memory.fits; }
  double step_time_s() const { return outcome.report->step_time_s; }
};

class Trials {
 public:
  /// Of `text` with `sets`, on `jobs` threads. All of them outlive it.
  Trials(const ScenarioText& text, const std::vector<Override>& sets, Evaluator& evaluator,
         int jobs, const Watch& watch)
      : text_(text), sets_(sets), evaluator_(evaluator), jobs_(jobs), watch_(watch) {}

  /// In the order of `neighbours`. `analytic`: with that network, whatever the scenario asks for.
  std::vector<Tried> run(const std::vector<const Neighbour*>& neighbours, bool analytic);
  struct Peak {
    std::int64_t bytes = 0;  // of the fullest rank; 0: it cannot be planned
    bool fits = false;
  };
  /// Of each, which takes a plan and no simulation.
  std::vector<Peak> peaks(const std::vector<Neighbour>& neighbours);

 private:
  std::vector<Override> with(const Neighbour& neighbour) const;

  const ScenarioText& text_;
  const std::vector<Override>& sets_;
  Evaluator& evaluator_;
  int jobs_;
  const Watch& watch_;
};

/// What the neighbour sets, with the axis that gave way.
Assignments made_by(const Tried& tried);

/// Whether the analytic network, which is quicker than the flow network that the scenario asks for,
/// may say what is worth a look: it has no answer for parts of a GPU.
bool may_sketch(const Scenario& scenario);

}  // namespace plait
