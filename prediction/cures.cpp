#include "prediction/cures.h"

#include <fmt/format.h>

#include <optional>

#include "core/error.h"
#include "prediction/planned_step.h"
#include "reports/report.h"

namespace plait {
namespace {

/// A changed layout and how to ask for it.
struct Change {
  Strategy strategy;
  Workload workload;
  std::vector<Override> sets;
};

Override set_to(const char* path, std::int64_t value) { return {path, fmt::format("{}", value)}; }

void add_state_sharding(const Change& from, std::vector<Change>& out) {
  const Strategy& s = from.strategy;
  if (s.mesh.size_of(s.shard_axes()) > 1) {
    for (int stage = s.zero_stage + 1; stage <= 3; ++stage) {
      Change c = from;
      c.strategy.zero_stage = stage;
      c.sets.push_back(set_to("strategy.zero_stage", stage));
      out.push_back(std::move(c));
    }
  }
  if (s.mesh.size_of(kTensorAxes) > 1 && !s.sequence_parallel) {
    Change c = from;
    c.strategy.sequence_parallel = true;
    c.sets.push_back({"strategy.sequence_parallel", "true"});
    out.push_back(std::move(c));
  }
}

void add_less_activation(const Change& from, std::vector<Change>& out) {
  for (std::int64_t b = from.workload.micro_batch / 2; b >= 1; b /= 2) {
    Change c = from;
    c.workload.micro_batch = b;
    c.sets.push_back(set_to("workload.micro_batch", b));
    out.push_back(std::move(c));
  }
  const RecomputeOptions& r = from.strategy.recompute;
  const auto recompute = [&](Recompute kind, const char* name) {
    Change c = from;
    c.strategy.recompute = {kind, -1};
    c.sets.push_back({"strategy.recompute", name});
    out.push_back(std::move(c));
  };
  if (r.kind == Recompute::kNone) recompute(Recompute::kSelective, "selective");
  if (r.kind != Recompute::kFull || r.layers >= 0 || r.every > 1)
    recompute(Recompute::kFull, "full");
}

/// Ranks move from a data-parallel axis to tp or pp; tensor groups stay inside of a node.
void add_model_sharding(const Change& from, std::int64_t node, std::vector<Change>& out) {
  if (!from.strategy.pipeline.stage_tp.empty()) return;  // the list says what each stage has
  const Mesh& mesh = from.strategy.mesh;
  const Axis data = mesh[Axis::kFsdp] > 1 ? Axis::kFsdp : Axis::kDp;
  for (const Axis axis : {Axis::kTp, Axis::kPp}) {
    for (std::int64_t factor = 2; factor <= 8 && mesh[data] % factor == 0; factor *= 2) {
      const bool tensor = axis == Axis::kTp;
      const std::int64_t size = mesh.size_of(tensor ? kTensorAxes : AxisSet(axis)) * factor;
      if (tensor && size > node) break;
      Change c = from;
      if (tensor) {
        c.strategy.split_layers(size);
      } else {
        c.strategy.mesh[axis] = size;
      }
      c.strategy.mesh[data] /= factor;
      c.sets.push_back(set_to(tensor ? "strategy.tp" : "strategy.pp", size));
      c.sets.push_back(
          set_to(data == Axis::kDp ? "strategy.dp" : "strategy.fsdp", c.strategy.mesh[data]));
      out.push_back(std::move(c));
    }
  }
}

std::vector<Change> changes(const Change& from, const Cluster& cluster) {
  std::vector<Change> out;
  add_state_sharding(from, out);
  add_less_activation(from, out);
  add_model_sharding(from, cluster.devices_per_node, out);
  return out;
}

/// Peak with the change, when it can be planned and fits.
std::optional<std::int64_t> fitting_peak(const Scenario& s, const Change& c) {
  try {
    Scenario changed = s;
    changed.workload = c.workload, changed.strategy = c.strategy;
    const PlannedStep step = planned_step(changed);
    const MemoryReport m =
        summarize_memory(step.plan, s.cluster, memory_of(step, changed), node_of(step.plan, s));
    if (m.fits) return m.peak_memory_bytes;
  } catch (const InputError&) {
    // This combination cannot be planned: no cure.
  }
  return std::nullopt;
}

std::vector<Cure> fitting(const Scenario& s, const std::vector<Change>& tried, std::size_t most) {
  std::vector<Cure> out;
  for (const Change& c : tried) {
    if (out.size() == most) break;
    if (const auto peak = fitting_peak(s, c)) out.push_back({c.sets, *peak});
  }
  return out;
}

bool same_field(const Change& a, const Change& b) {
  for (const Override& x : a.sets) {
    for (const Override& y : b.sets) {
      if (&x != &y && x.path == y.path) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Cure> cures(const Scenario& scenario, std::size_t most) {
  const std::vector<Change> single =
      changes({scenario.strategy, scenario.workload, {}}, scenario.cluster);
  std::vector<Cure> out = fitting(scenario, single, most);
  if (!out.empty()) return out;
  std::vector<Change> pairs;
  for (const Change& first : single) {
    for (Change& second : changes(first, scenario.cluster)) {
      const Change added{{},
                         {},
                         {second.sets.begin() + static_cast<std::ptrdiff_t>(first.sets.size()),
                          second.sets.end()}};
      if (!same_field(first, added)) pairs.push_back(std::move(second));
    }
  }
  return fitting(scenario, pairs, most);
}

}  // namespace plait
