// The memory of a layout at least: of its stages, the state of training as it is sharded, what
// their passes keep when the first of them goes back, and the fullest moment of that backward pass
// or of the head.
#include <algorithm>
#include <optional>

#include "plan/strategies/data_parallel.h"
#include "search/bounds.h"

namespace plait {
namespace {

/// Bytes that these layers have of something.
std::int64_t of_layers(const Parts& parts, Bytes LayerSizes::*what, const ShardSizes& kept,
                       const ShardSizes& again, std::size_t kinds) {
  std::int64_t out = 0;
  for (std::size_t k = 0; k < kinds; ++k) {
    out += parts.once[k] * (kept.layers[k].*what).value +
           parts.again[k] * (again.layers[k].*what).value;
  }
  return out;
}

/// What passes keep, in bytes.
class KeptByPasses {
 public:
  KeptByPasses(const Layout& l, const Pieces& pieces, const ShardSizes& kept,
               const ShardSizes& again, std::int64_t microbatches)
      : l_(l), pieces_(pieces), kept_(kept), again_(again), microbatches_(microbatches) {}

  /// At the first backward pass of the stage.
  std::int64_t on(std::int64_t stage) const {
    if (l_.pp == 1) return saved_by(0);
    const std::int64_t held = passes_held(stage);
    if (l_.schedule == Schedule::kInterleaved) return kept_in_turn(stage, held);
    return held * (l_.chunks == 1 ? saved_by(stage) : least_saved());
  }

 private:
  /// Passes whose results the stage holds at its first backward pass.
  std::int64_t passes_held(std::int64_t stage) const {
    const std::int64_t p = l_.pp, v = l_.chunks, m = microbatches_, behind = p - stage;
    switch (l_.schedule) {
      case Schedule::kGpipe: return m;
      case Schedule::k1f1b:
      case Schedule::kZbH1: return std::min(behind, m);
      case Schedule::kZbH2: return std::min(2 * behind - 1, m);
      case Schedule::kZb1p:
      case Schedule::kZb2p: return stage == 0 ? std::min(p, m) : 1;
      case Schedule::kInterleaved: return std::min(2 * (behind - 1) + (v - 1) * p + 1, m * v);
      case Schedule::kZbV:
      case Schedule::kDualPipeV: return std::min(2 * p, m + 1);
      case Schedule::kDualPipe: return std::min(p, m + 1);
      case Schedule::kVHalf:
      case Schedule::kVMin: return 2;  // both chunks of a microbatch
      case Schedule::kSequential: return 1;
    }
    return 1;
  }
  std::int64_t saved_by(std::int64_t piece) const {
    return of_layers(pieces_.parts(piece), &LayerSizes::saved, kept_, again_,
                     pieces_.kinds.count());
  }
  /// By the first `held` passes of the interleaved order: as many microbatches as there are stages
  /// go through each chunk in turn. Pieces between the ends are alike, where layers are.
  std::int64_t kept_in_turn(std::int64_t stage, std::int64_t held) const {
    const std::int64_t round = std::int64_t{l_.pp} * l_.chunks;
    const auto passes_of = [&](std::int64_t chunk) {
      return held / round * l_.pp +
             std::clamp<std::int64_t>(held % round - chunk * l_.pp, 0, l_.pp);
    };
    const auto by_chunk = [&](std::int64_t chunk) {
      return passes_of(chunk) * saved_by(pieces_.places.piece_of(stage, chunk));
    };
    const std::int64_t last = l_.chunks - 1;
    std::int64_t out = by_chunk(0) + by_chunk(last);
    if (pieces_.alike()) {
      const std::int64_t between = held - passes_of(0) - passes_of(last);
      return out + (between > 0 ? between * saved_by(1) : 0);
    }
    for (std::int64_t chunk = 1; chunk < last; ++chunk) out += by_chunk(chunk);
    return out;
  }
  /// By the piece that keeps least.
  std::int64_t least_saved() const {
    std::int64_t out = std::min(saved_by(0), saved_by(1));
    for (std::int64_t i = 2; !pieces_.alike() && i < pieces_.count; ++i) {
      out = std::min(out, saved_by(i));
    }
    return out;
  }

  const Layout& l_;
  const Pieces& pieces_;
  const ShardSizes &kept_, &again_;
  std::int64_t microbatches_;
};

/// Of one layout, in bytes.
class LeastMemory {
  using OfStage = MemoryOfShape::OfStage;

