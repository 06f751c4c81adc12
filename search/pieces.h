#pragma once
// The pieces of the model that a layout's pipeline stages have, and what of the model is in them:
// every figure of a piece or a stage is a sum over these parts.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/model.h"
#include "plan/schedule.h"
#include "search/layer_kinds.h"
#include "search/shard_costs.h"

namespace plait {

/// How many layers of each kind there are among the model's first ones, and what comes behind the
/// last.
class LayerKinds {
 public:
  /// `listed`: where the pieces of layouts with listed_pieces begin.
  LayerKinds(const Model& m, const LowRankAdapters& lora, std::vector<std::int32_t> listed = {})
      : layers(m.layers),
        listed_pieces(std::move(listed)),
        modules(m.mtp_layers),
        embeds_again(m.mtp_layers > 0 && !m.tied_embeddings),
        all(kinds_of_layers(m, lora)),
        count_(all.size()),
        any_experts_(std::ranges::any_of(all, &KindOfLayers::has_experts)),
        of_layer_(static_cast<std::size_t>(m.layers)),
        before_(static_cast<std::size_t>(m.layers + 1)) {
    for (std::size_t l = 0; l < of_layer_.size(); ++l) {
      const LayerParts parts = m.parts_of(static_cast<std::int64_t>(l));
      const auto same = [&](const KindOfLayers& k) {
        return k.parts == parts && (!k.first || l == 0);
      };
      of_layer_[l] = static_cast<std::size_t>(std::ranges::find_if(all, same) - all.begin());
      before_[l + 1] = before_[l];
      ++before_[l + 1][of_layer_[l]];
    }
    if (modules > 0) of_modules = of_layer_.back();
  }
  std::size_t count() const { return count_; }
  bool mixed() const { return count_ > 1; }
  bool any_experts() const { return any_experts_; }
  std::size_t of_layer(std::int64_t layer) const {
    return of_layer_[static_cast<std::size_t>(layer)];
  }
  /// Of layers begin .. end - 1.
  OfKinds<std::int32_t> of(std::int64_t begin, std::int64_t end) const {
    OfKinds<std::int32_t> out = before_[static_cast<std::size_t>(end)];
    const OfKinds<std::int32_t>& others = before_[static_cast<std::size_t>(begin)];
    for (std::size_t k = 0; k < out.size(); ++k) out[k] -= others[k];
    return out;
  }
  /// The least of a figure that a layer of the model has, of any kind; and the most.
  template <class Of>
  auto least(Of&& of) const {
    auto out = of(std::size_t{0});
    for (std::size_t k = 1; k < count_; ++k) out = std::min(out, of(k));
    return out;
  }
  template <class Of>
  auto most(Of&& of) const {
    auto out = of(std::size_t{0});
    for (std::size_t k = 1; k < count_; ++k) out = std::max(out, of(k));
    return out;
  }

  std::int64_t layers;
  std::vector<std::int32_t> listed_pieces;
  std::int64_t modules;        // that predict further tokens, each with a layer of its own
  std::size_t of_modules = 0;  // kind of these
  bool embeds_again;           // the last piece looks tokens up too
  std::vector<KindOfLayers> all;

 private:
  std::size_t count_;
  bool any_experts_;
  std::vector<std::size_t> of_layer_;
  std::vector<OfKinds<std::int32_t>> before_;  // each layer
};

/// Parts of the model; layers by their kind, those that are recomputed and those that are not.
struct Parts {
  OfKinds<std::int32_t> once = {}, again = {};
  std::int64_t embeddings = 0, heads = 0;
  std::int64_t modules = 0;  // but for their layers, which are among those above

  /// Of one kind.
  void set(std::size_t kind, std::int64_t layers_once, std::int64_t layers_again) {
    once[kind] = static_cast<std::int32_t>(layers_once);
    again[kind] = static_cast<std::int32_t>(layers_again);
  }
  std::int64_t layers(std::size_t kind) const { return once[kind] + again[kind]; }
  std::int64_t all_layers() const {
    std::int32_t out = 0;
    for (std::size_t k = 0; k < once.size(); ++k) out += once[k] + again[k];
    return out;
  }
  Parts& operator+=(const Parts& o) {
    for (std::size_t k = 0; k < once.size(); ++k) {
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
  std::size_t first_kind(std::int64_t piece) const { return kinds.of_layer(before(piece)); }
  /// Of the layer that its backward pass begins with; nothing where it has none.
  std::optional<std::size_t> last_kind(std::int64_t piece) const {
    if (is_last(piece) && kinds.modules > 0) return kinds.of_modules;
    const std::int64_t n = layers(piece);
    if (n == 0) return std::nullopt;
    return kinds.of_layer(before(piece) + n - 1);
  }
  Parts parts(std::int64_t piece) const {
    Parts out;
    const std::int64_t n = layers(piece), again = recomputed(piece);
    if (kinds.mixed()) {
      const std::int64_t begin = before(piece);
      out.again = kinds.of(begin, begin + again);
      out.once = kinds.of(begin + again, begin + n);
    } else {
      out.set(0, n - again, again);
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
    out.set(0, n - again, again);
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
      out.set(0, (end - 1) * (middle_ - again), (end - 1) * again);
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
    parts.again[kinds.of_modules] += static_cast<std::int32_t>(again);
    parts.once[kinds.of_modules] += static_cast<std::int32_t>(kinds.modules - again);
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
