// The memory of a layout at least: the state of training as it is sharded, and on the first and the
// last stage what their passes keep and the fullest moment of one of them.
#include <algorithm>

#include "search/bounds.h"

namespace plait {

Bytes Bounds::memory(const Layout& l, const Pieces& pieces, const PlannedSizes& sizes) const {
  const ShardSizes& c = sizes.kept;
  const Precision& p = scenario_.workload.precision;
  const auto state_on = [&](const Sharers& on, std::int64_t parameters) {
    const auto share = [&](int from_stage) { return on.zero_stage >= from_stage ? on.shards : 1; };
    std::int64_t out = on.zero_stage == 3 ? 0 : parameters * size_of(p.weights);
    out += parameters / share(2) * size_of(p.gradients);
    const std::int64_t optimizer =
        2 * size_of(p.moments) + (p.has_master() ? size_of(p.master) : 0);
    return out + parameters / share(1) * optimizer;
  };
  const Sharers all = sharers_of(l);
  const Sharers of_experts = sharers_of(l, scenario_.strategy.expert_axes);
  const auto state = [&](std::int64_t parameters) { return state_on(all, parameters); };
  const auto state_of_layers = [&](const Parts& parts) {
    const std::int64_t dense = parts.layers(kDenseLayer), moe = parts.layers(kMoeLayer);
    const LayerSizes& mixture = c.layers[kMoeLayer];
    return state(dense * c.layers[kDenseLayer].parameters + moe * mixture.parameters +
                 parts.modules * c.module) +
           (mixture.experts > 0 ? state_on(of_experts, moe * mixture.experts) : 0);
  };
  const std::int64_t m = microbatches(l);
  // Passes whose results the first and the last stage hold at once, of their smallest piece.
  std::int64_t held = 0, held_last = 1;
  switch (l.schedule) {
    case Schedule::kGpipe: held = held_last = m; break;
    case Schedule::kSequential: held = 1; break;
    case Schedule::k1f1b:
    case Schedule::kZbH1:
    case Schedule::kZb1p:
    case Schedule::kZb2p: held = std::min<std::int64_t>(l.pp, m); break;
    case Schedule::kZbV:
    case Schedule::kDualPipeV: held = std::min<std::int64_t>(2 * l.pp, m + 1); break;
    case Schedule::kDualPipe: held = std::min<std::int64_t>(l.pp, m + 1); break;
    case Schedule::kVHalf:
    case Schedule::kVMin: held = 2; break;  // both chunks of a microbatch
    case Schedule::kZbH2: held = std::min<std::int64_t>(2 * l.pp - 1, m); break;
    case Schedule::kInterleaved:
      held_last = std::min<std::int64_t>((l.chunks - 1) * l.pp + 1, m * l.chunks);
      held = std::min<std::int64_t>(2 * (l.pp - 1) + held_last, m * l.chunks);
      break;
  }
  if (l.pp == 1) held = 1;
  // The gathered weights of the unit that is at work.
  const auto at_work = [&](std::int64_t parameters) {
    return all.zero_stage == 3 ? parameters * size_of(p.weights) : 0;
  };
  const auto saved = [&](std::int64_t piece) {
    const Parts parts = pieces.parts(piece);
    std::int64_t out = 0;
    for (const std::size_t k : {kDenseLayer, kMoeLayer}) {
      out += parts.once[k] * c.layers[k].saved.value +
             parts.again[k] * sizes.again.layers[k].saved.value;
    }
    return out;
  };
  // Of a stage with several pieces the one that keeps least.
  const auto kept = [&](std::int64_t end_piece) {
    std::int64_t least = saved(end_piece);
    if (l.chunks > 1) least = std::min(least, saved(1));
    for (std::int64_t i = 0; kinds_.mixed() && l.chunks > 1 && i < pieces.count; ++i) {
      least = std::min(least, saved(i));
    }
    return least;
  };
  const bool meet =
      pieces.places.shape != PipelineShape::kLoop;     // the first stage has the head too
  const bool apart = kinds_.embeds_again && l.pp > 1;  // the embedding is on the last stage too
  const ShardSizes& ends = pieces.recomputes_all(0) ? sizes.again : c;
  const std::int64_t at_backward = kinds_.least([&](std::size_t kind) {
    return at_work(c.layers[kind].parameters) + ends.layers[kind].beside_backward.value;
  });
  const std::int64_t first = state(c.embedding + (meet ? c.head : 0)) +
                             state_of_layers(pieces.parts_of_stage(0)) + held * kept(0) +
                             at_backward;
  const std::int64_t last =
      state(meet ? 0 : c.head + (apart ? c.embedding : 0)) +
      state_of_layers(pieces.parts_of_stage(l.pp - 1)) +
      (meet ? 0 : at_work(c.head) + held_last * kept(pieces.count - 1) + c.beside_head.value);
  const bool processor = scenario_.cluster.device.compute_capability == 0;
  const auto live = static_cast<double>(std::max(first, last));
  if (processor) return Bytes(std::max(first, last));
  return scenario_.memory.context +
         Bytes(static_cast<std::int64_t>(live * (1 + scenario_.memory.fragmentation)));
}

}  // namespace plait