 public:
  /// `sums_whole`: sharded gradients add up whole before they are reduced.
  LeastMemory(const Scenario& s, const Layout& l, const Pieces& pieces, const ShardSizes& kept,
              const ShardSizes& again, bool sums_whole)
      : s_(s),
        l_(l),
        sums_whole_(sums_whole),
        pieces_(pieces),
        kept_(kept),
        again_(again),
        all_(sharers_of(l, s.strategy)),
        of_experts_(pieces.kinds.any_experts() ? sharers_of(l, s.strategy, s.strategy.experts.axes)
                                               : all_) {}

  /// Or part of it, where that is more than `enough`.
  std::int64_t of(const OfStage& s, std::int64_t enough) const {
    if (s.kept > enough) return s.kept;
    const std::int64_t out = state_of(s) + s.kept;
    if (out > enough || (!loops() && s.stage > 0)) return out;
    return out + std::max(at_backward(s), at_head(s));
  }

 private:
  bool loops() const { return pieces_.places.shape == PipelineShape::kLoop; }

  // ---- the state of training
  std::int64_t state_on(const Sharers& on, std::int64_t parameters, std::int64_t kept) const {
    const Precision& p = s_.workload.precision;
    const std::int64_t share = parameters / on.shards;
    std::int64_t out = on.zero_stage == 3 ? 0 : parameters * kept;
    const bool leaves = s_.strategy.offload.optimizer != Offload::kNone;
    // Gradients that are sharded leave with each microbatch, then the rest of the state is away.
    if (on.zero_stage < 2) {
      out += parameters * size_of(p.gradients);
    } else if (!leaves) {
      out += share * size_of(p.gradients);
    }
    if (on.zero_stage >= 2 && sums_whole_)
      out += parameters * size_of(type_of_whole_sums(s_.strategy.fsdp.copies, on.zero_stage, p));
    if (leaves) return out;
    const std::int64_t optimizer =
        2 * size_of(p.moments) + (p.has_master() ? size_of(p.kept_master()) : 0);
    return out + share * optimizer;
  }
  std::int64_t state_of(const OfStage& s) const {
    const Precision& p = s_.workload.precision;
    const std::int64_t kept = kept_bytes_of_layers(p);
    std::int64_t out = state_on(all_, s.ends, size_of(p.weights)) + state_on(all_, s.layers, kept);
    if (s.experts > 0) out += state_on(of_experts_, s.experts, kept);
    // Weights that are not trained, which zero_stage 3 shards in their own type.
    if (s.frozen > 0) out += s.frozen / (all_.zero_stage == 3 ? all_.shards : 1);
    return out;
  }

  // ---- the fullest moments
  /// Weights that zero_stage 3 has gathered.
  std::int64_t gathered(std::int64_t parameters, std::int64_t experts, std::int64_t frozen) const {
    return ((all_.zero_stage == 3 ? parameters : 0) + (of_experts_.zero_stage == 3 ? experts : 0)) *
               size_of(gathered_type_of_layers(s_.workload.precision)) +
           (all_.zero_stage == 3 ? frozen : 0);
  }
  /// In the backward pass of a layer: that of a first one may read no frozen weights.
  std::int64_t gathered(std::size_t kind) const {
    const LayerSizes& layer = kept_.layers[kind];
    const bool first = pieces_.kinds.all[kind].first;
    return gathered(layer.parameters, layer.experts, first ? 0 : layer.frozen.value);
  }
  std::int64_t gathered(const Parts& parts) const {
    std::int64_t out = gathered(parts.modules * kept_.module, 0, 0);
    for (std::size_t k = 0; k < pieces_.kinds.count(); ++k) out += parts.layers(k) * gathered(k);
    return out;
  }
  std::int64_t gathered_head() const {
    if (all_.zero_stage < 3) return 0;
    return kept_.head * size_of(s_.workload.precision.weights) + kept_.frozen_head.value;
  }
  /// Those of all layers stay between the first forward pass and the last backward pass, or,
  /// without a pipeline, between those of a microbatch.
  bool stay() const { return !l_.reshard && loops(); }
  /// Copies of weights are made before their first pass; gathered ones are copied where they are
  /// used.
  bool copies() const { return l_.zero_stage < 3 && loops(); }
  /// Gradients of one microbatch, from the first one that is written until they are reduced.
  std::int64_t gradients(const LayerSizes& layer) const {
    if (sums_whole_) return 0;  // they stay
    return ((all_.zero_stage >= 2 ? layer.parameters : 0) +
            (of_experts_.zero_stage >= 2 ? layer.experts : 0)) *
           size_of(written_gradients(s_.strategy, s_.workload.precision));
  }
  /// In the backward pass of a layer of that kind, beside copies of others' weights.
  std::int64_t at_layer(std::size_t kind, const ShardSizes& sizes, const Parts& parts) const {
    const LayerSizes& layer = sizes.layers[kind];
    const std::int64_t weights = stay() ? gathered(parts) : gathered(kind);
    if (splits_backward(l_.schedule)) return weights + layer.beside_backward.value;
    return weights +
           std::max(layer.beside_backward.value, layer.beside_gradients.value + gradients(layer));
  }
  /// In the stage's first backward pass, of the last layer that it has.
  std::int64_t at_backward(const OfStage& s) const {
    const ShardSizes& sizes = s.recomputes ? again_ : kept_;
    const auto at = [&](std::size_t kind) { return at_layer(kind, sizes, s.parts); };
    const std::int64_t beside = copies() ? s.copies_of_others : 0;
    if (!loops()) return beside + pieces_.kinds.least(at);  // of two pieces, either may be first
    return beside + (s.last ? at(*s.last) : 0);
  }
  std::int64_t at_head(const OfStage& s) const {
    if (s.parts.heads == 0 || !loops()) return 0;
    const std::int64_t layers = stay() ? gathered(s.parts) : 0;
    return layers + (copies() ? s.copies : 0) + gathered_head() + kept_.beside_head.value;
  }

