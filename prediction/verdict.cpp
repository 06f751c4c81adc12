#include "prediction/verdict.h"

#include "prediction/cures.h"

namespace plait {

Verdict verdict_on(const Scenario& s) {
  Verdict v;
  v.step = planned_step(s);
  const Plan& plan = v.step.plan;
  require_sound(plan);
  require_machine(plan, s);
  v.memory = summarize_memory(plan, s.cluster, memory_of(v.step, s), node_of(plan, s));
  if (!v.memory.fits) v.cures = cures(s);
  return v;
}

}  // namespace plait
