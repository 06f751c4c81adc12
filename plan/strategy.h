#pragma once
// How the work is split. One field per decision; every combination is either planned or refused by
// make_plan with an InputError that names the field.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "plan/mesh.h"
#include "plan/servers.h"

namespace plait {

/// What each one is: plan/schedule.h.
enum class Schedule : std::uint8_t {
  kGpipe,
  k1f1b,
  kInterleaved,
  kZbH1,
  kZbH2,
  kZb1p,
  kZb2p,
  kZbV,
  kDualPipeV,
  kDualPipe,
  kVHalf,
  kVMin,
  kSequential
};
/// Whose all_to_alls of experts hide behind what: those of the pairs of passes that the schedule
/// runs side by side (dualpipe, dualpipe-v), nobody's, or those of any forward pass and the
/// backward pass behind it.
enum class ExchangeOverlap : std::uint8_t { kSchedule, kNone, kPasses };
/// Whose compute waits until what the stage has sent is on its way: nobody's, that of schedules of
/// whole passes over one chunk, or of all.
enum class BlockingSends : std::uint8_t { kNone, kPlain, kAll };
enum class Recompute : std::uint8_t { kNone, kSelective, kModules, kOps, kFull };
/// Parts of a layer that can be computed again by themselves. kLatents: what latent attention makes
/// of its latents; kMlp: that of layers without experts; kMoe: all of a mixture, the way of tokens
/// to its experts and back too.
enum class RecomputeModule : std::uint8_t {
  kNorms,
  kLatents,
  kActivations,
  kExpertActivations,
  kMlp,
  kSharedExperts,
  kMoe,
  kAttention
};
/// Products of a layer whose results recomputation op by op can be told to keep, and attention.
/// kQkv: all before attention; kUp: gate and up.
enum class KeptResult : std::uint8_t { kQkv, kAttention, kOut, kUp, kDown };
/// How attention of a share of the tokens meets the keys and values of all of them: it gathers
/// them; tokens are exchanged for heads and back; they travel round a ring, block by block; or the
/// last two at once, ulysses within cp.
enum class ContextKind : std::uint8_t { kAllGather, kUlysses, kRing, kHybrid };
/// Where state lives between its uses: on the device, in its host's memory, on its node's drives.
enum class Offload : std::uint8_t { kNone, kCpu, kNvme };
/// What hides tensor-parallel communication: nothing; in backward the product for the weights'
/// gradient, beside which the input's gradient is summed; and forward the products themselves, in
/// pieces that travel round a ring while others are computed.
enum class TensorOverlap : std::uint8_t { kNone, kWeightGrad, kRing };
/// What is copied around the gathers and reductions of sharded parameters, besides what travels:
/// nothing, where modules read and write the flat buffers themselves (Megatron-FSDP), or what
/// PyTorch's FSDP1 or FSDP2 or DeepSpeed's ZeRO-3 copies: plan/strategies/fsdp_copies.cpp.
enum class FsdpCopies : std::uint8_t { kNone, kFsdp1, kFsdp2, kDeepSpeed };
/// Where gradients that are to be sharded add up whole over a step's microbatches first (PyTorch's
/// no_sync and set_requires_gradient_sync): nowhere, in pipelines, as PyTorch's own do it (torch/
/// distributed/pipelining/stage.py, backward_maybe_with_nosync), the same as it was until November
/// 2025, when reductions came before a piece's last message (pytorch/pytorch pull request 166449),
/// or everywhere.
enum class NoSync : std::uint8_t { kNever, kPipelines, kPipelines2024, kAlways };
/// When gradients that are sharded within a group of ranks are summed over the groups: in each
/// microbatch, as PyTorch's FSDP1 and FSDP2 do unless told otherwise (set_requires_all_reduce;
/// pytorch/torchtitan issue 1929), or in the last one, of what the shards have accumulated.
enum class ReplicaSums : std::uint8_t { kEachMicrobatch, kLastMicrobatch };
/// "1f1b", "full": as scenarios write them.
std::string_view name_of(Schedule schedule);
std::string_view name_of(ExchangeOverlap overlap);
std::string_view name_of(BlockingSends sends);
std::string_view name_of(Recompute recompute);
std::string_view name_of(RecomputeModule module);
std::string_view name_of(KeptResult result);
std::string_view name_of(ContextKind kind);
std::string_view name_of(TensorOverlap overlap);
std::string_view name_of(Offload place);
std::string_view name_of(FsdpCopies copies);
std::string_view name_of(NoSync when);
std::string_view name_of(ReplicaSums when);

/// What an automatic schedule is laid out for, as profiled: how long the passes of a stage take and
/// a message travels, in any common unit, and what of a microbatch's activations B leaves for W.
struct PassProfile {
  double forward = 1, backward = 1, weights = 1, message = 0;
  double kept = 1;
  bool operator==(const PassProfile&) const = default;
};

struct PipelineOptions {
  Schedule schedule = Schedule::k1f1b;
  std::int64_t chunks = 1;               // model chunks ("virtual stages") per rank
  std::int64_t microbatch_group = 0;     // interleaved: see group_of in plan/schedule.h
  std::int64_t first_stage_layers = -1;  // layers of the first chunk; -1: an even share
  std::int64_t last_stage_layers = -1;   // layers of the last chunk; -1: an even share
  /// Layers of every piece, in the order of the model; empty: as above.
  std::vector<std::int64_t> stage_layers = {};
  /// Embedding, last norm and output matrix count as a layer each where layers are shared out, and
  /// the first pieces have one more of what is left over.
  bool ends_are_layers = false;
  /// Tensor-parallel degree of every stage, where they differ; empty: the mesh's. The mesh has the
  /// largest (plan/places.h).
  std::vector<std::int64_t> stage_tp = {};
  PassProfile profile = {};  // of zb-1p and zb-2p
  ExchangeOverlap exchange_overlap = ExchangeOverlap::kSchedule;
  BlockingSends blocking_sends = BlockingSends::kNone;  // plan/strategies/blocking_sends.cpp
  /// Ranks of tensor parallelism that all have what goes to the next stage send a part of it each,
  /// and gather it there (plan/strategies/stage_exchange.cpp).
  bool scatter_gather = false;

