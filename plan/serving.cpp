#include "plan/serving.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "plan/refusal.h"
#include "plan/require_hybrid.h"
#include "plan/require_model.h"
#include "plan/strategies/inference.h"
#include "plan/strategies/processor.h"

namespace plait {
namespace {

/// Each rank holds at least one key head: where tp exceeds them they are repeated (vLLM's
/// QKVParallelLinear, num_kv_head_replicas).
Model with_key_heads_for(Model m, std::int64_t tp) {
  const bool divides = m.heads % tp == 0;  // else the planner says that it does not
  if (divides && tp > m.kv_heads && m.kv_heads > 0 && tp % m.kv_heads == 0) m.kv_heads = tp;
  m.dropout = 0, m.attention_dropout = Model::kAsResiduals;
  return m;
}

Workload forward_workload(const Step& step, const ServingPrecision& precision) {
  Workload w;
  w.sequence_length = step.tokens();
  w.global_batch = 1;
  w.precision.weights = w.precision.matmul = precision.activations;
  w.flash_attention = precision.fused_attention;
  return w;
}

bool leaves_device(const LayerMap& map, bool row_split) {
  const auto away = [](const LayerPlace& p) { return p.residence != Residence::kDevice; };
  return map.cache_on_host || map.host_experts > 0 || (!row_split && away(map.embedding)) ||
         away(map.head) || std::ranges::any_of(map.layers, away);
}

void require_served(const Model& m, const Step& step, const ServingLayout& layout) {
  PLAIT_CHECK(step.tokens() > 0, "a step without tokens");
  PLAIT_CHECK(static_cast<std::int64_t>(layout.map.layers.size()) == m.layers,
              "a map that does not name a place for each layer");
  if (!m.generates()) {
    throw refusal("S144", "an encoder does not continue a text token by token",
                  m.causal ? "model.masked_lm_head" : "model.causal",
                  "model.causal = true, model.masked_lm_head = false and model.token_types = 0",
                  "serve a decoder; an encoder's training is planned with `workload`");
  }
  require_hybrid(m);
  if (!m.layer_pattern.empty() && leaves_device(layout.map, layout.row_split)) {
    throw refusal("S158", "layers of a pattern are served on devices", "serving.layers.deal",
                  "\"even\" and cache_on_host = false with model.layer_pattern",
                  "remove serving.layers, or serve a model without a pattern",
                  {"serving.layers.cache_on_host", "model.layer_pattern"});
  }
  const Mesh& mesh = layout.mesh;
  if (layout.row_split && (mesh[Axis::kPp] > 1 || m.experts > 0)) {
    throw refusal("S192", "a model split by rows over pipeline stages, or one with experts",
                  "serving.layers.split",
                  "\"layer\", or strategy.pp = 1 and a model without experts",
                  "split by layers: strategy.pp", {"strategy.pp", "model.experts"});
  }
  if (mesh[Axis::kTp] > 1 && leaves_device(layout.map, layout.row_split)) {
    throw refusal("S067", "layers off the device together with tensor parallelism", "strategy.tp",
                  "1, or all layers on devices", "split by layers: strategy.pp",
                  {"serving.layers"});
  }
  if (mesh[Axis::kTp] > 1 && m.qk_norm_across_heads) {
    throw refusal(
        "S147", "a norm of the queries of all heads is planned where one rank has them all",
        "strategy.tp", "1 with model.qk_norm_across_heads",
        m.experts > 0
            ? "set it to 1, and strategy.pp, or strategy.dp with serving.expert_parallel, "
              "to more"
            : "set it to 1, and strategy.pp or dp to more",
        {"model.qk_norm_across_heads"});
  }
  for (const Axis axis : {Axis::kFsdp, Axis::kCp, Axis::kUlysses, Axis::kEp, Axis::kEtp}) {
    if (mesh[axis] == 1) continue;
    const std::string name(axis == Axis::kEtp ? "expert_tp" : name_of(axis));
    throw refusal("S061", "serving is not planned over the axis " + name, "strategy." + name, "1",
                  m.experts > 0 && (axis == Axis::kEp || axis == Axis::kEtp)
                      ? "serving.expert_parallel = true deals experts to the ranks of dp and tp"
                      : "split over tp, pp or dp instead");
  }
}

/// Writes the stages' programs: a walk through embedding, layers and head, with a message wherever
/// the next part is on another stage and a copy wherever it runs on the other side of the host
/// link.
class ServingWriter {
 public:
  ServingWriter(Draft& d, const LayerMap& map, std::int64_t tokens)
      : d_(d),
        map_(map),
        copies_weights_(tokens >= kOffloadedTokens),
        memory_(d, Place::kHost),
        storage_(d, Place::kStorage) {
    d_.programs.resize(static_cast<std::size_t>(d_.mesh()[Axis::kPp]));
  }

