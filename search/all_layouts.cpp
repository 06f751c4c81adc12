// The layouts of a space, without those that cannot divide: the sizes of the mesh first, then how
// training state is shared among replicas, and everything else.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/parallel.h"
#include "plan/schedule.h"
#include "plan/strategies/pieces.h"
#include "search/space.h"

namespace plait {
namespace {

template <class List, class T>
bool allows(const List& list, T value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

/// Divisors of `n` that the list allows, ascending.
std::vector<std::int64_t> divisors(std::int64_t n, const std::vector<std::int64_t>& list) {
  std::vector<std::int64_t> out, large;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    out.push_back(d);
    if (d * d != n) large.push_back(n / d);
  }
  out.insert(out.end(), large.rbegin(), large.rend());
  std::erase_if(out, [&](std::int64_t d) { return !allows(list, d); });
  return out;
}

/// The ways to cut model and sequences: layouts with the sizes of these axes, the ranks that are
/// left as dp, and nothing else.
class Cuts {
 public:
  explicit Cuts(const SpaceOf& of) : of_(of), space_(of.space) {}

  std::vector<Layout> run() {
    const Model& m = of_.model;
    std::int64_t shards = std::gcd(std::gcd(m.heads, m.kv_heads), m.vocab);
    if (m.qk_norm_across_heads) shards = 1;  // S147
    if (m.dense_layers() > 0) shards = std::gcd(shards, m.ffn_hidden);
    if (m.experts > 0) {
      shards = std::gcd(shards, m.shared_ffn_hidden);
    }
    if (m.recurrent_layers() > 0) {
      shards = std::gcd(shards, std::gcd(m.state_heads, m.state_groups));
    }
    for (const std::int64_t tp : divisors(std::gcd(shards, of_.devices), space_.tp)) {
      if (m.experts > 0 && !splits_experts(tp)) continue;
      layout_.tp = static_cast<std::int32_t>(tp);
      context(of_.devices / tp);
    }
    return std::move(out_);
  }

 private:
  /// S010, S095.
  bool splits_experts(std::int64_t tp) const {
    const std::int64_t ranks = of_.strategy.experts.ranks_of_one(tp);
    return tp % ranks == 0 && of_.model.expert_ffn_hidden % ranks == 0;
  }
  void context(std::int64_t ranks) {
    const std::int64_t s = of_.workload.sequence_length;
    const ContextOptions& context = of_.strategy.context;
    const bool hybrid = context.kind == ContextKind::kHybrid;
    for (const std::int64_t cp : divisors(ranks, space_.cp)) {
      if (cp > 1 && of_.model.recurrent_layers() > 0) continue;     // S154
      if (cp > 1 && hybrid && cp % context.ulysses != 0) continue;  // S019
      if (cp > 1 && (s % (2 * cp) != 0 || (space_.cp.empty() && s / cp < kFewestTokens))) continue;
      layout_.cp = static_cast<std::int32_t>(cp);
      stages(ranks / cp);
    }
  }
  void stages(std::int64_t ranks) {
    for (const std::int64_t pp : divisors(ranks, space_.pp)) {
      const std::int64_t replicas = ranks / pp;
      if (pp > of_.model.layers || of_.workload.global_batch % replicas != 0) continue;
      layout_.pp = static_cast<std::int32_t>(pp);
      for (const std::int64_t ep : divisors(std::gcd(replicas, groups_of_experts()), space_.ep)) {
        layout_.ep = static_cast<std::int32_t>(ep);
        layout_.dp = static_cast<std::int32_t>(replicas / ep);
        out_.push_back(layout_);
      }
    }
  }
  /// So many ranks along ep can have as many experts each: those that the other axes of
  /// experts.axes leave.
  std::int64_t groups_of_experts() const {
    if (of_.model.experts == 0) return 1;
    std::int64_t others = layout_.tp / of_.strategy.experts.ranks_of_one(layout_.tp);
    if (of_.strategy.experts.axes.has(Axis::kCp)) others *= layout_.cp;
    return of_.model.experts % others == 0 ? of_.model.experts / others : 1;
  }

