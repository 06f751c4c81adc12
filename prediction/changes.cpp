#include "prediction/changes.h"

#include "prediction/cures.h"
#include "prediction/improvements.h"

namespace plait {

Changes changes_of(const ScenarioText& text, const std::vector<Override>& sets,
                   const Scenario& scenario, const Report& now, int jobs, const Watch& watch) {
  Changes out = {now.memory.fits, now.step_time_s, {}, {}};
  if (out.fits) {
    Evaluator evaluator(now.run.command);
    out.improvements = improvements(text, sets, scenario, now, evaluator, jobs, watch);
  } else {
    out.cures = cures(scenario);
  }
  return out;
}

}  // namespace plait