  const Scenario& s_;
  const Layout& l_;
  bool sums_whole_;
  const Pieces& pieces_;
  const ShardSizes &kept_, &again_;
  Sharers all_, of_experts_;
};

}  // namespace

MemoryOfShape::OfStage Bounds::memory_of_stage(std::int64_t stage, const Layout& l,
                                               const MemoryOfShape& shape) const {
  const Pieces& pieces = shape.pieces;
  const ShardSizes &sizes = shape.sizes->kept, &again = shape.sizes->again;
  MemoryOfShape::OfStage out;
  out.stage = stage, out.parts = pieces.parts_of_stage(stage);
  const Parts& parts = out.parts;
  const bool embeds_again = parts.modules > 0 && parts.embeddings == 0 && kinds_.embeds_again;
  out.ends =
      (parts.embeddings + (embeds_again ? 1 : 0)) * sizes.embedding + parts.heads * sizes.head;
  out.layers = parts.modules * sizes.module;
  out.frozen =
      parts.embeddings * sizes.frozen_embedding.value + parts.heads * sizes.frozen_head.value;
  for (std::size_t k = 0; k < kinds_.count(); ++k) {
    const LayerSizes& layer = sizes.layers[k];
    out.layers += parts.layers(k) * layer.parameters;
    out.experts += parts.layers(k) * layer.experts;
    out.frozen += parts.layers(k) * layer.frozen.value;
  }
  // What leaves the device counts nothing, nor what of it is on the way.
  const bool stays = scenario_.strategy.offload.activations == Offload::kNone;
  if (stays && (stage == 0 || pieces.places.shape == PipelineShape::kLoop)) {
    out.kept = KeptByPasses(l, pieces, sizes, again, microbatches(l)).on(stage);
  }
  const std::int64_t piece = pieces.places.piece_of(stage, l.chunks - 1);
  out.last = pieces.last_kind(piece), out.recomputes = pieces.recomputes_all(piece);
  out.copies = of_layers(parts, &LayerSizes::copies, sizes, again, kinds_.count());
  // Those of the layer itself are dropped on the way, where no other microbatch needs them.
  const Bytes own = kinds_.most(
      [&](std::size_t kind) { return (out.recomputes ? again : sizes).layers[kind].copies; });
  out.copies_of_others = std::max<std::int64_t>(0, out.copies - own.value);
  return out;
}

/// Of the fullest stage, or of one that is too large for any device. The first stage holds the most
/// passes, the last has the head; the second may hold more layers of the larger kind.
Bytes Bounds::memory(const Layout& l, MemoryOfShape& shape) const {
  const LeastMemory least(scenario_, l, shape.pieces, shape.sizes->kept, shape.sizes->again,
                          sums_whole(l));
  const bool loops = shape.pieces.places.shape == PipelineShape::kLoop;
  const std::int64_t stages[] = {0, l.pp - 1, 1};
  const std::size_t count = l.pp == 1 ? 1 : loops && l.pp > 2 ? 3 : 2;
  std::int64_t live = 0;
  for (std::size_t i = 0; i < count && live <= most_memory_.value; ++i) {
    if (i == shape.of_stages.size()) {
      shape.of_stages.push_back(memory_of_stage(stages[i], l, shape));
    }
    live = std::max(live, least.of(shape.of_stages[i], most_memory_.value));
  }
  const bool processor = scenario_.cluster.device.compute_capability == 0;
  if (processor) return Bytes(live);
  const double reserved = static_cast<double>(live) * (1 + scenario_.memory.least_fragmentation());
  return scenario_.memory.context + Bytes(static_cast<std::int64_t>(reserved));
}

}  // namespace plait
