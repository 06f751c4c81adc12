// The step time of a layout at least: on each stage its passes and what it waits for, its exchanges
// behind them, or what it gathers.
#include <algorithm>

#include "search/bounds.h"

namespace plait {

/// So many uses of layers by a stage come right behind another of the same layer, at most: one for
/// each pass.
std::int64_t Bounds::most_in_a_row(const PipelineCosts& stages) const {
  const Layout& l = stages.l;
  const std::int64_t m = stages.microbatches;
  if (stages.gathers_once()) return 0;
  if (!l.reshard) return m;
  // A first layer's backward pass may read no frozen weights.
  return m * 2 * l.chunks + (scenario_.workload.lora.any() ? m : 0);
}

/// The same where the order of its passes is known: a pass begins with the layer that the one
/// before ended with if it goes through the same piece the other way, or if the piece has but one.
std::int64_t Bounds::in_a_row(const PipelineCosts& stages, std::int64_t stage,
                              const std::vector<Task>& tasks) const {
  const std::int64_t m = stages.microbatches;
  std::int64_t out = scenario_.workload.lora.any() ? m : 0;
  if (!scenario_.strategy.fsdp.reshard_last_layer) out += 2 * m;
  const Task* last = nullptr;
  for (const Task& task : tasks) {
    const std::int64_t layers =
        stages.pieces.layers(stages.pieces.places.piece_of(stage, task.chunk));
    if (task.pass == TaskPass::kWeightGrad || layers == 0) continue;
    const bool again = last != nullptr && last->chunk == task.chunk;
    if (again && (layers == 1 || last->pass != task.pass)) ++out;
    last = &task;
  }
  return out;
}

/// Of the gathers of zero_stage 3, one after the other: of each layer in each pass that uses it
/// anew, n of N uses. All that they have of it, less N - n times the most, and n times the least.
SimTime Bounds::gathers(const PipelineCosts& stages, const Parts& parts, SimTime UnitCosts::*what,
                        std::int64_t not_anew) const {
  const Layout& l = stages.l;
  const std::int64_t m = stages.microbatches, layers = parts.all_layers();
  const std::int64_t uses = stages.gathers_once() ? 1 : l.reshard ? 2 * m : m;
  SimTime all = 0;
  for (std::size_t k = 0; k < kinds_.count(); ++k) {
    all += uses * parts.layers(k) * stages.of_layer(k, what);
  }
  const auto each = [&](std::size_t kind) { return stages.of_layer(kind, what); };
  const std::int64_t anew = std::max<std::int64_t>(0, uses * layers - not_anew);
  return std::max(all - not_anew * kinds_.most(each), anew * kinds_.least(each));
}

/// The stream of gathers, which reductions share. A stage that runs into its next step has gathered
/// ahead by the first pass of it.
SimTime Bounds::gathers_and_reductions(const PipelineCosts& stages, const Parts& parts,
                                       std::int64_t not_anew) const {
  const bool waits = !stages.split || scenario_.workload.gradient_clipping;
  const SimTime reduced = stages.reductions() * stages.of(parts, &UnitCosts::reduce);
  const std::int64_t ahead = waits ? 0 : 1 + stages.l.prefetch;
  return gathers(stages, parts, &UnitCosts::gather, not_anew + ahead) + reduced;
}

/// With kernels slowed down by the exchanges of zero_stage 2 and 3, which start behind the kernels
/// that were issued before them: reductions of layers behind each backward pass, gathers behind a
/// pass before the one that needs them. Of a time d beside kernels, an exchange that holds a share
/// h takes h d from them, but where compute waits all the same, or in the drain.
SimTime Bounds::slowed_passes(const PipelineCosts& stages, const StagePasses& passes,
                              std::int64_t not_anew) const {
  const Layout& l = stages.l;
  if (l.zero_stage < 2 || stages.sums_whole || stages.pairs || stages.pieces.places.both_ways())
    return 0;
  if (l.pp > 1 && !scenario_.workload.gradient_clipping) return 0;  // it runs into the next step
  const std::int64_t m = stages.microbatches;
  double held = 0;
  SimTime slows = 0;
  for (std::size_t k = 0; k < kinds_.count(); ++k) {
    slows += m * passes.parts.layers(k) * stages.x.layers[k].reduce_slows;
    held = std::max(held, stages.x.layers[k].held);
  }
  // Weights' gradients that are made later stand between a pass and the gathers behind it.
  if (l.zero_stage == 3 && !stages.split) {
    slows += gathers(stages, passes.parts, &UnitCosts::gather_slows, not_anew + 1 + l.prefetch);
  }
  const SimTime apart = passes.waits + passes.drain + passes.behind_gradients;
  const auto lost = static_cast<double>(slows) - held * static_cast<double>(apart);
  return passes.fill + passes.kernels + passes.waits + passes.drain +
         static_cast<SimTime>(std::max(0.0, lost));
}

/// Of layers that are gathered for each pass, whose order is known.
SimTime Bounds::regathered(const PipelineCosts& stages, const Schedules::Tasks& tasks) const {
  SimTime out = 0;
  if (stages.l.zero_stage < 3 || !stages.l.reshard || stages.pairs || stages.sums_whole) return out;
  for (std::int64_t s = 0; s < stages.l.pp; ++s) {
    const StagePasses passes = stages.of_stage(s);
    const std::int64_t again = in_a_row(stages, s, tasks[static_cast<std::size_t>(s)]);
    out = std::max(out, gathers_and_reductions(stages, passes.parts, again));
    const SimTime update = stages.of(passes.parts, &UnitCosts::update);
    out = std::max(out, slowed_passes(stages, passes, again) + update);
  }
  return out;
}

SimTime Bounds::step(const PipelineCosts& stages, std::span<const StagePasses> of_stages) const {
  const Layout& l = stages.l;
  const bool joined = scenario_.workload.gradient_clipping;
  const std::int64_t m = stages.microbatches, not_anew = most_in_a_row(stages);
  // Where nothing holds the stages together at the end of a step, those that split the backward
  // pass fill their first wait with the step before.
  const bool waits = !stages.split || joined;
  // Sums of whole gradients over the two stages that have each piece, on whatever devices they are.
  const bool whole = stages.pieces.places.both_ways() && l.zero_stage < 2;
  SimTime out = 0, passes = 0, update = 0, update_of_first = 0;
  for (const StagePasses& stage : of_stages) {
    const SimTime worked = (waits ? stage.fill : 0) + stage.work;
    const SimTime own_update = stages.of(stage.parts, &UnitCosts::update);
    const SimTime reduced = whole ? 0 : stages.of(stage.parts, &UnitCosts::reduce);
    passes = std::max(passes, worked + stage.drain);
    passes = std::max(passes, slowed_passes(stages, stage, not_anew));
    update = std::max(update, own_update);
    if (stage.stage == 0) update_of_first = own_update;
    // What the stage's own exchanges end behind.
    SimTime exchanged = worked;
    if (stages.reduces_each()) {
      exchanged = std::max(exchanged, m * reduced);
    } else if (stages.sums_whole && l.pp > 1) {
      exchanged += stages.reduced_last(stage.stage);
    } else if (!stages.sums_whole && !scenario_.strategy.data.overlap) {
      exchanged += reduced;
    } else if (!stages.split) {
      // Gradients of its first piece are complete in the last backward pass.
      const SimTime last = whole ? 0 : stages.of(stage.first, &UnitCosts::reduce);
      exchanged = std::max(exchanged, worked - stage.backward_of_first + last);
    }
    // Without a common end each unit is updated when its own gradient is there.
    out = std::max(out, joined ? exchanged + own_update : std::max(exchanged, worked + own_update));
    if (l.zero_stage == 3) {
      out = std::max(out, gathers_and_reductions(stages, stage.parts, not_anew));
    }
  }
  if (joined) return std::max(out, passes + update);
  // The first stage ends last, unless it is ahead of the others.
  return stages.split ? out : std::max(out, passes + update_of_first);
}

}  // namespace plait