  void run() {
    at_ = map_.embedding.stage;
    on_host_ = map_.embedding.residence == Residence::kProcessor;
    call(block_of({.name = Part::kEmbedding, .residence = map_.embedding.residence}), 0);
    std::int32_t layer = 0;
    for (const LayerPlace& given : map_.layers) {
      const LayerPlace place = who_computes(given);
      go(place, layer);
      call(
          block_of({Part::kLayer, given.residence, d_.kind_of(layer), map_.experts_on_host(layer)}),
          layer);
      ++layer;
    }
    go(map_.head, layer);
    call(block_of({.name = Part::kHead, .residence = map_.head.residence}), layer);
  }

 private:
  struct Part {
    enum Name : std::uint8_t { kEmbedding, kLayer, kHead } name = kLayer;
    Residence residence = Residence::kDevice;
    std::size_t kind = 0;          // of the layer
    bool experts_on_host = false;  // of a layer on a device
    auto operator<=>(const Part&) const = default;
  };

  BlockId keep(Block block) {
    d_.blocks.push_back(std::move(block));
    return static_cast<BlockId>(d_.blocks.size() - 1);
  }
  BlockId block_of(const Part& part) {
    const auto found = blocks_.find(part);
    return found != blocks_.end() ? found->second : blocks_[part] = keep(made(part));
  }
  const Block& written(const Part& part) const {
    if (part.name == Part::kLayer) return d_.layers[part.kind].kept.forward;
    return part.name == Part::kHead ? d_.head_forward : d_.embed_forward;
  }
  Block made(const Part& part) {
    const auto all = [](const Op&) { return true; };
    Block block = written(part);
    switch (part.residence) {
      case Residence::kDevice: return part.name == Part::kLayer ? on_device(part, block) : block;
      case Residence::kProcessor:
        if (part.name == Part::kLayer && copies_layers()) return from_memory(std::move(block));
        return on_processor(d_, memory_, block, all);
      case Residence::kHost: return with_copied_weights(d_, memory_, Place::kHost, block, all);
      case Residence::kStorage:
        return with_copied_weights(d_, storage_, Place::kStorage, block, all);
    }
    return block;
  }
  /// Layers of the processor of which the device computes all but the cache's new rows. The latents
  /// of attention that has some are not copied.
  bool copies_layers() const { return copies_weights_ && !d_.model.latent_attention(); }
  LayerPlace who_computes(LayerPlace place) const {
    if (place.residence == Residence::kProcessor && copies_layers())
      place.residence = Residence::kDevice;
    return place;
  }
  Block from_memory(Block block) {
    block = with_copied_weights(d_, memory_, Place::kHost, std::move(block),
                                [](const Op&) { return true; });
    block = on_processor(d_, memory_, std::move(block), [this](const Op& op) {
      return reads_cache(op) && (map_.cache_on_host || body_of<Attention>(op) == nullptr);
    });
    return map_.cache_on_host ? block : with_copied_cache(d_, memory_, std::move(block));
  }
  /// A layer of the device, without what the processor has of it.
  Block on_device(const Part& part, Block block) {
    if (!part.experts_on_host && !map_.cache_on_host) return block;
    const auto experts = ops_of_experts(d_, block);
    if (part.experts_on_host && copies_weights_)
      block = with_copied_weights(d_, memory_, Place::kHost, std::move(block), experts);
    const bool moved = part.experts_on_host && !copies_weights_;
    if (!moved && !map_.cache_on_host) return block;
    return on_processor(d_, memory_, std::move(block), [&](const Op& op) {
      return (moved && experts(op)) || (map_.cache_on_host && reads_cache(op));
    });
  }
  bool reads_cache(const Op& op) const {
    return std::ranges::any_of(op.operands, [this](const Operand& o) {
      return d_.tensors[o.tensor].kind == TensorClass::kKvCache;
    });
  }
  void call(BlockId block, std::int32_t layer) {
    d_.programs[static_cast<std::size_t>(at_)].calls.push_back({block, 0, layer, 0, -1});
  }
  void go(const LayerPlace& to, std::int32_t layer) {
    const bool to_host = to.residence == Residence::kProcessor;
    if (on_host_ && (!to_host || to.stage != at_)) cross(false, layer);
    if (to.stage != at_) pass_on(to.stage, layer);
    if (!on_host_ && to_host) cross(true, layer);
  }
  void cross(bool to_host, std::int32_t layer) {
    std::optional<BlockId>& block = to_host ? to_host_ : to_device_;
    if (!block) {
      const TensorId twin = memory_.of(d_.x);
      block = keep({to_host ? "to_host" : "to_device",
                    {to_host ? copied(d_, d_.x, twin) : copied(d_, twin, d_.x)}});
    }
    call(*block, layer);
    on_host_ = to_host;
  }
  void pass_on(std::int32_t stage, std::int32_t layer) {
    const auto stages = static_cast<std::int32_t>(d_.mesh()[Axis::kPp]);
    PLAIT_CHECK((stage - at_ + stages) % stages == 1, "layers do not go on to the next stage");
    if (!send_) exchange();
    call(*send_, layer);
    at_ = stage;
    call(*receive_, layer);
  }
  void exchange() {
    const Bytes bytes = d_.tensors[d_.x].bytes(d_.mesh());
    Block send{"send_forward",
               {{Send{Axis::kPp, 1, bytes},
                 Stream::kSendForward,
                 Phase::kForward,
                 {{d_.x, Use::kRead, 0}}}}};
    Block receive{"recv_forward",
                  {{Recv{Axis::kPp, -1, bytes},
                    Stream::kRecvForward,
                    Phase::kForward,
                    {{d_.x, Use::kWrite, 0}}}}};
    send_ = keep(std::move(send)), receive_ = keep(std::move(receive));
  }

