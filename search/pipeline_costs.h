#pragma once
// The stages of a layout as the bounds see them: pieces of the model, each pass of which takes at
// least so long, and what a stage exchanges with its replicas.

#include <algorithm>
#include <array>
#include <cstdint>

#include "model/model.h"
#include "plan/schedule.h"
#include "search/shard_costs.h"

namespace plait {

/// Layers of the model's pieces: all alike but for the ends.
struct Pieces {
  Pieces(std::int64_t layers, const Layout& l)
      : count(PieceMap(l.schedule, l.pp, l.chunks).count()) {
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
  /// Layers before the piece.
  std::int64_t before(std::int64_t piece) const {
    return piece == 0 ? 0 : first + (piece - 1) * middle;
  }
  std::int64_t count, first, middle, last;
};

/// How many layers of each kind there are among the model's first ones.
class LayerKinds {
 public:
  explicit LayerKinds(const Model& m)
      : layers(m.layers),
        dense_(m.experts > 0 ? m.first_dense_layers : m.layers),
        every_(m.moe_every) {
    present[kMoeLayer] = m.moe_layers() > 0, present[kDenseLayer] = m.dense_layers() > 0;
  }
  bool mixed() const { return present[kDenseLayer] && present[kMoeLayer]; }
  /// That of all layers, unless they are mixed.
  std::size_t only() const { return present[kMoeLayer] ? kMoeLayer : kDenseLayer; }
  /// Of layers begin .. end - 1.
  std::array<std::int64_t, 2> of(std::int64_t begin, std::int64_t end) const {
    const std::int64_t moe = moe_before(end) - moe_before(begin);
    return {end - begin - moe, moe};
  }
  /// The least of a figure that a layer of the model has, of any kind.
  template <class Of>
  auto least(Of&& of) const {
    if (mixed()) return std::min(of(kDenseLayer), of(kMoeLayer));
    return of(only());
  }

  std::int64_t layers;
  std::array<bool, 2> present = {};

 private:
  std::int64_t moe_before(std::int64_t layer) const {
    const std::int64_t n = std::max<std::int64_t>(0, layer - dense_);
    return every_ == 1 ? n : (n + every_ - 1) / every_;
  }
  std::int64_t dense_, every_;
};

/// Exchanges of one unit's weights and gradients over the data-parallel ranks, and its update.
struct UnitCosts {
  SimTime gather = 0, reduce = 0, update = 0;
};
struct UnitExchange {
  UnitCosts embedding, head;
  std::array<UnitCosts, 2> layers;  // without experts, and with, beside these
  UnitCosts experts;                // of a layer
  /// Of a whole layer.
  SimTime layer(std::size_t kind, SimTime UnitCosts::*what) const {
    return layers[kind].*what + (kind == kMoeLayer ? experts.*what : 0);
  }
};

struct PipelineCosts {
  /// `again`: with layers recomputed, where the layout recomputes some of a piece's; else `shard`.
  PipelineCosts(const Layout& layout, const ShardCosts& shard, const ShardCosts& again,
                const UnitExchange& exchanged, const LayerKinds& layer_kinds,
                std::int64_t microbatch_count, SimTime transfer)
      : l(layout),
        c(shard),
        r(again),
        x(exchanged),
        kinds(layer_kinds),
        pieces(layer_kinds.layers, layout),
        places(layout.schedule, layout.pp, layout.chunks),
        microbatches(microbatch_count),
        message(transfer),
        split(splits_backward(layout.schedule)) {}

