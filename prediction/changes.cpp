#include "prediction/changes.h"

#include "prediction/cures.h"
#include "prediction/improvements.h"

namespace plait {

Changes changes_of(const ScenarioText& text, const std::vector<Override>& sets,
                   const Scenario& scenario, const Report& now, int jobs, const Watch& watch) {
  Changes out = {now.memory.fits, now.step_time_s, {}, {}};
  Evaluator evaluator(now.run.command);
  if (out.fits) {
    out.improvements = improvements(text, sets, scenario, now, evaluator, jobs, watch);
  } else {
    out.cures = cures(text, sets, scenario, now.memory.peak_memory_bytes, evaluator, jobs, watch);
  }
  return out;
}

}  // namespace plait
