#pragma once
// Small scenarios with a space that can be searched by hand.

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "search/evaluate.h"
#include "search/space.h"
#include "tests/sim/draw.h"

namespace plait {

inline Scenario scenario_of(const Case& c) {
  Scenario s;
  s.model = c.model, s.workload = c.workload, s.strategy = c.strategy;
  s.cluster = c.cluster(), s.host = c.host, s.placement = c.placement;
  return s;
}

/// From the inside out: those of a layer and a sequence first, in the order of the mesh, one time
/// in four all as they come.
inline std::vector<Axis> any_order() {
  std::vector<Axis> out = {Axis::kTp, Axis::kEp, Axis::kCp, Axis::kFsdp, Axis::kDp, Axis::kPp};
  const std::ptrdiff_t kept = pick(0, 3) == 0 ? 0 : 3;
  for (auto i = std::ssize(out) - 1; i > kept; --i) {
    std::swap(out[static_cast<std::size_t>(i)], out[static_cast<std::size_t>(pick(kept, i))]);
  }
  return out;
}

/// Experts in every layer, or, one time in two, in some.
inline void mix(Case& c) {
  Model& m = c.model;
  m.experts = 1 << pick(1, 3), m.experts_per_token = pick(1, 2), m.expert_ffn_hidden = m.ffn_hidden;
  m.shared_ffn_hidden = pick(0, 1) * m.ffn_hidden;
  m.mlp_bias = m.parallel_attention = false;
  if (pick(0, 1) == 0) m.first_dense_layers = pick(0, 3), m.moe_every = pick(1, 2);
  for (const AxisSet axes : {kContextAxes, AxisSet(Axis::kTp)}) {
    if (pick(0, 3) == 0) c.strategy.experts.axes = c.strategy.experts.axes | axes;
  }
  c.strategy.experts.tp = pick(1, 2);
  if (pick(0, 3) == 0) c.strategy.experts.dispatch = ExpertDispatch::kAllGather;
  c.strategy.pipeline.exchange_overlap = static_cast<ExchangeOverlap>(pick(0, 2));
  c.workload.expert_skew = 1 + static_cast<double>(pick(0, 2)) / 4;
}

/// Multi-head latent attention.
inline void compress(Case& c) {
  Model& m = c.model;
  m.kv_heads = m.heads, m.v_head_dim = m.head_dim;
  m.rope_head_dim = 2, m.head_dim += m.rope_head_dim;
  m.kv_lora_rank = m.hidden / 2, m.q_lora_rank = pick(0, 1) * m.hidden;
  m.positions = PositionKind::kRotary, m.qkv_bias = false;
}

/// Sliding windows, in all layers or in some.
inline void look_back(Case& c) {
  Model& m = c.model;
  m.attention_window = pick(1, c.workload.sequence_length);
  m.full_attention_first = pick(0, 2), m.full_attention_every = pick(0, 3);
}

/// Modules that predict further tokens behind the last layer.
inline void predict(Case& c) {
  c.model.mtp_layers = pick(1, 2);
  c.model.positions = PositionKind::kRotary;
}

/// Layers with states, alone, behind attention's or in its place, and what stands behind them.
inline void hybridise(Case& c) {
  Model& m = c.model;
  m.positions = PositionKind::kRotary, m.dropout = 0;
  m.state_size = m.state_head_dim = m.head_dim, m.scan_chunk = 8, m.conv_width = pick(2, 4);
  m.state_heads = 12 * pick(1, 2), m.state_groups = 12;
  const std::string all = pick(0, 1) == 0 ? "M*-ma" : "G*-ga";
  const std::string letters = m.experts > 0 ? all + "E" : all;
  m.layer_pattern.clear();
  for (std::int64_t l = 0; l < m.layers; ++l) {
    m.layer_pattern += letters[static_cast<std::size_t>(pick(0, std::ssize(letters) - 1))];
  }
  if (m.mtp_layers > 0) {  // behind a layer like the last one, with experts if others have some
    m.layer_pattern.back() = 'a';
    m.moe_every = 1, m.first_dense_layers = std::min(m.first_dense_layers, m.layers - 1);
  }
  if (c.strategy.recompute.kind == Recompute::kOps) c.strategy.recompute.kind = Recompute::kFull;
}

/// Adapters of some products, and all else frozen.
inline void adapt(Case& c) {
  using T = AdapterTarget;
  const std::vector<std::vector<T>> some = {
      {T::kQkv, T::kOut, T::kUp, T::kDown}, {T::kQ, T::kV}, {T::kDown}, {T::kUp}, {T::kK, T::kOut}};
  c.workload.lora.rank = pick(1, 3) * 2;
  c.workload.lora.targets = some[static_cast<std::size_t>(pick(0, std::ssize(some) - 1))];
  if (pick(0, 2) == 0) {
    c.workload.lora.frozen = FrozenWeights::kNf4;
    c.workload.lora.double_quantized = pick(0, 1) == 0;
  }
  if (c.strategy.recompute.kind == Recompute::kOps) c.strategy.recompute.kind = Recompute::kFull;
}

/// State of training in host memory or on drives, with zero_stage 3 shards of weights too, or what
/// layers keep for their backward passes in host memory, or both.
inline void send_away(Case& c) {
  OffloadOptions& o = c.strategy.offload;
  const std::int64_t what = pick(1, 3);
  if (what != 2) o.optimizer = static_cast<Offload>(pick(1, 2));
  if (what != 2 && pick(0, 1) == 0) o.parameters = o.optimizer, c.strategy.zero_stage = 3;
  if (what == 1) return;
  o.activations = Offload::kCpu;
  if (pick(0, 1) == 0) o.activation_layers = pick(0, 2);
}

/// Layers of two to four pieces, which layouts with as many have.
inline void list_layers(Case& c) {
  std::vector<std::int64_t>& each = c.strategy.pipeline.stage_layers;
  each.assign(static_cast<std::size_t>(pick(2, std::min<std::int64_t>(4, c.model.layers))), 1);
  for (auto left = c.model.layers - std::ssize(each); left > 0; --left) {
    ++each[static_cast<std::size_t>(pick(0, std::ssize(each) - 1))];
  }
}

/// A random machine and model, each third with experts, each fourth with latent attention, of the
/// others each third with windows, each third with modules that predict further tokens, of decoders
/// without latents each third with layers of a pattern, or, where they are dense, adapters; each
/// third with parts of a layer to compute again, some with products of 8 bits in all layers,
/// weights too or not, or all but the last one, some with layers dealt to pieces by a list, some
/// with groups of microbatches of their own, some with state of training away from the device; the
/// batch has divisors.
inline Case searchable() {
  Case c = any_machine();
  c.workload.global_batch = c.strategy.mesh.world_size() * pick(1, 2) * 2;
  c.model.layers = pick(2, 6);
  c.strategy.pipeline = {};
  if (pick(0, 2) == 0) mix(c);
  if (pick(0, 3) == 0) list_layers(c);
  if (pick(0, 3) == 0) c.strategy.pipeline.schedule = Schedule::kGpipe;
  const std::int64_t stages = c.strategy.mesh[Axis::kPp];
  if (stages > 1 && pick(0, 2) == 0) c.strategy.pipeline.microbatch_group = stages + pick(0, 2);
  const bool latents = pick(0, 3) == 0;
  if (latents) {
    compress(c);
  } else if (pick(0, 2) == 0) {
    look_back(c);
  }
  if (pick(0, 2) == 0) predict(c);
  const bool dense = c.model.experts == 0 && c.model.mtp_layers == 0;
  if (!latents && pick(0, 2) == 0) dense&& pick(0, 1) == 0 ? adapt(c) : hybridise(c);
  if (!c.workload.lora.quantizes() && c.machine.preset == "hgx-h100" && pick(0, 2) == 0) {
    c.workload.precision.matmul = DType::kFp8;
    c.workload.precision.plain_last = pick(0, 1);
    if (c.workload.precision.plain_last == 0)
      c.workload.precision.narrow_weights = static_cast<NarrowWeights>(pick(0, 2));
    c.strategy.fsdp.early_scales = pick(0, 1) == 0;
  }
  if (!c.workload.lora.any() && pick(0, 7) == 0) send_away(c);
  if (pick(0, 2) == 0) {
    c.strategy.recompute.modules = {RecomputeModule::kNorms, RecomputeModule::kActivations};
  }
  return c;
}

/// Such a one as `is` says.
template <class Is>
Case searchable(Is&& is) {
  Case c = searchable();
  while (!is(c)) c = searchable();
  return c;
}

inline std::vector<Layout> layouts_of(const Scenario& s, const Space& space = {}) {
  const Layouts all = all_layouts(space_in(s, space));
  return {all.begin(), all.end()};
}

/// Of many, so many taken at random, in their order.
inline std::vector<Layout> some(const std::vector<Layout>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<Layout> out;
  for (std::size_t i = 0; i < most; ++i) {
    const auto begin = static_cast<std::int64_t>(i * all.size() / most);
    const auto end = static_cast<std::int64_t>((i + 1) * all.size() / most);
    out.push_back(all[static_cast<std::size_t>(pick(begin, end - 1))]);
  }
  return out;
}

inline std::string text_of(const Layout& l) {
  std::string out;
  for (const Override& set : settings_of(l)) out += " --set " + set.path + "=" + set.value;
  return out;
}

constexpr SimTime kNoLimit = std::numeric_limits<SimTime>::max();

}  // namespace plait