  bool is_last(std::int64_t piece) const { return piece == pieces.count - 1; }
  /// Of the piece's layers, those that are recomputed and those that are not, of each kind.
  template <class Of>
  std::int64_t of_layers(std::int64_t i, Of&& of) const {
    if (!kinds.mixed()) {
      const std::int64_t recomputes = recomputed(i);
      return (pieces.layers(i) - recomputes) * of(c.layers[kinds.only()]) +
             recomputes * of(r.layers[kinds.only()]);
    }
    const std::int64_t begin = pieces.before(i), middle = begin + recomputed(i);
    const auto again = kinds.of(begin, middle), once = kinds.of(middle, begin + pieces.layers(i));
    std::int64_t out = 0;
    for (const std::size_t k : {kDenseLayer, kMoeLayer}) {
      out += once[k] * of(c.layers[k]) + again[k] * of(r.layers[k]);
    }
    return out;
  }
  SimTime of_pass(std::int64_t i, SimTime PieceCosts::*pass) const {
    return of_layers(i, [pass](const LayerCosts& layer) { return layer.*pass; }) +
           (i == 0 ? c.embedding.*pass : 0) + (is_last(i) ? c.head.*pass : 0);
  }
  /// Of the piece's first layer.
  std::size_t first_kind(std::int64_t i) const {
    const std::int64_t begin = pieces.before(i);
    return kinds.of(begin, begin + 1)[kMoeLayer] > 0 ? kMoeLayer : kDenseLayer;
  }
  /// Layers of the piece: its first ones.
  std::int64_t recomputed(std::int64_t i) const {
    return l.recompute_layers < 0 ? pieces.layers(i)
                                  : std::min<std::int64_t>(l.recompute_layers, pieces.layers(i));
  }
  /// What the piece keeps of a microbatch.
  std::int64_t saved_bytes(std::int64_t i) const {
    return of_layers(i, [](const LayerCosts& layer) { return layer.saved.value; });
  }
  SimTime forward(std::int64_t i) const { return of_pass(i, &PieceCosts::forward); }
  SimTime backward(std::int64_t i) const { return of_pass(i, &PieceCosts::backward); }
  /// Of its backward pass, what it can do before its message comes, at most.
  SimTime ahead(std::int64_t i) const {
    if (pieces.layers(i) == 0) return i == 0 ? c.embedding.ahead : 0;
    const ShardCosts& last = recomputed(i) == pieces.layers(i) ? r : c;
    return std::max(last.layers[kDenseLayer].ahead, last.layers[kMoeLayer].ahead);
  }
  SimTime weights(std::int64_t i) const { return of_pass(i, &PieceCosts::weights); }
  SimTime exchanged(std::int64_t i, SimTime UnitCosts::*what) const {
    const SimTime ends = (i == 0 ? x.embedding.*what : 0) + (is_last(i) ? x.head.*what : 0);
    if (!kinds.mixed()) return ends + pieces.layers(i) * x.layer(kinds.only(), what);
    const std::int64_t begin = pieces.before(i);
    const auto n = kinds.of(begin, begin + pieces.layers(i));
    return ends + n[kDenseLayer] * x.layer(kDenseLayer, what) +
           n[kMoeLayer] * x.layer(kMoeLayer, what);
  }
  /// Sum over the pieces that the stage has: those between its first and its last are alike, where
  /// layers are.
  template <class Of>
  auto of_stage(std::int64_t stage, Of&& of) const {
    if (kinds.mixed()) {
      auto sum = of(places.piece_of(stage, 0));
      for (std::int64_t chunk = 1; chunk < l.chunks; ++chunk) {
        sum += of(places.piece_of(stage, chunk));
      }
      return sum;
    }
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
  std::array<std::int64_t, 2> layers_of_kinds(std::int64_t stage) const {
    std::array<std::int64_t, 2> out = {};
    if (!kinds.mixed()) {
      out[kinds.only()] = layers(stage);
      return out;
    }
    for (std::int64_t chunk = 0; chunk < l.chunks; ++chunk) {
      const std::int64_t i = places.piece_of(stage, chunk), begin = pieces.before(i);
      const auto n = kinds.of(begin, begin + pieces.layers(i));
      out[kDenseLayer] += n[kDenseLayer], out[kMoeLayer] += n[kMoeLayer];
    }
    return out;
  }
  /// All passes of all microbatches that a piece sees.
  SimTime work(std::int64_t stage) const {
    return microbatches *
           of_stage(stage, [&](std::int64_t i) { return forward(i) + backward(i) + weights(i); });
  }
  /// Until the first microbatch is at the stage.
  SimTime fill(std::int64_t stage) const {
    if (stage == 0 || places.both_ways()) return 0;
    return forward(0) + stage * message +
           of_middle(stage, [this](std::int64_t i) { return forward(i); });
  }
  /// From the stage's last backward pass to the end of the first stage's.
  SimTime drain(std::int64_t stage) const {
    if (stage == 0 || places.both_ways()) return 0;
    return backward(0) - ahead(0) + stage * message +
           of_middle(stage, [this](std::int64_t i) { return backward(i) - ahead(i); });
  }
  /// Sum over the first pieces of the stages between the first one and this one.
  template <class Of>
  SimTime of_middle(std::int64_t stage, Of&& of) const {
    if (!kinds.mixed()) return stage > 1 ? (stage - 1) * of(1) : 0;
    SimTime sum = 0;
    for (std::int64_t i = 1; i < stage; ++i) sum += of(i);
    return sum;
  }

  const Layout& l;
  const ShardCosts& c;
  const ShardCosts& r;
  const UnitExchange& x;
  const LayerKinds& kinds;
  Pieces pieces;
  PieceMap places;
  std::int64_t microbatches;  // that a piece sees
  SimTime message;
  bool split;
};

}  // namespace plait
