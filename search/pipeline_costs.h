#pragma once
// The stages of a layout as the bounds of its step time see them: pieces of the model, each pass of
// which takes at least so long, and what a stage exchanges with its replicas.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "search/pieces.h"
#include "search/stage_messages.h"

namespace plait {

/// Exchanges of one unit's weights and gradients over the data-parallel ranks, and its update.
struct UnitCosts {
  SimTime gather = 0, reduce = 0, update = 0;
  /// What kernels lose beside a whole gather or reduction, and the most that either holds of a
  /// device's multiprocessors; zero where no loss is certain.
  SimTime gather_slows = 0, reduce_slows = 0;
  double held = 0;
};
struct UnitExchange {
  UnitCosts embedding, head;
  UnitCosts module;           // of one, without its layer
  OfKinds<UnitCosts> layers;  // without experts
  UnitCosts experts;          // of a layer that has some, beside these
};

/// What a stage's passes take, whatever it exchanges with its replicas.
struct StagePasses {
  std::int64_t stage = 0;
  Parts parts, first;              // of all its pieces, and of the first one
  SimTime fill = 0, work = 0;      // PassCosts::fill and work
  SimTime drain = 0;               // PassCosts::drain; 0 where the backward pass is cut in two
  SimTime backward_of_first = 0;   // of one microbatch
  SimTime kernels = 0, waits = 0;  // of all microbatches, as of PassTimes
  SimTime behind_gradients = 0;
};

/// The passes of the stages.
struct PassCosts {
  /// Of all these parts.
  SimTime of(const Parts& parts, SimTime PassTimes::*pass) const {
    SimTime out = parts.embeddings * c.embedding.*pass + parts.heads * c.head.*pass +
                  parts.modules * (c.module.*pass + c.module_head.*pass);
    for (std::size_t k = 0; k < pieces.kinds.count(); ++k) {
      out += parts.once[k] * c.layers[k].*pass + parts.again[k] * r.layers[k].*pass;
    }
    return out;
  }
  /// Of its backward pass, what the piece can do before its message comes, at most.
  SimTime ahead(std::int64_t i) const {
    const std::optional<std::size_t> kind = pieces.last_kind(i);
    if (!kind) return i == 0 ? c.embedding.ahead : 0;
    return (pieces.recomputes_all(i) ? r : c).layers[*kind].ahead;
  }
  SimTime pass_of_piece(std::int64_t i, SimTime PassTimes::*pass) const {
    return of(pieces.parts(i), pass);
  }
  /// All passes of all microbatches that pieces with these parts see.
  SimTime work(const Parts& parts) const {
    if (pairs) {
      return microbatches *
             std::max(of(parts, &PassTimes::forward_turns) + of(parts, &PassTimes::backward_turns),
                      of(parts, &PassTimes::forward_exchanges) +
                          of(parts, &PassTimes::backward_exchanges));
    }
    return microbatches * (of(parts, &PassTimes::forward) + of(parts, &PassTimes::backward) +
                           of(parts, &PassTimes::weights));
  }
  /// Until the first microbatch is at the stage.
  SimTime fill(std::int64_t stage) const {
    if (stage == 0 || pieces.places.both_ways()) return 0;
    return pass_of_piece(0, &PassTimes::forward) + messages.up_to(stage) +
           of(pieces.parts_between(stage), &PassTimes::forward);
  }
  /// From the stage's last backward pass to the end of the first stage's. Pieces between the ends
  /// are alike but for the kinds of their layers.
  SimTime drain(std::int64_t stage) const {
    if (stage == 0 || pieces.places.both_ways()) return 0;
    return pass_of_piece(0, &PassTimes::backward) - ahead(0) + messages.up_to(stage) +
           of(pieces.parts_between(stage), &PassTimes::backward) - ahead_between(stage);
  }
  /// Of pieces 1 .. end - 1.
  SimTime ahead_between(std::int64_t end) const {
    if (end <= 1) return 0;
    if (pieces.alike()) return (end - 1) * ahead(1);
    SimTime out = 0;
    for (std::int64_t i = 1; i < end; ++i) out += ahead(i);
    return out;
  }
  StagePasses of_stage(std::int64_t stage) const {
    StagePasses out = {.stage = stage,
                       .parts = pieces.parts_of_stage(stage),
                       .first = pieces.parts(stage),
                       .fill = fill(stage)};
    out.work = work(out.parts);
    out.drain = split ? 0 : drain(stage);
    out.backward_of_first = of(out.first, &PassTimes::backward);
    out.kernels = microbatches * of(out.parts, &PassTimes::kernels);
    out.waits = microbatches * of(out.parts, &PassTimes::waits);
    out.behind_gradients = microbatches * of(out.parts, &PassTimes::behind_gradients);
    return out;
  }

  const Pieces& pieces;
  const ShardTimes& c;
  /// With layers recomputed, where the layout recomputes some of a piece's; else the same.
  const ShardTimes& r;
  std::int64_t microbatches;  // that a piece sees
  const StageMessages& messages;
  bool pairs;  // passes may take turns
  bool split;  // backward passes are cut in two
};

/// And what the stages exchange.
struct PipelineCosts : PassCosts {
  using PassCosts::of;
  /// Of all these parts.
  SimTime of(const Parts& parts, SimTime UnitCosts::*what) const {
    SimTime out = parts.embeddings * x.embedding.*what + parts.heads * x.head.*what +
                  parts.modules * x.module.*what;
    for (std::size_t k = 0; k < pieces.kinds.count(); ++k) {
      out += parts.layers(k) * of_layer(k, what);
    }
    return out;
  }
  /// Of a whole layer.
  SimTime of_layer(std::size_t kind, SimTime UnitCosts::*what) const {
    const bool experts = pieces.kinds.all[kind].has_experts();
    return x.layers[kind].*what + (experts ? x.experts.*what : 0);
  }

  /// Gathered weights stay until their last use in the step.
  bool gathers_once() const { return l.pp > 1 && (!l.reshard || sums_whole); }
  /// Gradients are reduced behind each microbatch.
  bool reduces_each() const { return l.zero_stage >= 2 && !sums_whole; }
  /// Of the stage's gradients that add up whole, what is reduced behind its last pass at least:
  /// those of one of its pieces.
  SimTime reduced_last(std::int64_t stage) const {
    SimTime out = std::numeric_limits<SimTime>::max();
    for (std::int64_t chunk = 0; chunk < l.chunks; ++chunk) {
      const Parts parts = pieces.parts(pieces.places.piece_of(stage, chunk));
      out = std::min(out, of(parts, &UnitCosts::reduce));
    }
    return out;
  }
  std::int64_t reductions() const { return reduces_each() ? microbatches : 1; }

  const Layout& l;
  const UnitExchange& x;
  bool sums_whole;  // Strategy::sums_whole_gradients
};

}  // namespace plait
