#include "sim/explain.h"

#include <map>
#include <string>
#include <utility>

#include "sim/breakdown.h"
#include "sim/critical_path.h"
#include "sim/recorded_step.h"

namespace plait {
namespace {

std::string verdict(const Explanation& e) {
  std::map<std::string, double> groups;
  double computing = 0;
  // A host that binds is behind by little at each op; its whole path counts.
  for (const Share& s : e.critical_path) {
    if (s.group == "host") groups["host"] += s.time.value;
  }
  for (const Share& s : e.breakdown) {
    const bool comm = s.group == "exposed_communication";
    if (s.group == "host") continue;
    if (s.group == "compute" || s.group == "recompute")
      computing += s.time.value;
    else
      groups[comm                  ? "communication over " + s.name
             : s.group == "bubble" ? "pipeline bubble"
                                   : s.group] += s.time.value;
  }
  std::string best = "compute";
  for (const auto& [name, time] : groups) {
    if (time > computing) best = name, computing = time;
  }
  return best;
}

}  // namespace

Explanation explain(const Plan& plan, const Simulation& simulation, const FurtherPeriods& further) {
  const RecordedStep step(plan, simulation);
  CriticalPath path = critical_path(step, further);
  Explanation out = {breakdown(step, further), std::move(path.shares), std::move(path.sensitivity),
                     ""};
  out.bound_by = verdict(out);
  return out;
}

}  // namespace plait
