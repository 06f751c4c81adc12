#include "prediction/trials.h"

#include <optional>

#include "core/error.h"
#include "core/parallel.h"
#include "prediction/fill_axis.h"
#include "prediction/planned_step.h"

namespace plait {
namespace {

Trials::Peak peak_of(const Scenario& s) {
  const PlannedStep step = planned_step(s);
  const MemoryReport memory =
      summarize_memory(step.plan, s.cluster, memory_of(step, s), node_of(step.plan, s));
  return {memory.peak_memory_bytes, memory.fits};
}

}  // namespace

std::vector<Override> Trials::with(const Neighbour& neighbour) const {
  std::vector<Override> out = sets_;
  out.insert(out.end(), neighbour.sets.begin(), neighbour.sets.end());
  return out;
}

std::vector<Tried> Trials::run(const std::vector<const Neighbour*>& neighbours, bool analytic) {
  std::vector<Tried> out(neighbours.size());
  const auto predict_one = [&](std::size_t i) {
    std::vector<Override> all = with(*neighbours[i]);
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

std::vector<Trials::Peak> Trials::peaks(const std::vector<Neighbour>& neighbours) {
  std::vector<Peak> out(neighbours.size());
  in_parallel(out.size(), jobs_, [&](std::size_t i) {
    std::optional<Override> filled;
    try {
      out[i] = peak_of(parse_filled(text_, with(neighbours[i]), filled));
    } catch (const InputError&) {
      // It cannot be planned: its peak stays 0.
    }
  });
  return out;
}

Assignments made_by(const Tried& tried) {
  Assignments out = tried.neighbour->sets;
  if (tried.outcome.filled) out.push_back(*tried.outcome.filled);
  return out;
}

bool may_sketch(const Scenario& scenario) {
  return scenario.flow_network && !scenario.cluster.shares_memory();
}

}  // namespace plait
