#pragma once
// NCCL's own estimate of every way to run a collective, from which it takes the cheapest:
//   t = latency + bytes / bandwidth   for each (algorithm, protocol).
// This is how the library *chooses*; how long the choice then takes is collectives.cpp's matter.
// Source of all formulas and constants: NCCL 2.30.7, src/graph/{tuning,search,connect}.cc.

#include <string_view>
#include <vector>

#include "costmodel/costmodel.h"
#include "costmodel/efficiency.h"

namespace plait {

/// What NCCL's topology search sees of a group. Rates in bytes per second and direction.
struct NcclGroup {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Generation generation = Generation::kHopper;
  double ranks = 1, nodes = 1;
  double per_node = 1, fewest = 1;  // in the fullest island, in the emptiest
  LinkClass intra_link = LinkClass::kNvlink, inter_link = LinkClass::kInfiniband;
  double intra = 0;           // what one member can send within its island, in a ring
  double intra_exchange = 0;  // and where each member sends to all others alike
  double inter = 0;           // and between islands, in a ring over them
  double exchange = 0;        // and between them, where each member sends to all others alike
  bool nvls = false;
  bool amd_host = false;
};
NcclGroup nccl_group(CollectiveKind kind, const GroupPlacement& group, const NodeKind& node);

/// NCCL builds rings of certain speeds only. `kLadder` is what it reckons with when it chooses;
/// `kContinuous` is the same formula on the links' full rates, so that a slightly faster link is
/// slightly faster.
enum class Speeds : std::uint8_t { kLadder, kContinuous };

/// Parallel rings or trees of one speed each.
struct Channels {
  int count = 0;
  double speed = 0;  // bytes per second
  double total() const { return count * speed; }
};
Channels ring_channels(const NcclGroup& group, Speeds speeds);
/// Rings over several islands are as fast as the network lets them, and not their links within one.
bool network_bounds(const NcclGroup& group);
Channels nvls_channels(const NcclGroup& group, Speeds speeds);
/// Thread blocks that NCCL launches for large messages, each of which owns buffers.
int communicator_channels(const NcclGroup& group);

struct NcclOption {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  Seconds start;                                          // of the kernel and its first chunk
  Seconds intra_latency;                                  // hops within an island
  Seconds inter_latency;                                  // hops between islands
  BytesPerSecond bandwidth;                               // of the whole buffer
  bool inter_bound = false;                               // the network limits the bandwidth
  double size_penalty(Bytes bytes, Speeds speeds) const;  // NCCL's correction for trees
  Seconds time(Bytes bytes, Speeds speeds) const;
};

/// All options for this group and size, in NCCL's order of preference among equals.
std::vector<NcclOption> nccl_options(const NcclGroup& group, Bytes bytes, Speeds speeds);
/// Which of them NCCL takes: the cheapest by its own estimate, the earlier of equals.
std::size_t nccl_choice(const NcclGroup& group, Bytes bytes);
/// Steps of a ring: each sends one n-th of the buffer.
double ring_steps(const NcclGroup& group);

}  // namespace plait
