#pragma once
// How the cases of the verified matrix differ from one another, and their list.

#include <initializer_list>
#include <string>
#include <vector>

#include "realrun/matrix/matrix.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

struct Degrees {
  std::int64_t pp = 1, dp = 1, fsdp = 1, tp = 1, cp = 1, ep = 1;
};

/// Changes of a case beyond its degrees and zero_stage.
using Change = void (*)(MatrixCase&);
inline void sp(MatrixCase& c) { c.strategy.sequence_parallel = true; }
inline void in_pieces(MatrixCase& c) {
  c.strategy.sequence_parallel = true;
  c.strategy.tensor.overlap = TensorOverlap::kRing;
}
inline void waits(MatrixCase& c) { c.strategy.tensor.overlap = TensorOverlap::kNone; }
inline void secondary(MatrixCase& c) { c.strategy.zero_plus_plus.secondary_shard = true; }
inline void qwz(MatrixCase& c) { c.strategy.zero_plus_plus.quantized_weights = true; }
inline void qgz(MatrixCase& c) { c.strategy.zero_plus_plus.quantized_gradients = true; }
inline void ulysses(MatrixCase& c) {
  c.strategy.context.kind = ContextKind::kUlysses;
  c.strategy.share_tokens(c.strategy.mesh[Axis::kCp]);
}
inline void ring(MatrixCase& c) { c.strategy.context.kind = ContextKind::kRing; }
inline void hybrid(MatrixCase& c) {
  c.strategy.context = {ContextKind::kHybrid, 2};
  c.strategy.share_tokens(c.strategy.mesh[Axis::kCp]);
}
inline void drop_inputs(MatrixCase& c) { c.workload.lora.dropout = 0.25; }
inline void all_again(MatrixCase& c) { c.strategy.recompute.kind = Recompute::kFull; }
inline void attention_again(MatrixCase& c) { c.strategy.recompute.kind = Recompute::kSelective; }
inline void latents_again(MatrixCase& c) {
  c.strategy.recompute = {.kind = Recompute::kModules, .modules = {RecomputeModule::kLatents}};
}
inline void norms_and_activations_again(MatrixCase& c) {
  c.strategy.recompute = {.kind = Recompute::kModules,
                          .modules = {RecomputeModule::kNorms, RecomputeModule::kActivations}};
}
inline void shared_experts_again(MatrixCase& c) {
  c.strategy.recompute = {.kind = Recompute::kModules,
                          .modules = {RecomputeModule::kSharedExperts}};
}
inline void mlps_again(MatrixCase& c) {
  c.strategy.recompute = {.kind = Recompute::kModules,
                          .modules = {RecomputeModule::kMlp, RecomputeModule::kSharedExperts,
                                      RecomputeModule::kExpertActivations}};
}
inline void mixtures_again(MatrixCase& c) {
  c.strategy.recompute = {
      .kind = Recompute::kModules,
      .modules = {RecomputeModule::kMoe, RecomputeModule::kNorms, RecomputeModule::kAttention}};
}
inline void whole_logits(MatrixCase& c) { c.strategy.tensor.gather_logits = true; }
inline void copied_inputs(MatrixCase& c) { c.strategy.tensor.copied_inputs = true; }
inline void head_again(MatrixCase& c) {
  c.strategy.recompute = {.kind = Recompute::kFull, .head = true};
}
inline void loss_of_2(MatrixCase& c) { c.workload.loss_pieces = 2; }
inline void loss_of_4(MatrixCase& c) { c.workload.loss_pieces = 4; }
inline void ops_again(MatrixCase& c) { c.strategy.recompute.kind = Recompute::kOps; }
inline void unread_kept(MatrixCase& c) {
  c.strategy.recompute = {.kind = Recompute::kOps, .unread = true};
}
inline void second_again(MatrixCase& c) { c.strategy.recompute = {Recompute::kFull, -1, 2}; }
inline void one_again(MatrixCase& c) { c.strategy.recompute = {Recompute::kFull, 1, 1}; }
inline void gpipe(MatrixCase& c) { c.strategy.pipeline.schedule = Schedule::kGpipe; }
inline void two_chunks(MatrixCase& c, Schedule schedule) {
  c.strategy.pipeline.schedule = schedule, c.strategy.pipeline.chunks = 2;
}
inline void interleaved(MatrixCase& c) { two_chunks(c, Schedule::kInterleaved); }
inline void groups_of_3(MatrixCase& c) { interleaved(c), c.strategy.pipeline.microbatch_group = 3; }
inline void scatter_gather(MatrixCase& c) { c.strategy.pipeline.scatter_gather = true; }
inline void blocking_sends(MatrixCase& c) {
  c.strategy.pipeline.blocking_sends = BlockingSends::kAll;
}
inline void zb_v(MatrixCase& c) { two_chunks(c, Schedule::kZbV); }
inline void dualpipe_v(MatrixCase& c) { two_chunks(c, Schedule::kDualPipeV); }
inline void dualpipe(MatrixCase& c) { two_chunks(c, Schedule::kDualPipe); }
inline void v_half(MatrixCase& c) { two_chunks(c, Schedule::kVHalf); }
inline void v_min(MatrixCase& c) { two_chunks(c, Schedule::kVMin); }
inline void zb_h1(MatrixCase& c) { c.strategy.pipeline.schedule = Schedule::kZbH1; }
inline void zb_h2(MatrixCase& c) { c.strategy.pipeline.schedule = Schedule::kZbH2; }
inline void zb_1p(MatrixCase& c) { c.strategy.pipeline.schedule = Schedule::kZb1p; }
/// Laid out for W of half the length.
inline void zb_2p(MatrixCase& c) {
  c.strategy.pipeline.schedule = Schedule::kZb2p;
  c.strategy.pipeline.profile = {.weights = 0.5, .message = 0.1, .kept = 0.4};
}
inline void sequential(MatrixCase& c) { c.strategy.pipeline.schedule = Schedule::kSequential; }
inline void uneven(MatrixCase& c) {
  c.strategy.pipeline.first_stage_layers = 3, c.strategy.pipeline.last_stage_layers = 1;
}
inline void short_ends(MatrixCase& c) {
  c.strategy.pipeline.first_stage_layers = c.strategy.pipeline.last_stage_layers = 1;
}
inline void bare_ends(MatrixCase& c) { c.strategy.pipeline.stage_layers = {0, 1, 1, 0}; }
inline void one_two_one_none(MatrixCase& c) { c.strategy.pipeline.stage_layers = {1, 2, 1, 0}; }
inline void bare_start(MatrixCase& c) { c.strategy.pipeline.first_stage_layers = 0; }
inline void in_turns(MatrixCase& c) {
  c.strategy.pipeline.exchange_overlap = ExchangeOverlap::kPasses;
}
inline void small_buckets(MatrixCase& c) { c.strategy.data.bucket = Bytes(1024); }
inline void no_overlap(MatrixCase& c) { c.strategy.data.overlap = false; }
inline void kept(MatrixCase& c) { c.strategy.fsdp.reshard_after_forward = false; }
inline void last_layer_kept(MatrixCase& c) { c.strategy.fsdp.reshard_last_layer = false; }
inline void root(MatrixCase& c) { c.strategy.fsdp.root = true; }
inline void two_ahead(MatrixCase& c) { c.strategy.fsdp.prefetch = 2; }
inline void none_ahead(MatrixCase& c) { c.strategy.fsdp.prefetch = 0; }
inline void as_fsdp1(MatrixCase& c) { c.strategy.fsdp.copies = FsdpCopies::kFsdp1; }
inline void as_fsdp2(MatrixCase& c) { c.strategy.fsdp.copies = FsdpCopies::kFsdp2; }
inline void reduced_once(MatrixCase& c) { c.strategy.fsdp.no_sync = NoSync::kAlways; }
inline void reduced_early(MatrixCase& c) { c.strategy.fsdp.no_sync = NoSync::kPipelines2024; }
inline void as_deepspeed(MatrixCase& c) { c.strategy.fsdp.copies = FsdpCopies::kDeepSpeed; }
inline void weight_shard(MatrixCase& c) { c.strategy.keep_weight_shard = true; }
/// Half of the slots of an even share: tokens are dropped, the same ones on every mesh.
inline void half_of_slots(MatrixCase& c) { c.workload.capacity_factor = 0.5; }
inline void experts_over_tp(MatrixCase& c) {
  c.strategy.experts.axes = AxisSet(Axis::kEp) | Axis::kTp;
}
/// Two ranks along tp split an expert.
inline void experts_over_pairs(MatrixCase& c) {
  experts_over_tp(c), c.strategy.experts.tp = 2;
  c.strategy.split_layers(c.strategy.mesh[Axis::kTp]);
}
inline void experts_over_cp(MatrixCase& c) { c.strategy.experts.axes = kContextAxes | Axis::kEp; }
inline void experts_over_all(MatrixCase& c) {
  c.strategy.experts.axes = kContextAxes | Axis::kEp | Axis::kTp;
}
inline void experts_over_cp_and_pairs(MatrixCase& c) {
  experts_over_pairs(c), c.strategy.experts.axes = c.strategy.experts.axes | kContextAxes;
}
inline void early_gates(MatrixCase& c) { c.strategy.experts.gates = ExpertGates::kActivations; }
inline void tokens_gathered(MatrixCase& c) {
  c.strategy.experts.dispatch = ExpertDispatch::kAllGather;
}
inline void expert_activations_again(MatrixCase& c) {
  c.strategy.recompute = {.kind = Recompute::kModules,
                          .modules = {RecomputeModule::kExpertActivations}};
}
inline void unfused(MatrixCase& c) { c.workload.flash_attention = false; }
inline void unclipped(MatrixCase& c) { c.workload.gradient_clipping = false; }
inline void adam_on_host(MatrixCase& c) { c.strategy.offload.optimizer = Offload::kCpu; }
inline void state_on_host(MatrixCase& c) {
  c.strategy.offload.optimizer = c.strategy.offload.parameters = Offload::kCpu;
}
inline void state_on_drives(MatrixCase& c) {
  c.strategy.offload.optimizer = c.strategy.offload.parameters = Offload::kNvme;
  c.strategy.keep_weight_shard = true;
}
inline void activations_on_host(MatrixCase& c) { c.strategy.offload.activations = Offload::kCpu; }
inline void one_server(MatrixCase& c) { c.strategy.parameter_server.servers = 1; }
inline void two_servers(MatrixCase& c) { c.strategy.parameter_server.servers = 2; }
inline void three_servers(MatrixCase& c) { c.strategy.parameter_server.servers = 3; }
inline void all_serve(MatrixCase& c) {
  c.strategy.parameter_server.servers = c.strategy.mesh[Axis::kDp];
}
/// Beside the workers.
inline void apart(MatrixCase& c) {
  c.strategy.parameter_server.dedicated = true;
  c.strategy.mesh[Axis::kDp] += c.strategy.parameter_server.servers;
}
/// For stages of two chunks, three stages or more, and uneven ones.
inline void deep(MatrixCase& c) { c.model.layers = 4; }
/// Latents add two products and a norm to the chain of what bf16 rounds, norms of heads a norm: on
/// four ranks, or without fused attention, one layer is as long as two of another model. And
/// without norms in front of branches roundings of one layer go on unchecked into the next one.
inline void one_layer(MatrixCase& c) { c.model.layers = 1; }
inline void layers_of_6(MatrixCase& c) { c.model.layers = 6; }
inline void layers_of_8(MatrixCase& c) { c.model.layers = 8; }
/// In every second layer.
inline void windows_of_2(MatrixCase& c) {
  c.model.attention_window = 2, c.model.full_attention_every = 2;
}
inline void window_of_3(MatrixCase& c) { c.model.attention_window = 3; }
inline void norms_of_each_head(MatrixCase& c) { c.model.qk_norm_across_heads = false; }
inline void mtp(MatrixCase& c) { c.model.mtp_layers = 1; }
inline void mtp_of_2(MatrixCase& c) { c.model.mtp_layers = 2; }
inline void untied(MatrixCase& c) { c.model.tied_embeddings = false; }
inline void pairs(MatrixCase& c) { c.workload.micro_batch = 2; }
/// Documents of 3 + 4 tokens, and 1 of padding; of 3 + 3 + 2.
inline void documents(MatrixCase& c) { c.workload.documents = {Packing::kPacked, 0, {3, 4}}; }
inline void documents_of_3(MatrixCase& c) { c.workload.documents = {Packing::kPacked, 3, {}}; }
/// Padded to 8, in sequences 0, 1, 2, 3, ...: 5, 8, 2, 5, ... tokens.
inline void padded(MatrixCase& c) { c.workload.documents = {Packing::kPadded, 0, {5, 8, 2}}; }
inline void bf16_wire(MatrixCase& c) { c.workload.precision.reduction = DType::kBf16; }
inline void one_microbatch(MatrixCase& c) { c.workload.micro_batch = 4; }
/// Sequences for three, five and seven ranks.
inline void batch_of_6(MatrixCase& c) { c.workload.global_batch = 6; }
inline void batch_of_10(MatrixCase& c) { c.workload.global_batch = 10; }
inline void batch_of_7(MatrixCase& c) { c.workload.global_batch = 7; }

