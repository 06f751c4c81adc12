#include "prediction/verdict.h"

namespace plait {

Verdict verdict_on(const Scenario& s) {
  Verdict v;
  v.step = planned_step(s);
  const Plan& plan = v.step.plan;
  require_sound(plan);
  require_machine(plan, s);
  v.memory = summarize_memory(plan, s.cluster, memory_of(v.step, s), node_of(plan, s));
  return v;
}

}  // namespace plait