  /// Pairs of a forward and a backward pass take turns, layer by layer, where experts are on
  /// several ranks (plan/strategies/pass_parts.cpp).
  bool pairs_passes() const {
    const bool of_schedule = schedule == Schedule::kDualPipe || schedule == Schedule::kDualPipeV;
    return exchange_overlap == ExchangeOverlap::kPasses ||
           (exchange_overlap == ExchangeOverlap::kSchedule && of_schedule);
  }
};

/// The sizes are those of the mesh: the ring or the gathering group along cp, tokens exchanged for
/// heads along ulysses.
struct ContextOptions {
  ContextKind kind = ContextKind::kAllGather;
  std::int64_t ulysses = 1;  // hybrid: how many of the ranks exchange heads
  /// Blocks of keys travel round the cp axis.
  bool rings() const { return kind == ContextKind::kRing || kind == ContextKind::kHybrid; }
};

struct TensorOptions {
  TensorOverlap overlap = TensorOverlap::kWeightGrad;
  /// Each rank gathers the logits of all and takes the loss of the whole vocabulary, instead of its
  /// share's part.
  bool gather_logits = false;
  /// What a layer that is split by columns multiplies is a copy of its input, for each projection.
  bool copied_inputs = false;
};

/// ZeRO++ (Wang et al. 2023, arXiv 2306.10209), on zero_stage 3.
struct ZeroPlusPlusOptions {
  /// hpZ: sharded over dp too; what is gathered for the forward pass leaves a second shard within
  /// the other axes, from which the backward pass gathers.
  bool secondary_shard = false;
  bool quantized_weights = false;    // qwZ: gathered as int8 in blocks
  bool quantized_gradients = false;  // qgZ: exchanged as int4 in blocks, over dp last

