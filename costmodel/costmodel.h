#pragma once
// Work -> seconds. Datasheet mode: rooflines with the achieved fractions of the published kernel
// measurements, launch overhead, and NCCL's own choice among algorithms and protocols. With a
// calibration the kernels that it has take what they took when they were measured. Pure functions
// of their arguments: the same work on the same device costs the same, always.

#include <memory>
#include <string_view>

#include "costmodel/calibration.h"
#include "costmodel/cost.h"
#include "costmodel/host_machine.h"
#include "model/kernels.h"
#include "plan/op.h"
#include "topologies/host.h"

namespace plait {

/// How NCCL would run a collective, a serving engine a small all-reduce (one_shot), or processors
/// theirs (ring, recursive doubling, binomial, direct: plan/collectives/rounds.h).
enum class Algorithm : std::uint8_t {
  kRing,
  kTree,
  kNvls,
  kNvlsTree,
  kPat,
  kPairwise,
  kOneShot,
  kPeerCopies,
  kDeepEp,
  kDirect,
  kRecursiveDoubling,
  kBinomial
};
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
std::string_view name_of(Algorithm a);
std::string_view name_of(Protocol p);

struct CollectiveCost {
  Cost cost;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
};

/// Which of NCCL's options a collective takes: the one that NCCL would, or the one that is fastest
/// by this model (a perfect tuner). With `kFastest` a faster link is never slower; NCCL's own
/// choice can change with the link, and its durations then jump.
enum class Selection : std::uint8_t { kNccl, kFastest };

/// Whose kernel runs small all-reduces in place of NCCL's (one_shot.h).
enum class EngineReduce : std::uint8_t { kNone, kVllm, kTensorRtLlm };

struct CostModel {
  Selection selection = Selection::kNccl;
  /// Of the machine that the cluster's device stands for; null: data sheets only.
  std::shared_ptr<const Calibration> calibration = nullptr;
  Host host = {};        // by default everything is issued in no time
  Kernels kernels = {};  // of the framework
  /// All-reduces within an NVLink island run by a serving engine's own kernels where these are
  /// faster than NCCL (one_shot.h).
  EngineReduce engine_all_reduce = EngineReduce::kNone;
  /// Collectives over tp are messages of one device to and from each other one in turn, as copies
  /// between devices that one host thread issues (llama.cpp's split by rows).
  bool one_peer_at_a_time = false;
  /// How much longer what is bound by arithmetic takes on the slowest of the devices that wait for
  /// one another than on a typical one (slowest_device); calibrations say it themselves.
  double slowest = 1;
  HostMachine machine = {};  // where plans put ops and tensors that are not on devices

  /// A kernel on one device.
  Cost compute(const Compute& op, const Device& device) const;
  /// The same on the host's processor, of whose cores and memory bandwidth `sharers` ranks use as
  /// much each. Throws InputError C014 where none is described.
  Cost on_processor(const Compute& op, std::int64_t sharers = 1) const;
  /// What the kernels of an op read from and write to the memory behind the second-level cache.
  Bytes memory_bytes(const Compute& op, const Device& device) const;
  /// A collective over a placed group; zero for a group of one.
  CollectiveCost collective(const Collective& op, const GroupPlacement& group,
                            const Cluster& cluster) const;
  /// One message between two devices.
  Cost transfer(Bytes bytes, const Path& path) const;
  /// A copy between device and host memory, or from or to drives, which `sharers` ranks of a node
  /// use at once. Throws InputError C013 where no storage is described.
  Cost copy(const Copy& op, const NodeKind& node, std::int64_t sharers = 1) const;
};

}  // namespace plait
