#include "sim/explain.h"

#include <map>
#include <string>
#include <utility>

#include "sim/binding_members.h"
#include "sim/breakdown.h"
#include "sim/critical_path.h"
#include "sim/recorded_step.h"

namespace plait {
namespace {

bool computes(const Share& s) { return s.group == "compute" || s.group == "recompute"; }

/// What the chain that ends last is mostly made of. Stages that wait are not on it: where compute
/// is, the bubble is compared with the compute of all ranks.
std::string verdict(const Explanation& e, bool stages) {
  std::map<std::string, double> groups;
  double most = 0, computing = 0, bubble = 0;
  for (const Share& s : e.critical_path) {
    const bool comm = s.group == "exposed_communication";
    if (computes(s))
      most += s.time.value;
    else if (s.group != "bubble")
      groups[comm ? "communication over " + s.name : s.group] += s.time.value;
  }
  std::string best = "compute";
  for (const auto& [name, time] : groups) {
    if (time > most) best = name, most = time;
  }
  for (const Share& s : e.breakdown) {
    if (computes(s)) computing += s.time.value;
    if (s.group == "bubble") bubble += s.time.value;
  }
  if (best != "compute" || bubble <= computing) return best;
  return stages ? "pipeline bubble" : std::string(kWaiting);
}

}  // namespace

Explanation explain(const Plan& plan, const Simulation& simulation, const FurtherPeriods& further) {
  const RecordedStep step(plan, simulation);
  const BindingMembers members(step);
  CriticalPath path = critical_path(step, members, further);
  Explanation out = {breakdown(step, members, further), std::move(path.shares),
                     std::move(path.sensitivity), ""};
  out.bound_by = verdict(out, plan.programs.size() > 1);
  return out;
}

}  // namespace plait
