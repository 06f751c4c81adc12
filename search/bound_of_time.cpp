// The step time of a layout at least: on each stage its passes and what it waits for, its exchanges
// behind them, or what it gathers.
#include <algorithm>

#include "search/bounds.h"

namespace plait {

SimTime Bounds::step(const PipelineCosts& stages) const {
  const Layout& l = stages.l;
  const bool joined = scenario_.workload.gradient_clipping;
  const std::int64_t m = stages.microbatches;
  // Where nothing holds the stages together at the end of a step, those that split the backward
  // pass fill their first wait with the step before.
  const bool waits = !stages.split || joined;
  SimTime out = 0, passes = 0, update = 0, update_of_first = 0;
  // Stages between the ends are alike; the last of them waits longest.
  for (std::int64_t s = 0; s < l.pp; s = std::max<std::int64_t>(s + 1, l.pp - 2)) {
    const Parts parts = stages.pieces.parts_of_stage(s);
    const SimTime worked = (waits ? stages.fill(s) : 0) + stages.work(parts);
    const SimTime own_update = stages.of(parts, &UnitCosts::update);
    const SimTime reduced = stages.of(parts, &UnitCosts::reduce);
    passes = std::max(passes, worked + (stages.split ? 0 : stages.drain(s)));
    update = std::max(update, own_update);
    if (s == 0) update_of_first = own_update;
    // What the stage's own exchanges end behind.
    SimTime exchanged = worked;
    if (l.zero_stage >= 2) {
      exchanged = std::max(exchanged, m * reduced);
    } else if (!scenario_.strategy.data.overlap) {
      exchanged += reduced;
    } else if (!stages.split) {
      // Gradients of its first piece are complete in the last backward pass.
      const Parts first = stages.pieces.parts(s);
      exchanged = std::max(exchanged, worked - stages.of(first, &PassTimes::backward) +
                                          stages.of(first, &UnitCosts::reduce));
    }
    // Without a common end each unit is updated when its own gradient is there.
    out = std::max(out, joined ? exchanged + own_update : std::max(exchanged, worked + own_update));
    if (l.zero_stage == 3) {
      const std::int64_t n = parts.layers(kDenseLayer) + parts.layers(kMoeLayer);
      const std::int64_t all = l.reshard ? m * (2 * n - 2 * l.chunks) : l.pp > 1 ? n : m * (n - 1);
      // A stage that runs into its next step has gathered ahead by the first pass of it.
      const std::int64_t gathers = std::max<std::int64_t>(0, all - (waits ? 0 : 1 + l.prefetch));
      const bool in_turn = !scenario_.strategy.zero_plus_plus.quantized_gradients;
      const SimTime each = stages.pieces.kinds.least(
          [&](std::size_t kind) { return stages.x.layer(kind, &UnitCosts::gather); });
      out = std::max(out, gathers * each + (in_turn ? m * reduced : 0));
    }
  }
  if (joined) return std::max(out, passes + update);
  // The first stage ends last, unless it is ahead of the others.
  return stages.split ? out : std::max(out, passes + update_of_first);
}

}  // namespace plait
