#pragma once
// The pieces of the model that a layout's pipeline stages have, and what of the model is in them:
// every figure of a piece or a stage is a sum over these parts.

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/model.h"
#include "plan/schedule.h"
#include "search/shard_costs.h"

namespace plait {

/// How many layers of each kind there are among the model's first ones, and what comes behind the
/// last.
class LayerKinds {
 public:
  /// `listed`: where the pieces of layouts with listed_pieces begin.
  explicit LayerKinds(const Model& m, std::vector<std::int32_t> listed = {})
      : layers(m.layers),
        listed_pieces(std::move(listed)),
        modules(m.mtp_layers),
        of_modules(m.mtp_layers > 0 && m.mtp_has_experts() ? kMoeLayer : kDenseLayer),
        embeds_again(m.mtp_layers > 0 && !m.tied_embeddings),
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
  std::vector<std::int32_t> listed_pieces;
  std::int64_t modules;    // that predict further tokens, each with a layer of its own
  std::size_t of_modules;  // kind of these
  bool embeds_again;       // the last piece looks tokens up too
  std::array<bool, 2> present = {};

 private:
  std::int64_t moe_before(std::int64_t layer) const {
    const std::int64_t n = std::max<std::int64_t>(0, layer - dense_);
    return every_ == 1 ? n : (n + every_ - 1) / every_;
  }
  std::int64_t dense_, every_;
};

/// Parts of the model; layers by their kind, those that are recomputed and those that are not.
struct Parts {
  std::array<std::int64_t, 2> once = {}, again = {};
  std::int64_t embeddings = 0, heads = 0;
  std::int64_t modules = 0;  // but for their layers, which are among those above

  std::int64_t layers(std::size_t kind) const { return once[kind] + again[kind]; }
  Parts& operator+=(const Parts& o) {
    for (const std::size_t k : {kDenseLayer, kMoeLayer}) {
      once[k] += o.once[k], again[k] += o.again[k];
    }
    embeddings += o.embeddings, heads += o.heads, modules += o.modules;
    return *this;
  }
};

/// All pieces have as many layers but for the ends, or those that are listed.
class Pieces {
 public:
  Pieces(const Layout& l, const LayerKinds& layer_kinds)
      : kinds(layer_kinds),
        places(l.schedule, l.pp, l.chunks),
        count(places.count()),
        recompute_(l.recompute_layers),
        listed_(l.listed_pieces) {
    PLAIT_CHECK(!listed_ || std::ssize(kinds.listed_pieces) == count + 1,
                "a layout with pieces that are not listed");
    const bool has_first = l.first_layers >= 0, has_last = l.last_layers >= 0 && count > 1;
    const std::int64_t sharing = count - (has_first ? 1 : 0) - (has_last ? 1 : 0);
    const std::int64_t given = (has_first ? l.first_layers : 0) + (has_last ? l.last_layers : 0);
    middle_ = sharing > 0 ? (kinds.layers - given) / sharing : 0;
    first_ = has_first ? l.first_layers : middle_;
    last_ = has_last ? l.last_layers : count == 1 ? first_ : middle_;
  }

  bool is_last(std::int64_t piece) const { return piece == count - 1; }
  /// Those between the ends.
  bool alike() const { return !kinds.mixed() && !listed_; }
  std::int64_t layers(std::int64_t piece) const {
    if (listed_) return before(piece + 1) - before(piece);
    return piece == 0 ? first_ : is_last(piece) ? last_ : middle_;
  }
  /// Of its layers: the first ones.
  std::int64_t recomputed(std::int64_t piece) const { return recomputed_of(layers(piece)); }
  bool recomputes_all(std::int64_t piece) const {
    const std::int64_t n = layers(piece) + (is_last(piece) ? kinds.modules : 0);
    return recomputed_of(n) == n;
  }
  /// Of the piece's first layer.
  std::size_t first_kind(std::int64_t piece) const {
    const std::int64_t begin = before(piece);
    return kinds.of(begin, begin + 1)[kMoeLayer] > 0 ? kMoeLayer : kDenseLayer;
  }
  Parts parts(std::int64_t piece) const {
    Parts out;
    const std::int64_t n = layers(piece), again = recomputed(piece);
    if (kinds.mixed()) {
      const std::int64_t begin = before(piece);
      out.again = kinds.of(begin, begin + again);
      out.once = kinds.of(begin + again, begin + n);
    } else {
      out.again[kinds.only()] = again, out.once[kinds.only()] = n - again;
    }
    out.embeddings = piece == 0 ? 1 : 0, out.heads = is_last(piece) ? 1 : 0;
    add_modules(out);
    return out;
  }
  /// Of all pieces that the stage has: those between its first and its last are alike, where layers
  /// are.
  Parts parts_of_stage(std::int64_t stage) const {
    const std::int64_t chunks = places.chunks;
    const std::int64_t begin = places.piece_of(stage, 0), end = places.piece_of(stage, chunks - 1);
    Parts out;
    if (!alike()) {
      for (std::int64_t c = 0; c < chunks; ++c) out += parts(places.piece_of(stage, c));
      return out;
    }
    const bool several = chunks > 1;
    const std::int64_t between = std::max<std::int64_t>(0, chunks - 2);
    const std::int64_t n = layers(begin) + (several ? layers(end) : 0) + between * middle_;
    const std::int64_t again =
        recomputed(begin) + (several ? recomputed(end) : 0) + between * recomputed_of(middle_);
    out.again[kinds.only()] = again, out.once[kinds.only()] = n - again;
    out.embeddings = (begin == 0 ? 1 : 0) + (several && end == 0 ? 1 : 0);
    out.heads = (is_last(begin) ? 1 : 0) + (several && is_last(end) ? 1 : 0);
    add_modules(out);
    return out;
  }
  /// Of pieces 1 .. end - 1, none of which is the last.
  Parts parts_between(std::int64_t end) const {
    Parts out;
    if (end <= 1) return out;
    if (alike()) {
      const std::int64_t again = recomputed_of(middle_);
      out.again[kinds.only()] = (end - 1) * again;
      out.once[kinds.only()] = (end - 1) * (middle_ - again);
      return out;
    }
    for (std::int64_t i = 1; i < end; ++i) out += parts(i);
    return out;
  }

  const LayerKinds& kinds;
  PieceMap places;
  std::int64_t count;

 private:
  /// Modules stand behind the last layer, beside the head; their layers come after those of the
  /// last piece.
  void add_modules(Parts& parts) const {
    if (parts.heads == 0 || kinds.modules == 0) return;
    const std::int64_t last = layers(count - 1);
    const std::int64_t again = recomputed_of(last + kinds.modules) - recomputed_of(last);
    parts.modules = kinds.modules;
    parts.again[kinds.of_modules] += again;
    parts.once[kinds.of_modules] += kinds.modules - again;
  }
  std::int64_t recomputed_of(std::int64_t layers_of_piece) const {
    return recompute_ < 0 ? layers_of_piece : std::min(recompute_, layers_of_piece);
  }
  /// Layers before the piece.
  std::int64_t before(std::int64_t piece) const {
    if (listed_) return kinds.listed_pieces[static_cast<std::size_t>(piece)];
    return piece == 0 ? 0 : first_ + (piece - 1) * middle_;
  }
  std::int64_t recompute_;  // layers of each piece; -1: all
  bool listed_;
  std::int64_t first_ = 0, middle_ = 0, last_ = 0;
};

}  // namespace plait
