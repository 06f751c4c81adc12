#include "costmodel/memory.h"

#include <algorithm>
#include <optional>
#include <set>

#include "costmodel/intermediates.h"
#include "costmodel/nccl_tuning.h"
#include "costmodel/scores.h"
#include "costmodel/single_loss.h"
#include "plan/allocating_streams.h"
#include "plan/places.h"
#include "plan/walk.h"

namespace plait {
namespace {

constexpr Bytes mib(std::int64_t n) { return Bytes(n << 20); }
constexpr Bytes kib(std::int64_t n) { return Bytes(n << 10); }

// What cuBLAS advises for a handle: 32 MiB from Hopper on, else 4 (cuBLAS documentation,
// cublasSetWorkspace); Transformer Engine's own workspace has as much (get_cublas_workspace_size).
// PyTorch's default is 32 MiB too, else two of 4 MiB and eight of 16 KiB
// (aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize).
constexpr Bytes kLateWorkspace = mib(32), kEarlyWorkspace = mib(4);
constexpr Bytes kEarlyWorkspaceOfPyTorch = kib(2 * 4096 + 8 * 16);

MemoryItem workspaces(const FrameworkMemory& framework, bool late) {
  Bytes each = framework.workspace;
  if (each.value == 0) each = late ? kLateWorkspace : kEarlyWorkspaceOfPyTorch;
  const Bytes library = late ? kLateWorkspace : kEarlyWorkspace;
  return {
      "workspace",
      Bytes(framework.workspaces * each.value + framework.library_workspaces * library.value),
      "memory.workspaces: PyTorch's CUBLAS_WORKSPACE_CONFIG, 32 MiB from Hopper on, else 8.125; "
      "of libraries as cublasSetWorkspace's documentation advises, 32 or 4 MiB"};
}

/// `deepep`: it exchanges what routing chose, and NCCL all else.
std::optional<NeededCommunicator> communicator_of(const Op& op, const Mesh& mesh, bool deepep) {
  const auto neighbours = [](AxisSet axis) {
    return NeededCommunicator{CollectiveKind::kBroadcast, axis, Stages::kAll,
                              Connections::kNeighbours};
  };
  if (const auto* c = std::get_if<Collective>(&op.body)) {
    if (mesh.size_of(c->axes) <= 1) return std::nullopt;
    const bool routed = deepep && c->tokens.chosen > 0;
    const bool all_pairs = c->kind == CollectiveKind::kAllToAll && !routed;
    return NeededCommunicator{c->kind, c->axes, c->stages,
                              all_pairs ? Connections::kPairs : Connections::kRings};
  }
  if (const auto* s = std::get_if<Send>(&op.body)) return neighbours(s->axis);
  if (const auto* r = std::get_if<Recv>(&op.body)) return neighbours(r->axis);
  return std::nullopt;
}

/// Device indices of the group that the first rank of `stage` is in, rank r on device r.
std::vector<std::int64_t> members(const NeededCommunicator& c, const Plan& plan,
                                  std::size_t stage) {
  const std::int64_t first =
      rank_at(plan, static_cast<std::int64_t>(stage) * plan.places_per_stage());
  return members(plan, first, c.axes, c.axes.has(Axis::kPp) ? c.stages : Stages::kAll);
}

// NCCL 2.30: 8 slots per channel and protocol. Simple 4 MiB, LL 512 KiB, LL128 4.7 MiB (init.cc).
constexpr std::int64_t kSimpleBuffer = 4 << 20;
constexpr std::int64_t kLlBuffer = 512 << 10;
constexpr std::int64_t kLl128Buffer = 4'915'200;
/// What a rank receives into from one other in one channel.
constexpr std::int64_t kConnectionBuffer = kSimpleBuffer + kLlBuffer + kLl128Buffer;
// An all_to_all among the 8 GPUs of an H100 box connects each with the 7 others by 32 channels and
// took 3.28 GB: for each a buffer of 10 MiB and two blocks of 2 MiB (NVIDIA/nccl issue 1685, 2025).
// Other machines with NVLink are taken to be alike, and larger domains to take no more.
constexpr std::int64_t kMostPairs = 7, kPairChannels = 32;
constexpr std::int64_t kPairBuffer = (10 + 2 * 2) << 20;
// Send and receive use 2 channels per peer by default on a network, Simple only, to and from each
// of two neighbours.
constexpr std::int64_t kMessageChannels = std::int64_t{2} * 2 * 2;

// PyTorch's caching allocator asks the driver for multiples of 2 MiB. What it reserves beyond that
// (blocks split and not yet reusable) depends on the program: 0 with expandable segments, 15 % on
// average without (Guo et al. 2024, GMLake, abstract). `room`: what is left of the device's memory.
Bytes reserved_beside(Bytes live, double fragmentation) {
  const double all = static_cast<double>(live.value) * (1 + fragmentation);
  return Bytes(round_up(static_cast<std::int64_t>(all), mib(2).value)) - live;
}

/// `gap`: what is free between copies of the logits.
MemoryItem allocator_reserve(Bytes live, const FrameworkMemory& framework, Bytes gap, Bytes room) {
  return {
      "allocator_reserve",
      std::clamp(room, reserved_beside(live, framework.least_fragmentation()),
                 reserved_beside(live, framework.fragmentation) + gap),
      "2 MiB segments (PyTorch CUDACachingAllocator) and the fragmentation of memory.*, assumed "
      "between 0 with expandable segments and 15 % without (Guo et al. 2024, GMLake)"};
}

/// Pools of memory for tensors that are allocated on several streams. What ops have beside tensors
/// is compute's.
std::list<LiveMemory> pools_of(const Plan& plan, const BesideTensors& beside) {
  const std::vector<Stream> streams = allocating_streams(plan);
  std::list<LiveMemory> out;
  const std::set<Stream> used(streams.begin(), streams.end());
  for (const Stream stream : used.size() > 1 ? used : std::set<Stream>()) {
    std::vector<bool> counted;
    for (const Stream s : streams) counted.push_back(s == stream);
    const BesideTensors own =
        stream == Stream::kCompute ? beside : BesideTensors{{}, beside.of_tensor};
    out.emplace_back(plan, Place::kDevice, Role{}, counted, own);
  }
  return out;
}

Bytes times(double each, std::int64_t count) {
  return Bytes(static_cast<std::int64_t>(each * static_cast<double>(count)));
}

/// What is there during the optimizer step: weights, gradients and optimizer state that stay. What
/// was gathered or is not reduced yet is gone.
Bytes training_state(const Plan& plan, const StageMemory& live) {
  Bytes sum;
  for (const LiveTensor& t : live.at_peak) {
    const Tensor& tensor = plan.tensors[static_cast<std::size_t>(t.tensor)];
    const bool of_state = tensor.kind == TensorClass::kWeight ||
                          tensor.kind == TensorClass::kGradient ||
                          tensor.kind == TensorClass::kOptimizer;
    if (of_state && tensor.persistent) sum += t.bytes;
  }
  return sum;
}

}  // namespace

StageOverheads::StageOverheads(const Plan& plan, const Cluster& cluster,
                               const FrameworkMemory& framework, const Kernels& kernels,
                               std::int64_t further)
    : plan_(plan),
      cluster_(cluster),
      framework_(framework),
      softmax_(kernels.softmax),
      loss_(kernels.cross_entropy),
      further_(further),
      intermediates_(intermediates_by_tensor(plan, kernels)),
      period_(symmetry_period(cluster)),
      deepep_(kernels.exchange == Dispatcher::kDeepEp && cluster.device.runs_deepep()) {
  for (const Block& block : plan.blocks) {
    blocks_.push_back(needs_of(block));
    for (const Op& op : block.ops) {
      const auto* compute = std::get_if<Compute>(&op.body);
      const auto* loss = compute == nullptr ? nullptr : std::get_if<CrossEntropy>(compute);
      if (loss == nullptr || op.operands.empty()) continue;
      logits_.try_emplace(storage_of(plan, op.operands[0].tensor), scratch_of(*loss, op));
    }
  }
  pools_ = pools_of(plan, beside());
}

StageOverheads::BlockNeeds StageOverheads::needs_of(const Block& block) const {
  BlockNeeds out;
  for (const Op& op : block.ops) {
    const auto c = communicator_of(op, plan_.mesh, deepep_);
    if (c && !cluster_.shares_memory()) {  // NCCL does not run between parts of a GPU
      const auto same = [&](const NeededCommunicator& o) { return o.identity() == c->identity(); };
      if (std::ranges::none_of(out.communicators, same)) out.communicators.push_back(*c);
    }
    const auto* compute = std::get_if<Compute>(&op.body);
    if (compute == nullptr) continue;
    const auto* adam = std::get_if<Adam>(compute);
    if (adam != nullptr && op.stream != Stream::kHost) out.updated += adam->elements;
  }
  return out;
}

// Unfused attention (docs/models/ops.md) has probabilities among the plan's tensors, and beside
// them what they are made of.
StageOverheads::Scratch StageOverheads::scratch_of(const Op& op) const {
  Scratch out;
  const auto* compute = std::get_if<Compute>(&op.body);
  if (compute == nullptr) return out;
  if (const auto* loss = std::get_if<CrossEntropy>(compute)) out = scratch_of(*loss, op);
  if (std::holds_alternative<Cast>(*compute)) {
    for (const Operand& o : op.operands) {
      const auto of_loss = logits_.find(storage_of(plan_, o.tensor));
      if (of_loss != logits_.end()) out = of_loss->second;
    }
  }
  const auto* attention = std::get_if<Attention>(compute);
  if (attention != nullptr && !attention->fused) out.scores = scores_beside(*attention, softmax_);
  return out;
}

StageOverheads::Scratch StageOverheads::scratch_of(const CrossEntropy& loss, const Op& op) const {
  const Bytes gap = times(framework_.loss_gap_bytes_per_logit, loss.rows * loss.vocab);
  return {loss_copies(loss, op), gap, {}};
}

StageOverheads::Scratch StageOverheads::scratch_at(const StageMemory& live) const {
  if (live.peak_block >= plan_.blocks.size()) return {};
  const std::vector<Op>& ops = plan_.blocks[live.peak_block].ops;
  return live.peak_at < ops.size() ? scratch_of(ops[live.peak_at]) : Scratch();
}

Bytes StageOverheads::beside(const Op& op) const {
  const Scratch s = scratch_of(op);
  return s.loss + s.gap + s.scores;
}

BesideTensors StageOverheads::beside() const {
  return {[this](const Op& op) { return beside(op); }, intermediates_};
}

Bytes StageOverheads::loss_copies(const CrossEntropy& loss, const Op& op) const {
  double each = framework_.loss_bytes_per_logit;
  if (framework_.split_loss_bytes_per_logit >= 0 && !op.operands.empty()) {
    const Tensor& logits = plan_.tensors[static_cast<std::size_t>(op.operands[0].tensor)];
    const Dim& vocabulary = logits.dims[static_cast<std::size_t>(logits.rank - 1)];
    const bool split = plan_.mesh.size_of(vocabulary.sharded) > 1;
    if (split) each = framework_.split_loss_bytes_per_logit;
  }
  // Logits in 16 bits are widened by the chain itself, and no tensor of the plan.
  if (is_in_parts(loss_) && size_of(loss.dtype) < size_of(DType::kFp32))
    each += static_cast<double>(size_of(DType::kFp32));
  return times(each, loss.rows * loss.vocab);
}

/// NCCL before 2.22 connects trees beside the rings when it makes a communicator: from two sides
/// where there are more than two ranks. "688 MB" were measured for three or four A100s, "544 MB"
/// for two (NVIDIA/nccl issue 964, 2023), where this says 661 and 441 MiB.
Bytes StageOverheads::ring_buffers(const GroupPlacement& group, CollectiveKind kind) const {
  const std::int64_t trees = framework_.trees ? std::min<std::int64_t>(group.ranks - 1, 2) : 0;
  const int channels = communicator_channels(nccl_group(kind, group, cluster_.kind(group.kind)));
  return Bytes((1 + trees) * channels * kConnectionBuffer);
}

/// Messages to other nodes share buffers, which are small beside these.
Bytes StageOverheads::pair_buffers(const GroupPlacement& group) const {
  return Bytes(std::min(group.ranks_per_node - 1, kMostPairs) * kPairChannels * kPairBuffer);
}

/// Groups of one shape whose first ranks have the same place within a period look alike.
Bytes StageOverheads::buffers(const NeededCommunicator& c, std::size_t stage) {
  if (c.connections == Connections::kNeighbours) return Bytes(kMessageChannels * kSimpleBuffer);
  const std::vector<std::int64_t> devices = members(c, plan_, stage);
  const std::int64_t reach = devices.back() - devices.front();
  const auto [at, fresh] = buffers_.try_emplace({c, c.kind, reach, devices.front() % period_});
  if (!fresh) return at->second;
  const GroupPlacement group = place_group(cluster_, devices);
  if (group.ranks > 1) {
    at->second =
        c.connections == Connections::kPairs ? pair_buffers(group) : ring_buffers(group, c.kind);
  }
  return at->second;
}

MemoryItem StageOverheads::communicator_buffers(std::size_t stage,
                                                const std::vector<std::int64_t>& calls) {
  std::set<NeededCommunicator> found;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (calls[b] > 0)
      found.insert(blocks_[b].communicators.begin(), blocks_[b].communicators.end());
  }
  Bytes sum;
  for (const NeededCommunicator& c : found) sum += buffers(c, stage);
  return {"communicator_buffers", sum,
          "NCCL 2.30 init.cc: per communicator and channel 4 MiB Simple + 0.5 MiB LL + 4.7 MiB "
          "LL128; 4 MiB per send or receive channel; all_to_all within a node: NVIDIA/nccl issue "
          "1685"};
}