  bool any() const { return secondary_shard || quantized_weights || quantized_gradients; }
};

struct RecomputeOptions {
  Recompute kind = Recompute::kNone;
  std::int64_t layers = -1;  // full: only the first `layers` layers of each chunk; -1: all
  std::int64_t every = 1;    // full: only each `every`-th layer of a stage
  std::vector<RecomputeModule> modules = {};  // of kModules
  bool head = false;  // full: the last norm and the output matrix are computed again too
  std::vector<KeptResult> keep = {};  // of kOps; empty: what torchtitan keeps
  /// ops: what is kept by its kind stays until the backward pass of its op even where nothing reads
  /// it.
  bool unread = false;
};

/// Each rank updates its share of weights that all of them hold, and gathers the others': ZeRO-1
/// and ZeRO-2.
constexpr bool gathers_updates(std::int64_t zero_stage) {
  return zero_stage == 1 || zero_stage == 2;
}

struct DataParallelOptions {
  Bytes bucket = Bytes(25 << 20);  // gradients are reduced in pieces of about this size
  bool overlap = true;             // reduce while the backward pass goes on
  bool all_reduce = false;         // zero_stage 1: every rank has all sums, not its share alone
  /// With `overlap`: weights that others have updated are gathered, or pulled, beside passes too.
  bool overlap_gathers = true;
  /// Updated weights are gathered while passes go on; else behind the optimizer.
  bool gathers_ahead() const { return overlap && overlap_gathers; }
};

struct FsdpOptions {
  bool reshard_after_forward = true;  // false: keep gathered weights until backward (SHARD_GRAD_OP)
  bool reshard_last_layer = true;     // false: keep its gathered weights, whose backward is next
  /// What is in no layer is one unit, PyTorch's root, whole from its first use to its last.
  bool root = false;
  std::int64_t prefetch = 1;  // layers gathered ahead of the one that computes
  /// What Precision::narrow_weights gathers is scaled by magnitudes that are found behind the
  /// optimizer, once for all gathers of a step; false: in front of each gather.
  bool early_scales = false;
  FsdpCopies copies = FsdpCopies::kNone;
  NoSync no_sync = NoSync::kNever;
  ReplicaSums replica_sums = ReplicaSums::kEachMicrobatch;

  /// Of several microbatches: the last one, or the only one, is reduced at once.
  bool sums_whole(int zero_stage, std::int64_t pp) const {
    const bool now = no_sync == NoSync::kAlways || (no_sync != NoSync::kNever && pp > 1);
    return zero_stage >= 2 && now;
  }
};

/// State that leaves the device: plan/strategies/offload.h.
struct OffloadOptions {
  Offload optimizer = Offload::kNone;    // master weights, moments, gradients; Adam on the host
  Offload parameters = Offload::kNone;   // shards of zero_stage 3, copied to the device to gather
  Offload activations = Offload::kNone;  // what a layer keeps for its backward pass; not kNvme
  std::int64_t activation_layers = -1;   // only the first `activation_layers` of a chunk; -1: all
  bool bind_cores = true;  // each rank's threads on cores of its own; else all on all of them
  bool state() const { return optimizer != Offload::kNone || parameters != Offload::kNone; }
  bool any() const { return state() || activations != Offload::kNone; }
};

/// Data parallelism by parameter servers: plan/strategies/parameter_server.cpp.
struct ParameterServerOptions {
  std::int64_t servers = 0;  // 0: none
  bool dedicated = false;    // ranks of their own, beside the dp ranks that work
  /// Steps by which the weights of a step may lag behind all gradients before it: 0 synchronous, 1
  /// gradients travel and are applied while the next step computes.
  std::int64_t staleness = 0;
  bool any() const { return servers > 0; }
  Servers layout() const { return {servers, dedicated}; }
};

/// What experts' gates multiply: what the experts give, or their activations, between the two
/// products. The second keeps no results for the gates' gradients (Megatron-Core since 0.12).
enum class ExpertGates : std::uint8_t { kResults, kActivations };

/// How tokens get to experts on other ranks. all_to_all: each to the ranks of its experts, k times.
/// all_gather: every rank has the tokens of all, and of their experts' results the sum over ranks
/// is scattered (Megatron-Core's MoEAllGatherTokenDispatcher).
enum class ExpertDispatch : std::uint8_t { kAllToAll, kAllGather };

/// Of a mixture.
struct ExpertOptions {
  /// That divide the experts. kContextAxes and tp beside ep: the ranks along them, which share a
  /// sequence's tokens, hold different experts too (Liu et al. 2025, MoE Parallel Folding, arXiv
  /// 2504.14960). Without tp every expert is split over tp as an MLP is.
  AxisSet axes = Axis::kEp;
  /// With tp in `axes`: at most so many ranks, side by side along tp, split an expert
  /// (Megatron-LM's --expert-tensor-parallel-size); the next ones have other experts.
  std::int64_t tp = 1;
  ExpertGates gates = ExpertGates::kResults;
  ExpertDispatch dispatch = ExpertDispatch::kAllToAll;