  const SpaceOf& of_;
  const Space& space_;
  Layout layout_;
  std::vector<Layout> out_;
};

/// Where the embedding that is also the head has a copy on another stage, gradients are in both.
bool has_two_tied(const SpaceOf& of, const Layout& cut) {
  return cut.pp > 1 && of.model.tied_embeddings && !of.workload.lora.any();
}
bool ends_meet(const Layout& l) { return ends_meet(PieceMap(l.schedule, l.pp, l.chunks)); }

/// How the replicas of a cut may share the state of training: over which ranks, what of it, and
/// when they gather it. Layouts with that, and nothing else. `two_tied`: where first and last piece
/// are on different stages.
class Sharings {
 public:
  Sharings(const SpaceOf& of, const Layout& cut, bool two_tied)
      : of_(of), space_(of.space), layout_(cut), two_tied_(two_tied) {}

  std::vector<Layout> run() {
    const std::int64_t ranks = layout_.dp;
    for (const std::int64_t fsdp : divisors(ranks, space_.fsdp)) {
      if (!allows(space_.dp, ranks / fsdp)) continue;
      layout_.fsdp = static_cast<std::int32_t>(fsdp);
      layout_.dp = static_cast<std::int32_t>(ranks / fsdp);
      shards(ranks);
    }
    return std::move(out_);
  }

 private:
  void shards(std::int64_t ranks) {
    const bool two_shards = of_.strategy.zero_plus_plus.secondary_shard;
    const bool nothing_to_shard = layout_.replicas() * layout_.cp == 1;
    for (std::int64_t zero = 0; zero <= 3; ++zero) {
      if (!allows(space_.zero_stage, zero)) continue;
      const bool fetches = of_.strategy.fetches_shards(static_cast<int>(zero));
      const bool shards = layout_.fsdp > 1 || of_.strategy.fetches_shards(3);
      if (space_.zero_follows_fsdp && zero != (shards ? 3 : 0)) continue;
      if (of_.strategy.zero_plus_plus.any() && zero != 3) continue;        // S028
      if (two_shards && (layout_.dp == 1 || layout_.fsdp == 1)) continue;  // S029
      if (zero == 0 ? layout_.fsdp > 1 : nothing_to_shard && !fetches) continue;
      if (zero >= 2 && two_tied_) continue;  // S025
      const bool on_dp = layout_.fsdp == 1 && layout_.dp > 1;
      const bool on_fsdp = layout_.fsdp > 1 && layout_.dp == 1;
      // The same ranks, sharded over the axis of the other name.
      const bool other_name = on_dp ? allows(space_.fsdp, ranks) && allows(space_.dp, 1)
                                    : allows(space_.dp, ranks) && allows(space_.fsdp, 1);
      const bool alike = other_name && !of_.strategy.zero_plus_plus.quantized_gradients;
      if (alike && ((zero == 3 && on_dp) || (zero < 3 && on_fsdp))) continue;
      layout_.zero_stage = static_cast<std::uint8_t>(zero);
      for (const bool reshard : {true, false}) {
        if (zero == 3 ? !allows(space_.reshard, reshard) : !reshard) continue;
        layout_.reshard = reshard;
        gathering();
      }
    }
  }
  void gathering() {
    const Layout& base = of_.base;
    if (layout_.zero_stage < 3) {
      layout_.prefetch = Layout{}.prefetch, layout_.keep_weight_shard = false;
      return out_.push_back(layout_);
    }
    const std::vector<std::int64_t> ahead =
        space_.prefetch.empty() ? std::vector<std::int64_t>{base.prefetch} : space_.prefetch;
    const std::vector<bool> keep = space_.keep_weight_shard.empty()
                                       ? std::vector<bool>{base.keep_weight_shard}
                                       : space_.keep_weight_shard;
    for (const std::int64_t n : ahead) {
      for (const bool k : keep) {
        layout_.prefetch = static_cast<std::uint8_t>(std::min<std::int64_t>(n, 255));
        layout_.keep_weight_shard = k;
        out_.push_back(layout_);
      }
    }
  }

  const SpaceOf& of_;
  const Space& space_;
  Layout layout_;
  bool two_tied_;
  std::vector<Layout> out_;
};

/// All else that a layout of a cut is: what is recomputed, microbatches, schedules and pieces.
/// Whatever the sharing, as that says nothing of sequences or layers.
class Shapes {
 public:
  Shapes(const SpaceOf& of, const Layout& cut) : of_(of), space_(of.space), layout_(cut) {}

  std::vector<Layout> run() {
    activations();
    return std::move(out_);
  }

