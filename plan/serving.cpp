#include "plan/serving.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "plan/refusal.h"
#include "plan/strategies/inference.h"

namespace plait {
namespace {

/// Each rank holds at least one key head: where tp exceeds them they are repeated (vLLM's
/// QKVParallelLinear, num_kv_head_replicas).
Model with_key_heads_for(Model m, std::int64_t tp) {
  if (tp > m.kv_heads && m.kv_heads > 0 && tp % m.kv_heads == 0) m.kv_heads = tp;
  m.dropout = 0;
  return m;
}

Workload forward_workload(const Step& step, const ServingPrecision& precision) {
  Workload w;
  w.sequence_length = step.tokens();
  w.global_batch = 1;
  w.precision.weights = w.precision.matmul = precision.activations;
  return w;
}

void require_served(const Model& m, const Step& step, const ServingLayout& layout) {
  if (m.experts > 0) {
    throw refusal("S095", "serving a mixture of experts is not planned", "model.experts", "0",
                  "choose a model without experts");
  }
  PLAIT_CHECK(step.tokens() > 0, "a step without tokens");
  PLAIT_CHECK(static_cast<std::int64_t>(layout.map.layers.size()) == m.layers,
              "a map that does not name a place for each layer");
  const Mesh& mesh = layout.mesh;
  for (const Axis axis : {Axis::kFsdp, Axis::kCp, Axis::kUlysses, Axis::kEp}) {
    if (mesh[axis] == 1) continue;
    const std::string name(name_of(axis));
    throw refusal("S061", "serving is not planned over the axis " + name, "strategy." + name, "1",
                  "split over tp, pp or dp instead");
  }
}

/// Writes the stages' programs: a walk through embedding, layers and head, with a message wherever
/// the next part is on another stage.
class ProgramWriter {
 public:
  ProgramWriter(Draft& d, const LayerMap& map) : d_(d), map_(map) {
    d_.programs.resize(static_cast<std::size_t>(d_.mesh()[Axis::kPp]));
    embed_ = keep(d_.embed_forward), layer_ = keep(d_.layers[0].kept.forward);
    head_ = keep(d_.head_forward);
  }

  void run() {
    at_ = map_.embedding.stage;
    call(embed_, 0);
    std::int32_t layer = 0;
    for (const LayerPlace& place : map_.layers) {
      go(place.stage, layer);
      call(layer_, layer++);
    }
    go(map_.head.stage, layer);
    call(head_, layer);
  }

 private:
  BlockId keep(Block& block) {
    d_.blocks.push_back(std::move(block));
    return static_cast<BlockId>(d_.blocks.size() - 1);
  }
  void call(BlockId block, std::int32_t layer) {
    d_.programs[static_cast<std::size_t>(at_)].calls.push_back({block, 0, layer, 0, -1});
  }
  void go(std::int32_t stage, std::int32_t layer) {
    if (stage == at_) return;
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
    send_ = keep(send), receive_ = keep(receive);
  }

  Draft& d_;
  const LayerMap& map_;
  BlockId embed_, layer_, head_;
  std::optional<BlockId> send_, receive_;
  std::int32_t at_ = 0;
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
  return sum * static_cast<double>(plan.ranks_per_stage());
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
  const Model m = with_key_heads_for(model, tp);
  return Bytes(2 * m.kv_width() / tp * size_of(precision.kv_cache));
}

Plan make_serving_plan(const Model& given, const Step& step, const ServingPrecision& precision,
                       const ServingLayout& layout, std::int64_t cache_tokens) {
  require_served(given, step, layout);
  const Model model = with_key_heads_for(given, layout.mesh[Axis::kTp]);
  const Workload workload = forward_workload(step, precision);
  Strategy strategy;
  strategy.mesh = layout.mesh;
  Draft draft(model, workload, strategy);
  write_layers(draft);
  apply_tensor_parallel(draft);
  keep_forward(draft);
  sample_tokens(draft, step);
  apply_weight_formats(draft, precision);
  insert_collectives(draft);
  gather_logits(draft);
  for (Block* b : {&draft.embed_forward, &draft.layers[0].kept.forward, &draft.head_forward}) {
    fit_sizes(draft, *b);
  }
  attend_to_cache(draft, step, precision.kv_cache, cache_tokens);
  ProgramWriter(draft, layout.map).run();

  Plan plan;
  plan.name = model.name;
  plan.mesh = layout.mesh;
  plan.layers = model.layers;
  plan.microbatches = 1;
  plan.tokens_per_step = step.tokens() * layout.mesh[Axis::kDp];
  plan.tensors = std::move(draft.tensors);
  plan.blocks = std::move(draft.blocks);
  plan.programs = std::move(draft.programs);
  plan.model_flops = flops_of(plan);
  return plan;
}

}  // namespace plait
