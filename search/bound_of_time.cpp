// The step time of a layout at least: on each stage its passes and what it waits for, its exchanges
// behind them, or what it gathers.
#include <algorithm>

#include "search/bounds.h"

namespace plait {

/// What the gathers of zero_stage 3 take, one after the other: of each layer in each pass that uses
/// it anew, n of N. All that they take, less N - n times the longest, and n times the shortest.
SimTime Bounds::gathers(const PipelineCosts& stages, const Parts& parts, bool waits) const {
  const Layout& l = stages.l;
  const std::int64_t m = stages.microbatches, layers = parts.all_layers();
  const std::int64_t uses = l.reshard ? 2 * m : l.pp > 1 ? 1 : m;
  std::int64_t not_anew = l.reshard ? m * 2 * l.chunks : l.pp > 1 ? 0 : m;
  // A first layer's backward pass may read no frozen weights.
  if (l.reshard && scenario_.workload.lora.any()) not_anew += m;
  // A stage that runs into its next step has gathered ahead by the first pass of it.
  if (!waits) not_anew += 1 + l.prefetch;
  SimTime all = 0;
  for (std::size_t k = 0; k < kinds_.count(); ++k) {
    all += uses * parts.layers(k) * stages.of_layer(k, &UnitCosts::gather);
  }
  const auto each = [&](std::size_t kind) { return stages.of_layer(kind, &UnitCosts::gather); };
  const std::int64_t anew = std::max<std::int64_t>(0, uses * layers - not_anew);
  return std::max(all - not_anew * kinds_.most(each), anew * kinds_.least(each));
}

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
      const bool in_turn = !scenario_.strategy.zero_plus_plus.quantized_gradients;
      out = std::max(out, gathers(stages, parts, waits) + (in_turn ? m * reduced : 0));
    }
  }
  if (joined) return std::max(out, passes + update);
  // The first stage ends last, unless it is ahead of the others.
  return stages.split ? out : std::max(out, passes + update_of_first);
}

}  // namespace plait
