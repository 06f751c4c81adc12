#include "search/work.h"

#include <algorithm>
#include <mutex>

#include "core/parallel.h"

namespace plait {
namespace {

/// Layouts that a thread bounds at a time.
constexpr std::size_t kBoundsAtOnce = 4096;

}  // namespace

SearchWork::SearchWork(const Scenario& scenario, const CostModel& costs, const Space& space,
                       int threads)
    : scenario_(scenario),
      costs_(costs),
      bounds_(scenario, costs),
      layouts_(all_layouts(
          {space, scenario.model, scenario.workload, scenario.cluster.world_size(),
           layout_of(scenario.strategy, scenario.workload), scenario.strategy.expert_axes},
          threads)) {}

Answers SearchWork::answer(const Question& q, int threads, const Heard& heard) {
  Answers out(q.layouts.size());
  const bool simulates = q.kind == Question::Kind::kSimulate;
  if (!simulates) bounds_.prepare(layouts_, q.layouts, threads);
  const auto work = [&](std::size_t i) {
    const Layout& layout = layouts_[q.layouts[i]];
    switch (q.kind) {
      case Question::Kind::kBound: out[i] = bound(layout); break;
      case Question::Kind::kCloserBound: out[i].step = bounds_.closer(layout); break;
      case Question::Kind::kSimulate: out[i] = simulated(layout, q.limit); break;
    }
  };
  const std::size_t piece = q.kind == Question::Kind::kBound ? kBoundsAtOnce : 1;
  std::mutex mutex;
  in_pieces(out.size(), piece, threads, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) work(i);
    if (!heard) return;
    const std::lock_guard lock(mutex);
    for (std::size_t i = begin; i < end; ++i) heard(i, out[i]);
  });
  return out;
}

Answer SearchWork::bound(const Layout& layout) const {
  const std::optional<LowerBound> found = bounds_(layout);
  return found ? Answer{found->step, found->memory.value} : Answer{};
}

Answer SearchWork::simulated(const Layout& layout, SimTime limit) const {
  const std::optional<Evaluation> e = evaluate(scenario_, costs_, layout, limit);
  return e ? Answer{e->step, e->memory.value, e->room.value} : Answer{};
}

}  // namespace plait