/// Of the outputs that are live at the peak.
Bytes StageOverheads::eager_intermediates(const StageMemory& live) const {
  Bytes sum;
  for (const LiveTensor& t : live.at_peak) {
    sum += times(intermediates_[static_cast<std::size_t>(t.tensor)], t.bytes.value);
  }
  return sum;
}

/// With what is there beside live tensors.
Bytes StageOverheads::with_beside(const StageMemory& live) const {
  return live.peak + live.beside + eager_intermediates(live);
}

/// Each pool stays as large as it has been, and not all of them are full at the peak of all.
Bytes StageOverheads::idle_pools(std::size_t stage, const StageMemory& live) const {
  if (pools_.empty()) return {};
  Bytes sum;
  for (const LiveMemory& pool : pools_) sum += with_beside(pool.of_longer(stage, further_));
  return std::max(Bytes(), sum - with_beside(live));
}

/// Tensors that the framework allocates and the plan does not know.
std::vector<MemoryItem> StageOverheads::framework_tensors(
    const StageMemory& live, const Scratch& scratch, const std::vector<std::int64_t>& calls) const {
  std::int64_t updated = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b) updated += calls[b] * blocks_[b].updated;
  const Bytes eager = eager_intermediates(live);
  const Bytes at_step =
      training_state(plan_, live) + times(framework_.step_bytes_per_parameter, updated);
  return {{"eager_intermediates", eager,
           "what autograd keeps of the chains of kernels.*: docs/models/memory.md"},
          {"loss_copies", scratch.loss, "memory.loss_bytes_per_logit, split_loss_bytes_per_logit"},
          {"attention_scores", scratch.scores,
           "squares that unfused attention has beside its probabilities: docs/models/memory.md"},
          {"step_temporaries",
           std::max(at_step - live.peak - scratch.loss - scratch.scores - eager, Bytes()),
           "memory.step_bytes_per_parameter, as far as they exceed the peak of the passes"},
          {"buckets", framework_.buckets, "memory.buckets"}};
}