  /// Of `ranks` that split a layer, those that split an expert.
  std::int64_t ranks_of_one(std::int64_t ranks) const {
    return axes.has(Axis::kTp) ? std::min(tp, ranks) : ranks;
  }
};

struct Strategy {
  Mesh mesh;
  ExpertOptions experts;
  bool sequence_parallel =
      false;  // Megatron SP: norms and residuals sharded over tp along the sequence
  /// What is sharded over the fsdp axis (over dp where fsdp = 1), over cp, ulysses and ep: 0
  /// nothing, 1 optimizer state, 2 and gradients, 3 and parameters.
  int zero_stage = 0;
  /// ZeRO-3 keeps a low-precision shard besides the master shard (DeepSpeed); FSDP casts the master
  /// shard each time it gathers.
  bool keep_weight_shard = false;
  PipelineOptions pipeline;
  RecomputeOptions recompute;
  DataParallelOptions data;
  FsdpOptions fsdp;
  ContextOptions context;
  TensorOptions tensor;
  ZeroPlusPlusOptions zero_plus_plus;
  OffloadOptions offload;
  ParameterServerOptions parameter_server;

  /// Gradients are written one by one, in the weights' type, and copied to what is reduced.
  bool copies_gradients() const { return zero_stage == 3 && fsdp.copies != FsdpCopies::kNone; }
  /// Whole gradients add up over a step's microbatches, where it has several, and are sharded
  /// behind the last one.
  bool sums_whole_gradients() const { return fsdp.sums_whole(zero_stage, mesh[Axis::kPp]); }
  /// Ranks that work on different sequences.
  std::int64_t replicas() const {
    const std::int64_t ranks = mesh.size_of(AxisSet(Axis::kDp) | Axis::kFsdp | Axis::kEp);
    return parameter_server.any() ? parameter_server.layout().workers(ranks) : ranks;
  }
  /// Splits layers over `tp` ranks in all, and experts as `experts` says.
  void split_layers(std::int64_t tp) {
    const std::int64_t of_expert = experts.ranks_of_one(tp);
    mesh[Axis::kEtp] = of_expert < tp ? of_expert : 1;
    mesh[Axis::kTp] = tp / mesh[Axis::kEtp];
  }
  /// Those of experts.axes along which experts differ: not tp where all of its ranks split each
  /// one.
  AxisSet axes_of_experts() const {
    const std::int64_t tp = mesh.size_of(kTensorAxes);
    return experts.ranks_of_one(tp) == tp ? experts.axes - Axis::kTp : experts.axes;
  }
  /// Shares the tokens of each sequence among `cp` ranks in all, as `context` says.
  void share_tokens(std::int64_t cp) {
    std::int64_t ulysses = context.kind == ContextKind::kUlysses ? cp : 1;
    if (context.kind == ContextKind::kHybrid) ulysses = std::gcd(cp, context.ulysses);
    mesh[Axis::kCp] = cp / ulysses, mesh[Axis::kUlysses] = ulysses;
  }
  /// The axes that zero_stage shards over: fsdp or dp, and those of context and ep, whose ranks
  /// hold the same weights (Megatron-LM's distributed optimizer, torchtitan). Experts differ along
  /// axes_of_experts() and are sharded over the others of these.
  AxisSet shard_axes() const {
    const Axis replicas = mesh[Axis::kFsdp] > 1 ? Axis::kFsdp : Axis::kDp;
    AxisSet axes;
    for (const Axis a : {replicas, Axis::kCp, Axis::kUlysses, Axis::kEp}) {
      if (mesh[a] > 1) axes = axes | a;
    }
    if (zero_plus_plus.secondary_shard && mesh[Axis::kDp] > 1) axes = axes | Axis::kDp;
    return axes.empty() ? AxisSet(replicas) : axes;
  }
  /// Shards of weights lie off the device and come there for each use, even where one rank has all
  /// of them.
  bool fetches_shards() const { return fetches_shards(zero_stage); }
  bool fetches_shards(int stage) const {
    return stage == 3 && offload.parameters != Offload::kNone && !zero_plus_plus.any();
  }
};

}  // namespace plait
