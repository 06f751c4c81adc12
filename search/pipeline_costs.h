#pragma once
// The stages of a layout as the bounds see them: pieces of the model, each pass of which takes at
// least so long, and what a stage exchanges with its replicas.

#include <algorithm>
#include <cstdint>

#include "plan/schedule.h"
#include "search/shard_costs.h"

namespace plait {

/// Layers of the model's pieces: all alike but for the ends.
struct Pieces {
  Pieces(std::int64_t layers, const Layout& l) : count(std::int64_t{l.pp} * l.chunks) {
    const bool has_first = l.first_layers >= 0, has_last = l.last_layers >= 0 && count > 1;
    const std::int64_t sharing = count - (has_first ? 1 : 0) - (has_last ? 1 : 0);
    const std::int64_t given = (has_first ? l.first_layers : 0) + (has_last ? l.last_layers : 0);
    middle = sharing > 0 ? (layers - given) / sharing : 0;
    first = has_first ? l.first_layers : middle;
    last = has_last ? l.last_layers : count == 1 ? first : middle;
  }
  std::int64_t layers(std::int64_t piece) const {
    return piece == 0 ? first : piece == count - 1 ? last : middle;
  }
  std::int64_t count, first, middle, last;
};

/// Exchanges of one unit's weights and gradients over the data-parallel ranks, and its update.
struct UnitCosts {
  SimTime gather = 0, reduce = 0, update = 0;
};
struct Exchange {
  UnitCosts embedding, layer, experts, head;  // experts: a layer's, beside the rest of it
};

struct PipelineCosts {
  /// `again`: with layers recomputed, where the layout recomputes some of a piece's; else `shard`.
  PipelineCosts(const Layout& layout, const ShardCosts& shard, const ShardCosts& again,
                const Exchange& exchanged, std::int64_t model_layers, std::int64_t microbatch_count,
                SimTime transfer)
      : l(layout),
        c(shard),
        r(again),
        x(exchanged),
        pieces(model_layers, layout),
        places(layout.schedule, layout.pp, layout.chunks),
        microbatches(microbatch_count),
        message(transfer),
        split(splits_backward(layout.schedule)) {}

  bool is_last(std::int64_t piece) const { return piece == pieces.count - 1; }
  SimTime of_pass(std::int64_t i, SimTime PieceCosts::*pass) const {
    const std::int64_t again = recomputed(i);
    return (pieces.layers(i) - again) * c.layer.*pass + again * r.layer.*pass +
           (i == 0 ? c.embedding.*pass : 0) + (is_last(i) ? c.head.*pass : 0);
  }
  /// Layers of the piece: its first ones.
  std::int64_t recomputed(std::int64_t i) const {
    return l.recompute_layers < 0 ? pieces.layers(i)
                                  : std::min<std::int64_t>(l.recompute_layers, pieces.layers(i));
  }
  /// What the piece keeps of a microbatch.
  std::int64_t saved_bytes(std::int64_t i) const {
    const std::int64_t again = recomputed(i);
    return (pieces.layers(i) - again) * c.saved.value + again * r.saved.value;
  }
  SimTime forward(std::int64_t i) const { return of_pass(i, &PieceCosts::forward); }
  SimTime backward(std::int64_t i) const { return of_pass(i, &PieceCosts::backward); }
  /// Of its backward pass, what it can do before its message comes.
  SimTime ahead(std::int64_t i) const {
    if (pieces.layers(i) == 0) return i == 0 ? c.embedding.ahead : 0;
    return (recomputed(i) == pieces.layers(i) ? r : c).layer.ahead;
  }
  SimTime weights(std::int64_t i) const { return of_pass(i, &PieceCosts::weights); }
  SimTime exchanged(std::int64_t i, SimTime UnitCosts::*what) const {
    return pieces.layers(i) * (x.layer.*what + x.experts.*what) + (i == 0 ? x.embedding.*what : 0) +
           (is_last(i) ? x.head.*what : 0);
  }
  /// Sum over the pieces that the stage has: those between its first and its last are alike.
  template <class Of>
  auto of_stage(std::int64_t stage, Of&& of) const {
    auto out = of(places.piece_of(stage, 0));
    if (l.chunks > 1) out += of(places.piece_of(stage, l.chunks - 1));
    if (l.chunks > 2) out += (l.chunks - 2) * of(places.piece_of(stage, 1));
    return out;
  }
  SimTime of_stage(std::int64_t stage, SimTime UnitCosts::*what) const {
    return of_stage(stage, [&](std::int64_t i) { return exchanged(i, what); });
  }
  std::int64_t layers(std::int64_t stage) const {
    return of_stage(stage, [&](std::int64_t i) { return pieces.layers(i); });
  }
  /// All passes of all microbatches.
  SimTime work(std::int64_t stage) const {
    return microbatches *
           of_stage(stage, [&](std::int64_t i) { return forward(i) + backward(i) + weights(i); });
  }
  /// Until the first microbatch is at the stage.
  SimTime fill(std::int64_t stage) const {
    if (stage == 0) return 0;
    return forward(0) + message + (stage - 1) * (forward(1) + message);
  }
  /// From the stage's last backward pass to the end of the first stage's.
  SimTime drain(std::int64_t stage) const {
    if (stage == 0) return 0;
    return backward(0) - ahead(0) + message + (stage - 1) * (backward(1) - ahead(1) + message);
  }

  const Layout& l;
  const ShardCosts& c;
  const ShardCosts& r;
  const Exchange& x;
  Pieces pieces;
  PieceMap places;
  std::int64_t microbatches;
  SimTime message;
  bool split;
};

}  // namespace plait