  Draft& d_;
  const LayerMap& map_;
  bool copies_weights_;  // of host memory to the device, which computes with them
  Twins memory_, storage_;
  std::map<Part, BlockId> blocks_;
  std::optional<BlockId> send_, receive_, to_host_, to_device_;
  std::int32_t at_ = 0;
  bool on_host_ = false;
};

Flops flops_of(const Plan& plan) {
  Flops sum;
  for (const Program& program : plan.programs) {
    for (const Call& call : program.calls) {
      for (const Op& op : plan.blocks[call.block].ops) {
        if (const auto* c = std::get_if<Compute>(&op.body)) sum += flops(*c);
      }
    }
  }
  return sum * static_cast<double>(plan.places_per_stage());
}

}  // namespace

LayerMap even_layers(std::int64_t layers, std::int64_t stages) {
  LayerMap map;
  const std::int64_t each = layers / stages, rest = layers % stages;
  for (std::int64_t s = 0; s < stages; ++s) {
    const bool more = s < stages - 1 && s >= stages - 1 - rest;
    map.layers.insert(map.layers.end(), static_cast<std::size_t>(each + (more ? 1 : 0)),
                      {static_cast<std::int32_t>(s)});
  }
  map.head.stage = static_cast<std::int32_t>(stages - 1);
  return map;
}

Bytes kv_bytes_per_token(const Model& model, const ServingPrecision& precision, std::int64_t tp) {
  const std::int64_t size = size_of(precision.kv_cache);
  if (model.latent_attention()) return Bytes((model.kv_lora_rank + model.rope_head_dim) * size);
  const Model m = with_key_heads_for(model, tp);
  return Bytes((m.key_width() + m.value_width()) / tp * size);
}

Bytes state_bytes_per_sequence(const Model& m, const ServingPrecision& p, std::int64_t tp) {
  if (m.recurrent_layers() == 0) return Bytes(0);
  const std::int64_t tokens = (m.conv_width - 1) * m.conv_channels() / tp;
  const std::int64_t states = m.state_width() * m.state_size / tp;
  return Bytes(tokens * size_of(p.activations) + states * size_of(p.states));
}

namespace {

void fit_all_sizes(Draft& draft) {
  for (Block* b : {&draft.embed_forward, &draft.head_forward}) fit_sizes(draft, *b);
  for (LayerKind& kind : draft.layers) fit_sizes(draft, kind.kept.forward);
}

/// The cache of each layer with attention, and the states of those with none.
void read_what_is_kept(Draft& draft, const Step& step, const ServingPrecision& precision,
                       CacheRoom room) {
  if (draft.model.latent_attention()) {
    attend_to_latent_cache(draft, step, precision.kv_cache, room.tokens);
  } else if (draft.model.attention_layers() > 0) {
    attend_to_cache(draft, step, precision.kv_cache, room.tokens);
  }
  if (draft.model.recurrent_layers() > 0) {
    carry_states(draft, step, precision.states, room.sequences);
  }
}

Plan plan_of(Draft& draft, const Step& step, const ServingLayout& layout) {
  Plan plan;
  plan.name = draft.model.name;
  plan.mesh = layout.mesh;
  plan.layers = draft.model.layers;
  plan.microbatches = 1;
  plan.tokens_per_step = step.tokens() * layout.mesh[Axis::kDp];
  plan.tensors = std::move(draft.tensors);
  plan.blocks = std::move(draft.blocks);
  plan.programs = std::move(draft.programs);
  plan.model_flops = flops_of(plan);
  return plan;
}

}  // namespace

Plan make_serving_plan(const Model& given, const Step& step, const ServingPrecision& precision,
                       const ServingLayout& layout, CacheRoom room) {
  require_served(given, step, layout);
  Model model = with_key_heads_for(given, layout.row_split ? 1 : layout.mesh[Axis::kTp]);
  model.mtp_layers = 0;  // modules that predict further tokens are for training
  require_model(model);
  const Workload workload = forward_workload(step, precision);
  Strategy strategy;
  strategy.mesh = layout.mesh;
  const bool dealt = layout.experts == ExpertSharing::kDealt;
  if (dealt) strategy.experts.axes = AxisSet(Axis::kDp) | Axis::kTp;
  Draft draft(model, workload, strategy);
  write_layers(draft);
  if (!layout.row_split) apply_tensor_parallel(draft);
  if (dealt) deal_experts(draft);
  keep_forward(draft);
  meet_few_experts(draft, step, layout.experts);
  sample_tokens(draft, step);
  apply_weight_formats(draft, precision);
  insert_collectives(draft);
  gather_logits(draft);
  if (layout.row_split) split_by_rows(draft);
  fit_all_sizes(draft);
  if (layout.experts == ExpertSharing::kDivided) divide_experts(draft);
  if (layout.experts != ExpertSharing::kNone) gather_replicas(draft, step);
  apply_windows(draft);
  read_what_is_kept(draft, step, precision, room);
  if (precision.fused_elementwise) fuse_elementwise(draft);
  ServingWriter(draft, layout.map, step.tokens()).run();
  return plan_of(draft, step, layout);
}

}  // namespace plait