std::vector<MemoryItem> StageOverheads::of(std::size_t stage, const StageMemory& live,
                                           std::size_t kind) {
  // A processor has no context, allocates exactly and passes messages by MPI.
  const Device& device = cluster_.kind(kind).device;
  if (generation_of(device) == Generation::kCpu) return {};
  const bool late = device.compute_capability >= 90;
  const std::vector<std::int64_t> calls = runs_of_blocks(plan_, stage);
  std::vector<MemoryItem> out = {
      {"cuda_context", framework_.context, "driver context and loaded kernels: memory.context"},
      workspaces(framework_, late),
      communicator_buffers(stage, calls)};
  Bytes room = device.memory;
  for (const MemoryItem& item : out) room = room - item.bytes;
  Bytes tensors = live.peak;
  const Scratch scratch = scratch_at(live);
  for (MemoryItem& item : framework_tensors(live, scratch, calls)) {
    tensors += item.bytes;
    if (item.bytes.value > 0) out.push_back(std::move(item));
  }
  room = room - tensors;
  // Given back where memory is short.
  const Bytes least = reserved_beside(tensors, framework_.least_fragmentation());
  const Bytes idle = std::clamp(room - least, Bytes(), idle_pools(stage, live));
  if (idle.value > 0) {
    out.push_back({"stream_pools", idle,
                   "PyTorch CUDACachingAllocator: blocks go back to the stream that they were "
                   "allocated on"});
  }
  out.push_back(allocator_reserve(tensors, framework_, scratch.gap, room - idle));
  return out;
}

}  // namespace plait