class List {
 public:
  void add(const char* name, Model model, Degrees d, int zero = 0,
           std::initializer_list<Change> changes = {}) {
    MatrixCase c;
    c.name = model.name + ": " + name;
    c.model = std::move(model);
    c.workload.sequence_length = matrix_models::kSequence, c.workload.global_batch = 8;
    c.strategy.mesh[Axis::kPp] = d.pp, c.strategy.mesh[Axis::kDp] = d.dp;
    c.strategy.mesh[Axis::kFsdp] = d.fsdp, c.strategy.mesh[Axis::kTp] = d.tp;
    c.strategy.mesh[Axis::kCp] = d.cp, c.strategy.mesh[Axis::kEp] = d.ep;
    c.strategy.zero_stage = zero;
    for (Change change : changes) change(c);
    cases.push_back(std::move(c));
  }
  std::vector<MatrixCase> cases;
};

/// experts.cpp: mixtures of experts, and gates of their activations.
void experts(List& list);
void early_gates_of_experts(List& list);
void gathered_tokens(List& list);
void exchanges_beside_passes(List& list);
/// latents.cpp: models with latent attention.
void latent_attention(List& list);
/// heads.cpp: models whose heads have norms.
void norms_of_heads(List& list);
/// windows.cpp: models whose queries see the last tokens alone.
void sliding_windows(List& list);
/// arrangements.cpp: layers whose norms and branches stand elsewhere.
void arrangements_of_layers(List& list);
/// encoders.cpp: models whose tokens see all others.
void encoders(List& list);
/// state_space.cpp: models with state-space mixers.
void state_space_layers(List& list);
/// delta_nets.cpp: models with gated delta nets and gates.
void delta_nets(List& list);
/// adapters.cpp: frozen models with low-rank adapters.
void low_rank_adapters(List& list);
/// kept_results.cpp: recomputation that keeps results by name.
void kept_results(List& list);
/// adapters.cpp: adapters with dropout, and beside matrices in nf4.
void dropped_and_quantized_adapters(List& list);
/// documents.cpp: sequences of packed and padded documents.
void packed_documents(List& list);
/// losses.cpp: losses that take tokens in pieces, those that every rank along tp takes of
/// the whole vocabulary, and heads that are computed again.
void losses_in_pieces(List& list);
void whole_losses(List& list);
/// stages.cpp: stages of different tensor-parallel degrees.
void uneven_stages(List& list);
/// prediction.cpp: models that predict further tokens.
void further_tokens(List& list);
/// types.cpp: weights that autocast casts, and losses of logits in 16 bits.
void autocast(List& list);
void narrow_losses(List& list);

}  // namespace plait::matrix_changes
