#include "sim/recorded_step.h"

#include <algorithm>
#include <map>

#include "core/error.h"

namespace plait {
namespace {

std::string axes_of(const Op& op) {
  if (const Collective* c = std::get_if<Collective>(&op.body)) return name_of(c->axes);
  if (const Send* s = std::get_if<Send>(&op.body)) return std::string(name_of(s->axis));
  if (const Recv* r = std::get_if<Recv>(&op.body)) return std::string(name_of(r->axis));
  return "";
}

std::pair<std::string, std::string> label_of(const Op& op) {
  if (op.phase == Phase::kOptimizer) return {"optimizer", std::string(name_of(op))};
  if (std::holds_alternative<Copy>(op.body) && op.stream != Stream::kCompute) {
    return {"offload", std::string(name_of(op.stream))};
  }
  const std::string axes = axes_of(op);
  if (!axes.empty()) return {"exposed_communication", axes};
  return {op.phase == Phase::kRecompute ? "recompute" : "compute", std::string(name_of(op))};
}

}  // namespace

RecordedStep::RecordedStep(const Plan& plan, const Simulation& sim)
    : plan_(plan), sim_(sim), tracks_(sim.timeline.tracks) {
  PLAIT_CHECK(!tracks_.empty(), "only a recorded simulation can be explained");
  for (std::size_t s = 0; s < plan.programs.size(); ++s) ops_.push_back(flat_ops(plan, s));
  for (const Track& t : tracks_) {
    const std::vector<OpSite>& ops = ops_[static_cast<std::size_t>(t.stage)];
    causes_.push_back(causes(plan, *sim.dependencies, t, ops));
    issues_.push_back(issues(plan, *sim.durations, t, ops));
  }
  label_ops();
  waits_ = {add({"host", ""}), add({"bubble", ""}), add({"idle", ""})};
}

void RecordedStep::label_ops() {
  std::map<Label, std::size_t> known;
  for (const Block& b : plan_.blocks) {
    for (const Op& o : b.ops) {
      const auto [at, fresh] = known.emplace(label_of(o), names_.size());
      if (fresh) names_.push_back(at->first);
      labels_.push_back(at->second);
    }
  }
}

std::size_t RecordedStep::add(const Label& label) {
  names_.push_back(label);
  return names_.size() - 1;
}

std::vector<Share> RecordedStep::shares(const std::vector<Seconds>& time) const {
  std::vector<Share> out;
  for (std::size_t k = 0; k < names_.size(); ++k) {
    if (time[k].value != 0) out.push_back({names_[k].first, names_[k].second, time[k]});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Share& a, const Share& b) { return a.time > b.time; });
  return out;
}

}  // namespace plait
