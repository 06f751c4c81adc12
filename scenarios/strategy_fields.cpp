#include "plan/schedule.h"
#include "scenarios/fields.h"

namespace plait {
namespace {

constexpr std::int64_t kLargestAxis = std::int64_t{1} << 24;

Choice<AxisSet> expert_axes() {
  const AxisSet ep = Axis::kEp, cp = kContextAxes, tp = Axis::kTp;
  return {{{"ep", ep}, {"ep+tp", ep | tp}, {"cp+ep", cp | ep}, {"cp+ep+tp", cp | ep | tp}}};
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

// NOLINTNEXTLINE(readability-function-size): a table
const Table<PipelineOptions>& pipeline_table() {
  using P = PipelineOptions;
  static const Table<P> table(
      "strategy.pipeline",
      {
          field("schedule", &P::schedule, schedules(),
                "Order of forward and backward passes on a stage. The zero-bubble schedules (zb-*, "
                "dualpipe*, v-*) fill waits with the weights' gradients; zb-v, dualpipe-v, v-half "
                "and v-min place two chunks per stage in the shape of a V; dualpipe holds every "
                "piece on two stages, for microbatches from both ends; `sequential` keeps one "
                "stage at work at a time.")
              .searchable(),
          field("chunks", &P::chunks, Int{.max = 1024},
                "Model chunks (virtual stages) per rank: 2 or more with `interleaved`, 2 with "
                "`zb-v`, `dualpipe`, `dualpipe-v`, `v-half` and `v-min`, else 1.")
              .searchable(),
          field(
              "microbatch_group", &P::microbatch_group, Int{.min = 0},
              "Microbatches that go through a chunk of `interleaved` one behind the other, before "
              "they go through the next one: pp or more; 0: pp."),
          field("first_stage_layers", &P::first_stage_layers, Int{.min = -1},
                "Layers of the first chunk; -1: an even share."),
          field("last_stage_layers", &P::last_stage_layers, Int{.min = -1},
                "Layers of the last chunk; -1: an even share."),
          field("ends_are_layers", &P::ends_are_layers, Flag{},
                "Embedding, last norm and output matrix count as a layer each where layers are "
                "shared out, and the first pieces have one more of what is left over."),
          field("stage_layers", &P::stage_layers, List{Int{.min = 0}},
                "Layers of every piece (pp * chunks of them), in the order of the model; empty: "
                "even shares."),
          field("exchange_overlap", &P::exchange_overlap,
                choice_of(
                    {ExchangeOverlap::kSchedule, ExchangeOverlap::kNone, ExchangeOverlap::kPasses}),
                "Where experts are on several ranks, a forward and a backward pass take turns "
                "layer by layer, so that tokens of one travel while the other computes: the pairs "
                "that dualpipe and dualpipe-v run side by side (`schedule`), nobody, or also each "
                "pair of `interleaved`, or of `1f1b` without stages (`passes`), which holds one "
                "chunk of a microbatch more."),
          field("blocking_sends", &P::blocking_sends,
                choice_of({BlockingSends::kNone, BlockingSends::kPlain, BlockingSends::kAll}),
                "Whose compute waits until what the stage has sent is on its way: nobody's "
                "(`none`), that of schedules of whole passes over one chunk (`plain`: `1f1b`, "
                "`gpipe`, `sequential`), or of `all`."),
          field("scatter_gather", &P::scatter_gather, Flag{},
                "Ranks of tensor parallelism send a part each of what all of them have, and gather "
                "it on the next stage; without sequence_parallel (Megatron-LM until 2022, "
                "DeepSpeed, PaddlePaddle).")
              .silent_by_default(),
          field("profile", &P::profile, Nested{&profile_table()},
                "What zb-1p and zb-2p are laid out for: durations in any common unit."),
      },
      "schedule");
  return table;
}

// NOLINTNEXTLINE(readability-function-size): a table
const Table<RecomputeOptions>& recompute_table() {
  using R = RecomputeOptions;
  static const Table<R> table(
      "strategy.recompute",
      {
          field(
              "kind", &R::kind,
              choice_of({Recompute::kNone, Recompute::kSelective, Recompute::kModules,
                         Recompute::kOps, Recompute::kFull}),
              "What the backward pass computes again instead of keeping: nothing, the attention "
              "core, the `modules` named, everything but attention, every other product and the "
              "results of reduce_scatter (`ops`), or whole layers. Of fused attention, which keeps "
              "no scores, `selective` frees next to nothing and takes time.")
              .searchable(),
          field("layers", &R::layers, Int{.min = -1},
                "With `full`, only so many layers of each chunk; -1: all.")
              .searchable(),
          field("every", &R::every, Int{.min = 1},
                "With `full`, only each layer of a stage whose number is a multiple of this."),
          field("modules", &R::modules,
                List{choice_of({RecomputeModule::kNorms, RecomputeModule::kLatents,
                                RecomputeModule::kActivations, RecomputeModule::kExpertActivations,
                                RecomputeModule::kMlp, RecomputeModule::kSharedExperts,
                                RecomputeModule::kMoe, RecomputeModule::kAttention})},
                "With `modules`, which: norms before attention, delta nets and MLPs (not those "
                "before states, which Megatron-LM keeps), what latent attention makes of its "
                "latents, activation functions of all MLPs or of experts alone, whole MLPs of "
                "layers without experts, shared experts, all of a mixture of experts with the "
                "exchange of tokens, the attention core as `selective` has it."),
          field("keep", &R::keep,
                List{choice_of({KeptResult::kQkv, KeptResult::kAttention, KeptResult::kOut,
                                KeptResult::kUp, KeptResult::kDown})},
                "With `ops`, what is kept, in place of the above: results of the products before "
                "attention, of attention, of the product behind it, of gate and up, of down."),
          field("head", &R::head, Flag{},
                "With `full` and without workload.loss_pieces, the last norm and the output matrix "
                "are computed again too."),
          field("unread", &R::unread, Flag{},
                "With `ops`, products that are kept stay until their backward pass even where "
                "nothing reads them: eager PyTorch, without torch.compile."),
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
                "Gradients are reduced in pieces of about this size; sharded ones (zero_stage 2 "
                "and 3) layer by layer."),
          field("overlap", &D::overlap, Flag{}, "Reduce while the backward pass goes on."),
          field("all_reduce", &D::all_reduce, Flag{},
                "With zero_stage 1: gradients are summed on every rank, not its share alone."),
          field("overlap_gathers", &D::overlap_gathers, Flag{},
                "With `overlap`, and zero_stage 1 or 2 or parameter servers: updated weights are "
                "gathered, or pulled, while the passes of the next step go on (Megatron-LM's "
                "--overlap-param-gather); false: behind the optimizer.")
              .silent_by_default(),
      });
  return table;
}

// NOLINTNEXTLINE(readability-function-size): a table
const Table<FsdpOptions>& fsdp_table() {
  using F = FsdpOptions;
  static const Table<F> table(
      "strategy.fsdp_options",
      {
          field("reshard_after_forward", &F::reshard_after_forward, Flag{},
                "Drop gathered weights after the forward pass and gather them again for backward.")
              .searchable(),
          field("reshard_last_layer", &F::reshard_last_layer, Flag{},
                "The same of the last layer, which the backward pass begins with."),
          field("root", &F::root, Flag{},
                "Embedding, last norm and output matrix are one unit, where there is no pipeline, "
                "and stay gathered from their first use to their last: PyTorch's root module."),
          field("prefetch", &F::prefetch, Int{.min = 0, .max = 255},
                "Layers gathered ahead of the one that computes.")
              .searchable(),
          field("copies", &F::copies,
                choice_of({FsdpCopies::kNone, FsdpCopies::kFsdp1, FsdpCopies::kFsdp2,
                           FsdpCopies::kDeepSpeed}),
                "What is copied between parameters and the buffers that are gathered and reduced: "
                "nothing, or what PyTorch's FSDP1 or FSDP2 or DeepSpeed's ZeRO-3 copies."),
          field("no_sync", &F::no_sync,
                choice_of(
                    {NoSync::kNever, NoSync::kPipelines, NoSync::kPipelines2024, NoSync::kAlways}),
                "Gradients that zero_stage 2 and 3 shard add up whole over the microbatches and "
                "are reduced once (PyTorch's no_sync, set_requires_gradient_sync): never, in "
                "`pipelines`, where weights then stay gathered behind a backward pass (PyTorch's "
                "own; `pipelines_2024`, until November 2025: before a piece's last message), or "
                "always.")
              .silent_by_default(),
          field("replica_sums", &F::replica_sums,
                choice_of({ReplicaSums::kEachMicrobatch, ReplicaSums::kLastMicrobatch}),
                "With dp beside fsdp: when sharded gradients are summed over the replicas: in "
                "each microbatch (PyTorch's FSDP, unless set_requires_all_reduce says otherwise) "
                "or in the last one.")
              .silent_by_default(),
          field("early_scales", &F::early_scales, Flag{},
                "With workload.precision.narrow_weights = \"gathered\": magnitudes that gathered "
                "weights are scaled by are found behind the optimizer, and met in one message "
                "(torchao's precompute_float8_dynamic_scale_for_fsdp); false: in front of each "
                "gather, in a message for each weight.")
              .silent_by_default(),
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
                choice_of({TensorOverlap::kNone, TensorOverlap::kWeightGrad, TensorOverlap::kRing}),
                "What hides communication over tp. `none`: nothing, and what sequence_parallel "
                "gathers is kept for backward; `weight-grad`: the product for the weights' "
                "gradient, beside which the input's is summed; `ring`: products beside an "
                "all_gather or reduce_scatter forward as well, in tp pieces, which travel round a "
                "ring meanwhile; with sequence_parallel."),
          field("gather_logits", &TensorOptions::gather_logits, Flag{},
                "Each rank gathers the logits of all and takes the loss of the whole vocabulary; "
                "else it takes its share's part, and maxima and sums are reduced."),
          field("copied_inputs", &TensorOptions::copied_inputs, Flag{},
                "Each projection that is split by columns multiplies a copy of its input, which is "
                "kept for backward; without sequence_parallel (PaddlePaddle).")
              .silent_by_default(),
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

const Table<OffloadOptions>& offload_table() {
  using O = OffloadOptions;
  const auto places = choice_of({Offload::kNone, Offload::kCpu, Offload::kNvme});
  static const Table<O> table(
      "strategy.offload",
      {
          field("optimizer", &O::optimizer, places,
                "Gradients are copied to host memory, Adam runs on the host's processor, and the "
                "new weights are copied back. `nvme`: master weights and moments are read from the "
                "node's drives and written back."),
          field("parameters", &O::parameters, places,
                "The shards of zero_stage 3 stay in host memory (`nvme`: on drives) and are copied "
                "to the device before they are gathered; with `optimizer`."),
          field("activations", &O::activations, choice_of({Offload::kNone, Offload::kCpu}),
                "What a layer keeps for its backward pass is copied to host memory and back."),
          field("activation_layers", &O::activation_layers, Int{.min = -1},
                "Only so many layers of each chunk; -1: all but the last one, whose backward pass "
                "comes next."),
          field("bind_cores", &O::bind_cores, Flag{},
                "Each rank's threads run on cores of its own, as with DeepSpeed's "
                "--bind_cores_to_rank. Without it every rank has as many threads as the node has "
                "cores, and Adam on the processors takes 2.7 times as long.")
              .silent_by_default(),
      },
      "optimizer");
  return table;
}

const Table<ParameterServerOptions>& parameter_server_table() {
  using P = ParameterServerOptions;
  static const Table<P> table(
      "strategy.parameter_server",
      {
          field("servers", &P::servers, Int{.min = 0, .max = kLargestAxis},
                "Ranks that each keep an equal share of the parameters and their optimizer state: "
                "the dp ranks push gradients to them and pull weights from them. 0: none."),
          field("dedicated", &P::dedicated, Flag{},
                "The servers are ranks of their own, behind the dp ranks. False: they are spread "
                "evenly over these."),
          field("staleness", &P::staleness, Int{.min = 0},
                "0: a step has all gradients of the steps before it. 1: those of the last one "
                "travel, and are applied, while it computes."),
      });
  return table;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
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
              "Axes that divide the experts. With `tp`, experts are whole, or split as expert_tp "
              "says, and the ranks along tp have different ones; else each is split over tp. With "
              "`cp`, so do those along cp."),
          field("expert_tp", &S::expert_tp, axis,
                "With `tp` in expert_axes: at most so many ranks, side by side along tp, split "
                "each expert, and the next ones have others (Megatron-LM's "
                "--expert-tensor-parallel-size).")
              .silent_by_default(),
          field("expert_gates", &S::expert_gates,
                Choice<ExpertGates>{{{"results", ExpertGates::kResults},
                                     {"activations", ExpertGates::kActivations}}},
                "What experts' gates multiply: their results, or their activations, after which "
                "the results need not be kept for the gates' gradients."),
          field("expert_dispatch", &S::expert_dispatch,
                Choice<ExpertDispatch>{{{"all_to_all", ExpertDispatch::kAllToAll},
                                        {"all_gather", ExpertDispatch::kAllGather}}},
                "How tokens get to experts on other ranks: each to the ranks of its experts, or "
                "all to every rank, and the sum of what its experts make of them back "
                "(Megatron-LM's --moe-token-dispatcher-type).")
              .silent_by_default(),
          field("tp", &S::tp, axis, "Ranks that split each layer's matrices.").searchable(),
          field("stage_tp", &S::stage_tp, List{Int{.max = kLargestAxis}},
                "`tp` of every stage, where they differ: a stage then has as many ranks of each "
                "replica as its own says. `pp` and `tp` may be left out: they are the number of "
                "stages in the list and the largest in it. Of two stages that send to each other, "
                "one has a multiple of the other's.")
              .silent_by_default(),
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
          field("offload", &S::offload, Nested{&offload_table()},
                "State that leaves the device between its uses."),
          field("parameter_server", &S::parameter_server, Nested{&parameter_server_table()},
                "Servers that keep the parameters, for dp alone."),
      });
  return table;
}

}  // namespace plait