 private:
  void activations() {
    const std::int64_t tokens = of_.workload.sequence_length / layout_.cp;
    for (const bool sp : {false, true}) {
      if (layout_.tp == 1 ? sp : !allows(space_.sequence_parallel, sp)) continue;
      if (sp && tokens % layout_.tp != 0) continue;
      layout_.sequence_parallel = sp;
      for (const Recompute r : kRecomputes) {
        const bool searched = recomputes(r, of_.model, of_.workload, of_.strategy);
        if (space_.recompute.empty() ? !searched : !allows(space_.recompute, r)) continue;
        layout_.recompute = r;
        microbatches();
      }
    }
  }
  void microbatches() {
    const std::int64_t sequences = of_.workload.global_batch / layout_.replicas();
    for (const std::int64_t b : divisors(sequences, space_.micro_batch)) {
      layout_.micro_batch = static_cast<std::int32_t>(b);
      schedules(sequences / b);
    }
  }
  void schedules(std::int64_t microbatches) {
    if (layout_.pp == 1) return without_pipeline(microbatches);
    for (const ScheduleKind& kind : kSchedules) {
      const bool searched = kind.searched || kind.schedule == of_.base.schedule;
      if (space_.schedule.empty() ? !searched : !allows(space_.schedule, kind.schedule)) {
        continue;
      }
      const bool pairs = layout_.pp % 2 == 0 && microbatches > 1;
      if (kind.shape == PipelineShape::kBothWays && !pairs) continue;  // S036, S038
      if (must_pair() && !can_pair({.schedule = kind.schedule}, layout_.pp)) continue;  // S039
      layout_.schedule = kind.schedule;
      if (kind.most_chunks == 1) {
        pieces(1);
      } else if (kind.schedule != Schedule::kInterleaved ||
                 groups_fit(turns(), layout_.pp, microbatches)) {
        const std::int64_t most = std::min(kind.most_chunks, of_.model.layers / layout_.pp);
        for (std::int64_t v = kind.fewest_chunks; v <= most; ++v) {
          if (kind.most_chunks == 2 || allows(space_.chunks, v)) pieces(v);
        }
      }
    }
  }
  /// Every schedule is 1F1B then, but for GPipe, which is tried where somebody asks for it, and of
  /// one microbatch 1F1B too.
  void without_pipeline(std::int64_t microbatches) {
    const std::vector<Schedule> asked =
        space_.framework_schedules ? std::vector<Schedule>() : space_.schedule;
    const auto is_gpipe = [](Schedule s) { return s == Schedule::kGpipe; };
    const bool gpipe =
        asked.empty() ? is_gpipe(of_.base.schedule) : allows(asked, Schedule::kGpipe);
    const bool one_plan = gpipe && !must_pair() && microbatches == 1;
    if (one_plan && is_gpipe(of_.base.schedule)) {
      layout_.schedule = Schedule::kGpipe;
      return pieces(1);
    }
    if (asked.empty() || !std::ranges::all_of(asked, is_gpipe)) {
      layout_.schedule = Schedule::k1f1b;
      pieces(1);
      if (one_plan) return;
    }
    if (!gpipe || must_pair()) return;  // S039
    layout_.schedule = Schedule::kGpipe;
    pieces(1);
  }
  /// As strategy_of has them.
  PipelineOptions turns() const {
    return {.microbatch_group =
                layout_.pp == of_.base.pp ? of_.strategy.pipeline.microbatch_group : 0};
  }
  bool must_pair() const {
    return of_.strategy.pipeline.exchange_overlap == ExchangeOverlap::kPasses;
  }
  void pieces(std::int64_t chunks) {
    layout_.chunks = static_cast<std::int16_t>(chunks);
    const std::int64_t count = PieceMap(layout_.schedule, layout_.pp, chunks).count();
    const Layout& base = of_.base;
    const bool as_base = layout_.pp == base.pp && chunks == base.chunks;
    const bool has_ends = base.first_layers >= 0 || base.last_layers >= 0;
    layout_.listed_pieces = count == of_.listed_pieces;
    if (layout_.listed_pieces) {
      layout_.first_layers = layout_.last_layers = -1;
    } else if (has_ends && count > 1 && (as_base || base.pp == 1)) {
      if (!can_share_evenly(of_.model.layers, count, of_.strategy.pipeline)) return;  // S030
      layout_.first_layers = base.first_layers, layout_.last_layers = base.last_layers;
    } else if (!share_layers(of_.model.layers, count, layout_)) {
      return;
    }
    recomputed_layers((of_.model.layers + count - 1) / count);
  }
  /// Fewer than the `most` layers of the largest piece, of which to recompute as many.
  std::vector<std::int64_t> some_layers(std::int64_t most) const {
    std::vector<std::int64_t> out = space_.recompute_layers;
    const std::int64_t fewest = out.empty() ? 1 : 0;
    if (out.empty()) out = {most / 4, most / 2, most - most / 4};
    std::erase_if(out, [&](std::int64_t n) { return n < fewest || n >= most; });
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  /// `most`: layers of the largest piece.
  void recomputed_layers(std::int64_t most) {
    layout_.recompute_layers = -1;
    const bool some = layout_.recompute == Recompute::kFull;
    const auto is_all = [most](std::int64_t n) { return n < 0 || n >= most; };
    const std::vector<std::int64_t>& asked = space_.recompute_layers;
    if (!some || asked.empty() || std::ranges::any_of(asked, is_all)) out_.push_back(layout_);
    if (!some) return;
    for (const std::int64_t n : some_layers(most)) {
      layout_.recompute_layers = static_cast<std::int16_t>(n);
      out_.push_back(layout_);
    }
    layout_.recompute_layers = -1;
  }

  const SpaceOf& of_;
  const Space& space_;
  Layout layout_;
  std::vector<Layout> out_;
};

/// Of a cut or a part of one: each of its shapes with each of its sharings.
struct LayoutsOfCut {
  std::vector<Layout> sharings, shapes;
  std::size_t begin = 0;  // of theirs among all
  std::size_t count() const { return sharings.size() * shapes.size(); }
};
/// Where it matters to sharings whether a shape has both ends on one stage, such shapes apart.
std::vector<LayoutsOfCut> layouts_of(const SpaceOf& of, const Layout& cut) {
  std::vector<Layout> shapes = Shapes(of, cut).run();
  if (!has_two_tied(of, cut)) return {{Sharings(of, cut, false).run(), std::move(shapes)}};
  std::vector<Layout> met;
  std::ranges::copy_if(shapes, std::back_inserter(met),
                       [](const Layout& l) { return ends_meet(l); });
  std::erase_if(shapes, [](const Layout& l) { return ends_meet(l); });
  return {{Sharings(of, cut, true).run(), std::move(shapes)},
          {Sharings(of, cut, false).run(), std::move(met)}};
}

/// Layouts that a thread writes at a time, about.
constexpr std::size_t kWrittenAtOnce = 16384;

/// Those of some of a cut's shapes.
struct ShapesOfCut {
  const LayoutsOfCut& cut;
  std::size_t first, last;

