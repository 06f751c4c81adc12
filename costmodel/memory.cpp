#include "costmodel/memory.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "costmodel/nccl_tuning.h"

namespace plait {
namespace {

constexpr Bytes mib(std::int64_t n) { return Bytes(n << 20); }

/// A communicator that the plan needs: the group of some axes, or the two neighbours of a pipeline
/// stage. Ordered, so that each counts once.
struct Communicator {
  CollectiveKind kind;  // for the channel count; not part of the identity
  AxisSet axes;
  Stages stages;
  bool point_to_point;
  auto identity() const { return std::tuple(axes.bits(), stages, point_to_point); }
  bool operator<(const Communicator& o) const { return identity() < o.identity(); }
};

void add_communicator(const Op& op, const Mesh& mesh, std::set<Communicator>& found) {
  if (const auto* c = std::get_if<Collective>(&op.body)) {
    if (mesh.size_of(c->axes) > 1) found.insert({c->kind, c->axes, c->stages, false});
  } else if (const auto* s = std::get_if<Send>(&op.body)) {
    found.insert({CollectiveKind::kBroadcast, s->axis, Stages::kAll, true});
  } else if (const auto* r = std::get_if<Recv>(&op.body)) {
    found.insert({CollectiveKind::kBroadcast, r->axis, Stages::kAll, true});
  }
}

std::set<Communicator> communicators(const Plan& plan, std::size_t stage) {
  std::vector<bool> used(plan.blocks.size());
  for (const Call& call : plan.programs.at(stage).calls) used.at(call.block) = true;
  std::set<Communicator> found;
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    if (!used[b]) continue;
    for (const Op& op : plan.blocks[b].ops) add_communicator(op, plan.mesh, found);
  }
  return found;
}

/// Device indices of the group that the first rank of `stage` is in, rank r on device r.
std::vector<std::int64_t> members(const Communicator& c, const Mesh& mesh, std::size_t stage) {
  Mesh::Coordinates at{};
  at[static_cast<std::size_t>(Axis::kPp)] = static_cast<std::int64_t>(stage);
  std::vector<std::int64_t> ranks = mesh.group(mesh.rank(at), c.axes);
  if (c.stages == Stages::kEnds && c.axes.has(Axis::kPp)) {
    const std::int64_t last = mesh[Axis::kPp] - 1;
    std::erase_if(ranks, [&](std::int64_t rank) {
      const std::int64_t pp = mesh.coordinates(rank)[static_cast<std::size_t>(Axis::kPp)];
      return pp != 0 && pp != last;
    });
  }
  return ranks;
}

// NCCL 2.30: 8 slots per channel and protocol. Simple 4 MiB, LL 512 KiB, LL128 4.7 MiB (init.cc).
constexpr std::int64_t kSimpleBuffer = 4 << 20;
constexpr std::int64_t kLlBuffer = 512 << 10;
constexpr std::int64_t kLl128Buffer = 4'915'200;
// Send and receive use 2 channels per peer by default on a network, Simple only, to and from each
// of two neighbours.
constexpr std::int64_t kMessageChannels = 2 * 2 * 2;

Bytes buffers(const Communicator& c, const Plan& plan, std::size_t stage, const Cluster& cluster) {
  if (c.point_to_point) return Bytes(kMessageChannels * kSimpleBuffer);
  const GroupPlacement group = place_group(cluster, members(c, plan.mesh, stage));
  if (group.ranks <= 1) return {};
  const int channels = communicator_channels(nccl_group(c.kind, group, cluster.kind(group.kind)));
  return Bytes(channels * (kSimpleBuffer + kLlBuffer + kLl128Buffer));
}

MemoryItem communicator_buffers(const Plan& plan, std::size_t stage, const Cluster& cluster) {
  Bytes sum;
  for (const Communicator& c : communicators(plan, stage)) sum += buffers(c, plan, stage, cluster);
  return {"communicator_buffers", sum,
          "NCCL 2.30 init.cc: per communicator and channel 4 MiB Simple + 0.5 MiB LL + 4.7 MiB "
          "LL128; 4 MiB per send or receive channel"};
}

// PyTorch's caching allocator asks the driver for multiples of 2 MiB. What it reserves beyond that
// (blocks split and not yet reusable) depends on the program: 0 with expandable segments, 15 % on
// average without (Guo et al. 2024, GMLake, abstract). 4 % is assumed.
constexpr double kFragmentation = 0.04;

MemoryItem allocator_reserve(Bytes live_peak) {
  const auto fragments =
      static_cast<std::int64_t>(static_cast<double>(live_peak.value) * kFragmentation);
  const Bytes segments(round_up(live_peak.value + fragments, mib(2).value));
  return {"allocator_reserve", segments - live_peak,
          "2 MiB segments (PyTorch CUDACachingAllocator) and 4 % fragmentation, assumed between 0 "
          "with expandable segments and 15 % without (Guo et al. 2024, GMLake)"};
}

}  // namespace

std::vector<MemoryItem> memory_overheads(const Plan& plan, std::size_t stage, Bytes live_peak,
                                         const Cluster& cluster, std::size_t kind) {
  // A processor has no context, allocates exactly and passes messages by MPI.
  const Device& device = cluster.kind(kind).device;
  if (generation_of(device) == Generation::kCpu) return {};
  const bool late = device.compute_capability >= 90;
  return {{"cuda_context", mib(512),
           "driver context, kernels loaded on first use (CUDA 12.2 and later)"},
          {"workspace", mib(late ? 32 : 4),
           "cuBLAS documentation, cublasSetWorkspace: 32 MiB recommended from Hopper on, else 4"},
          communicator_buffers(plan, stage, cluster),
          allocator_reserve(live_peak)};
}

}  // namespace plait
