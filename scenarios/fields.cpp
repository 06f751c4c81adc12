#include "scenarios/fields.h"

#include "model/presets.h"
#include "plan/schedule.h"

namespace plait {
namespace {

constexpr std::int64_t kLargestAxis = std::int64_t{1} << 24;

/// Those values, by their names.
template <class E>
Choice<E> choice_of(std::initializer_list<E> values) {
  Choice<E> out;
  for (const E v : values) out.values.emplace_back(name_of(v), v);
  return out;
}

Choice<DType> product_types() {
  return choice_of({DType::kBf16, DType::kFp16, DType::kFp32, DType::kFp8});
}

Choice<DType> float_types() { return choice_of({DType::kBf16, DType::kFp16, DType::kFp32}); }

Choice<AxisSet> expert_axes() {
  const AxisSet ep = Axis::kEp, cp = kContextAxes, tp = Axis::kTp;
  return {{{"ep", ep}, {"ep+tp", ep | tp}, {"cp+ep", cp | ep}, {"cp+ep+tp", cp | ep | tp}}};
}

const Table<Precision>& precision_table() {
  static const Table<Precision> table(
      "workload.precision",
      {
          field("weights", &Precision::weights, float_types(),
                "Weights in forward and backward, and activations."),
          field("gradients", &Precision::gradients, float_types(), "Accumulated gradients."),
          field("reduction", &Precision::reduction, float_types(), "Gradients on the wire.")
              .otherwise("the type of `gradients`"),
          field("master", &Precision::master, float_types(),
                "The optimizer's copy of the weights; the type of `weights` means that there is "
                "none."),
          field("moments", &Precision::moments, float_types(), "Adam's two moments."),
          field("matmul", &Precision::matmul, product_types(),
                "What the products of the linear layers read: `fp8` casts inputs, weights and "
                "gradients as Transformer Engine does; else the type of `weights`.")
              .otherwise("the type of `weights`"),
      },
      "weights");
  return table;
}

Choice<Schedule> schedules() {
  Choice<Schedule> out;
  for (const ScheduleKind& k : kSchedules) out.values.emplace_back(k.name, k.schedule);
  return out;
}

const Table<PassProfile>& profile_table() {
  using P = PassProfile;
  const Real duration{.min = 1e-6, .max = 1e6};
  static const Table<P> table(
      "strategy.pipeline.profile",
      {
          field("forward", &P::forward, duration, "A forward pass of a stage."),
          field("backward", &P::backward, duration, "B, the gradient of its input."),
          field("weights", &P::weights, duration, "W, the gradients of its weights."),
          field("message", &P::message, Real{.min = 0, .max = 1e6},
                "From the end of a pass to the beginning of the one that waits for it."),
          field("kept", &P::kept, Real{.min = 0, .max = 1},
                "Of the activations of a microbatch, what B leaves for W."),
      });
  return table;
}

const Table<PipelineOptions>& pipeline_table() {
  using P = PipelineOptions;
  static const Table<P> table(
      "strategy.pipeline",
      {
          field("schedule", &P::schedule, schedules(),
                "Order of forward and backward passes on a stage. The zero-bubble schedules (zb-*, "
                "dualpipe-v) fill waits with the weights' gradients; zb-v and dualpipe-v place two "
                "chunks per stage in the shape of a V; `sequential` keeps one stage at work at a "
                "time.")
              .searchable(),
          field("chunks", &P::chunks, Int{.max = 1024},
                "Model chunks (virtual stages) per rank: 2 or more with `interleaved`, 2 with "
                "`zb-v` and `dualpipe-v`, else 1.")
              .searchable(),
          field("first_stage_layers", &P::first_stage_layers, Int{.min = -1},
                "Layers of the first chunk; -1: an even share."),
          field("last_stage_layers", &P::last_stage_layers, Int{.min = -1},
                "Layers of the last chunk; -1: an even share."),
          field("stage_layers", &P::stage_layers, List{Int{.min = 0}},
                "Layers of every piece (pp * chunks of them), in the order of the model; empty: "
                "even shares."),
          field("profile", &P::profile, Nested{&profile_table()},
                "What zb-1p and zb-2p are laid out for: durations in any common unit."),
      },
      "schedule");
  return table;
}

const Table<RecomputeOptions>& recompute_table() {
  using R = RecomputeOptions;
  static const Table<R> table(
      "strategy.recompute",
      {
          field("kind", &R::kind,
                choice_of(
                    {Recompute::kNone, Recompute::kSelective, Recompute::kOps, Recompute::kFull}),
                "What the backward pass computes again instead of keeping: nothing, the attention "
                "core, everything but attention, every other product and the results of "
                "reduce_scatter (`ops`), or whole layers.")
              .searchable(),
          field("layers", &R::layers, Int{.min = -1},
                "With `full`, only so many layers of each chunk; -1: all.")
              .searchable(),
          field("every", &R::every, Int{.min = 1},
                "With `full`, only each layer of a stage whose number is a multiple of this."),
      },
      "kind");
  return table;
}

const Table<DataParallelOptions>& data_table() {
  using D = DataParallelOptions;
  static const Table<D> table(
      "strategy.data",
      {
          field("bucket", &D::bucket, Amount<Bytes>{.min = 1},
                "Gradients are reduced in pieces of about this size."),
          field("overlap", &D::overlap, Flag{}, "Reduce while the backward pass goes on."),
      });
  return table;
}

const Table<FsdpOptions>& fsdp_table() {
  using F = FsdpOptions;
  static const Table<F> table(
      "strategy.fsdp_options",
      {
          field("reshard_after_forward", &F::reshard_after_forward, Flag{},
                "Drop gathered weights after the forward pass and gather them again for backward.")
              .searchable(),
          field("prefetch", &F::prefetch, Int{.min = 0, .max = 1024},
                "Layers gathered ahead of the one that computes.")
              .searchable(),
      });
  return table;
}

const Table<ContextOptions>& context_table() {
  using C = ContextOptions;
  static const Table<C> table(
      "strategy.context",
      {
          field("kind", &C::kind,
                choice_of({ContextKind::kAllGather, ContextKind::kUlysses, ContextKind::kRing,
                           ContextKind::kHybrid}),
                "How attention meets the keys and values of all tokens: gathers them, exchanges "
                "tokens for heads (`ulysses`), passes them round a ring, or both of these "
                "(`hybrid`)."),
          field("ulysses", &C::ulysses, Int{.max = kLargestAxis},
                "With `hybrid`, how many of the cp ranks exchange heads; the others form rings."),
      },
      "kind");
  return table;
}

const Table<TensorOptions>& tensor_table() {
  static const Table<TensorOptions> table(
      "strategy.tensor",
      {
          field("overlap", &TensorOptions::overlap,
                choice_of({TensorOverlap::kNone, TensorOverlap::kRing}),
                "`ring`: products beside an all_gather or reduce_scatter of tp run in tp pieces, "
                "which travel round a ring meanwhile; with sequence_parallel."),
      },
      "overlap");
  return table;
}

const Table<ZeroPlusPlusOptions>& zero_plus_plus_table() {
  using Z = ZeroPlusPlusOptions;
  static const Table<Z> table(
      "strategy.zero_plus_plus",
      {
          field("secondary_shard", &Z::secondary_shard, Flag{},
                "hpZ: zero_stage 3 shards over dp and fsdp; backward gathers within fsdp alone."),
          field("quantized_weights", &Z::quantized_weights, Flag{},
                "qwZ: weights are gathered in int8."),
          field("quantized_gradients", &Z::quantized_gradients, Flag{},
                "qgZ: gradients are exchanged in int4, within fsdp and then over dp."),
      });
  return table;
}

}  // namespace

const Table<Model>& model_table() {
  static const Table<Model> table(
      "model",
      {
          field("name", &Model::name, Text{}, "What reports call it.").otherwise("\"custom\""),
          field("layers", &Model::layers, Int{.max = 100'000}, "Transformer layers, L.").required(),
          field("hidden", &Model::hidden, Int{.max = 1 << 24}, "Width of the residual stream, h.")
              .required(),
          field("ffn_hidden", &Model::ffn_hidden, Int{.max = 1 << 26},
                "Inner width of the MLP (of one gate when gated).")
              .otherwise("4 * hidden"),
          field("heads", &Model::heads, Int{.max = 1 << 16}, "Query heads, a.").required(),
          field("kv_heads", &Model::kv_heads, Int{.max = 1 << 16},
                "Key and value heads; fewer than `heads` is grouped-query attention.")
              .otherwise("heads"),
          field("head_dim", &Model::head_dim, Int{.max = 1 << 16}, "Width of one head.")
              .otherwise("hidden / heads"),
          field("vocab", &Model::vocab, Int{.max = 1 << 28},
                "Vocabulary as the embedding stores it, V.")
              .required(),
          field("max_positions", &Model::max_positions, Int{.max = 1 << 28},
                "Rows of a learned position table; the longest sequence.")
              .otherwise("sequence_length"),
          field("norm", &Model::norm,
                Choice<NormKind>{
                    {{"layernorm", NormKind::kLayerNorm}, {"rmsnorm", NormKind::kRmsNorm}}},
                "LayerNorm has a bias, RMSNorm has none."),
          field("activation", &Model::activation,
                Choice<ActivationKind>{{{"gelu", ActivationKind::kGelu},
                                        {"silu", ActivationKind::kSilu},
                                        {"relu", ActivationKind::kRelu}}},
                "Of the MLP."),
          field("gated_mlp", &Model::gated_mlp, Flag{}, "Two input projections and a product."),
          field("positions", &Model::positions,
                Choice<PositionKind>{{{"learned", PositionKind::kLearned},
                                      {"rotary", PositionKind::kRotary},
                                      {"none", PositionKind::kNone}}},
                "How a token knows its position."),
          field("tied_embeddings", &Model::tied_embeddings, Flag{},
                "Logits use the token embedding."),
          field("qkv_bias", &Model::qkv_bias, Flag{}, "Bias of the query-key-value projection."),
          field("attention_output_bias", &Model::attention_output_bias, Flag{},
                "Bias of the projection behind attention."),
          field("mlp_bias", &Model::mlp_bias, Flag{}, "Biases of the MLP."),
          field("parallel_attention", &Model::parallel_attention, Flag{},
                "Attention and MLP side by side (Falcon, GPT-J)."),
          field("experts", &Model::experts, Int{.min = 0, .max = 1 << 16},
                "Experts of a mixture, E; 0: every layer has one MLP."),
          field("experts_per_token", &Model::experts_per_token, Int{.min = 0, .max = 1 << 16},
                "Experts that a token meets, k."),
          field("expert_ffn_hidden", &Model::expert_ffn_hidden, Int{.min = 0, .max = 1 << 26},
                "Inner width of one expert's MLP; 0: ffn_hidden."),
          field("shared_ffn_hidden", &Model::shared_ffn_hidden, Int{.min = 0, .max = 1 << 26},
                "Inner width of the experts, together, that see every token; 0: none."),
          field("first_dense_layers", &Model::first_dense_layers, Int{.min = 0, .max = 100'000},
                "Layers before the first one with experts."),
          field("moe_every", &Model::moe_every, Int{.max = 100'000},
                "Of the layers from there on, each so-many-th has experts."),
          field("dropout", &Model::dropout, Real{.min = 0, .max = 1},
                "Probability, on attention weights and both residual branches."),
      });
  return table;
}

const Table<ModelPart>& model_part_table() {
  static const Table<ModelPart> table = [] {
    Table<ModelPart> t("model",
                       {
                           field("preset", &ModelPart::preset, Text{preset_names()},
                                 "A known model; the other keys change it.")
                               .otherwise("none"),
                           field("hf_config", &ModelPart::hf_config, Text{},
                                 "Path of a Hugging Face config.json, relative to this file.")
                               .otherwise("none"),
                       },
                       "preset");
    t.include(&ModelPart::model, model_table());
    return t;
  }();
  return table;
}

const Table<Workload>& workload_table() {
  static const Table<Workload> table(
      "workload",
      {
          field("sequence_length", &Workload::sequence_length, Int{.max = 1 << 28}, "Tokens, s.")
              .required(),
          field("global_batch", &Workload::global_batch, Int{.max = 1 << 28},
                "Sequences per optimizer step over all ranks.")
              .required(),
          field("micro_batch", &Workload::micro_batch, Int{.max = 1 << 20},
                "Sequences per forward pass of one data-parallel rank, b.")
              .searchable(),
          field("precision", &Workload::precision, Nested{&precision_table()},
                "Element types of the training state."),
          field("capacity_factor", &Workload::capacity_factor, Real{.min = 0, .max = 1024},
                "Slots of each expert for a sequence's tokens, over an even share of them; tokens "
                "beyond are dropped. 0: none are dropped."),
          field("expert_skew", &Workload::expert_skew, Real{.min = 1, .max = 1024},
                "Where no tokens are dropped: tokens of the busiest expert rank over the mean. 1: "
                "balanced."),
          field("flash_attention", &Workload::flash_attention, Flag{}, "Fused attention kernels."),
          field("gradient_clipping", &Workload::gradient_clipping, Flag{},
                "Global gradient norm before the optimizer."),
      });
  return table;
}

const Table<StrategyPart>& strategy_table() {
  using S = StrategyPart;
  const Int axis{.max = kLargestAxis};
  static const Table<S> table(
      "strategy",
      {
          field("pp", &S::pp, axis, "Pipeline stages.").searchable(),
          field("dp", &S::dp, axis, "Replicas of the parameters.")
              .otherwise("world size / (pp * fsdp * cp * ep * tp)")
              .searchable(),
          field("fsdp", &S::fsdp, axis, "Ranks that shard the parameters, gradients and optimizer.")
              .searchable(),
          field("cp", &S::cp, axis, "Ranks that share the tokens of each sequence.").searchable(),
          field("ep", &S::ep, axis,
                "Ranks that share out the experts and are data-parallel in all else.")
              .searchable(),
          field(
              "expert_axes", &S::expert_axes, expert_axes(),
              "Axes that divide the experts. With `tp`, experts are whole and the ranks along tp "
              "have different ones; else each is split over tp. With `cp`, so do those along cp."),
          field("tp", &S::tp, axis, "Ranks that split each layer's matrices.").searchable(),
          field("sequence_parallel", &S::sequence_parallel, Flag{},
                "Megatron SP: norms and residuals sharded over tp along the sequence.")
              .searchable(),
          field("zero_stage", &S::zero_stage, Int{.min = 0, .max = 3},
                "Sharded over fsdp (over dp where fsdp is 1), cp and ep: 0 nothing, 1 optimizer "
                "state, "
                "2 and gradients, 3 and parameters.")
              .otherwise("3 where fsdp > 1, else 0")
              .searchable(),
          field("keep_weight_shard", &S::keep_weight_shard, Flag{},
                "ZeRO-3 keeps a low-precision shard beside the master shard (DeepSpeed).")
              .searchable(),
          field("pipeline", &S::pipeline, Nested{&pipeline_table()}, "Pipeline schedule."),
          field("recompute", &S::recompute, Nested{&recompute_table()},
                "Activation recomputation."),
          field("data", &S::data, Nested{&data_table()}, "Reduction of gradients."),
          field("fsdp_options", &S::fsdp_options, Nested{&fsdp_table()}, "Gathering of weights."),
          field("context", &S::context, Nested{&context_table()}, "Attention over cp."),
          field("tensor", &S::tensor, Nested{&tensor_table()}, "Communication over tp."),
          field("zero_plus_plus", &S::zero_plus_plus, Nested{&zero_plus_plus_table()},
                "ZeRO++ on zero_stage 3."),
      });
  return table;
}

const Table<FrameworkMemory>& memory_table() {
  using M = FrameworkMemory;
  static const Table<M> table(
      "memory",
      {
          field("context", &M::context, Amount<Bytes>{}, "Driver context and loaded kernels."),
          field("fragmentation", &M::fragmentation, Real{.min = 0, .max = 1},
                "What the allocator reserves beyond live tensors, as a fraction of them."),
          field("step_bytes_per_parameter", &M::step_bytes_per_parameter, Real{.min = 0, .max = 64},
                "Temporaries of the optimizer step, per parameter that a rank updates."),
          field("loss_bytes_per_logit", &M::loss_bytes_per_logit, Real{.min = 0, .max = 64},
                "Copies of the logits that the loss holds beyond the plan's."),
          field("buckets", &M::buckets, Amount<Bytes>{}, "Flat communication buffers."),
      });
  return table;
}

}  // namespace plait