  void write(Layouts& out) const {
    std::size_t at = cut.begin + first * cut.sharings.size();
    for (std::size_t shape = first; shape < last; ++shape) {
      for (const Layout& sharing : cut.sharings) out[at++] = shared_as(sharing, cut.shapes[shape]);
    }
  }
};

std::vector<ShapesOfCut> pieces_to_write(const std::vector<LayoutsOfCut>& cuts) {
  std::vector<ShapesOfCut> out;
  for (const LayoutsOfCut& cut : cuts) {
    if (cut.count() == 0) continue;
    const std::size_t step = std::max<std::size_t>(1, kWrittenAtOnce / cut.sharings.size());
    for (std::size_t first = 0; first < cut.shapes.size(); first += step) {
      out.push_back({cut, first, std::min(first + step, cut.shapes.size())});
    }
  }
  return out;
}

}  // namespace

Layouts all_layouts(const SpaceOf& of, int threads) {
  const std::vector<Layout> cuts = Cuts(of).run();
  std::vector<std::vector<LayoutsOfCut>> of_cut(cuts.size());
  in_parallel(cuts.size(), threads, [&](std::size_t i) { of_cut[i] = layouts_of(of, cuts[i]); });
  std::vector<LayoutsOfCut> parts;
  std::size_t n = 0;
  for (std::vector<LayoutsOfCut>& cut : of_cut) {
    for (LayoutsOfCut& part : cut) {
      part.begin = n, n += part.count();
      parts.push_back(std::move(part));
    }
  }
  Layouts out(n);
  const std::vector<ShapesOfCut> pieces = pieces_to_write(parts);
  in_parallel(pieces.size(), threads, [&](std::size_t i) { pieces[i].write(out); });
  return out;
}

}  // namespace plait
