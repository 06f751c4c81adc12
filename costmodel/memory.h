#pragma once
// Device memory besides live tensors: items with a name and a source, never a fudge factor.

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/quantity.h"
#include "model/kernels.h"
#include "plan/framework_memory.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "topologies/cluster.h"

namespace plait {

struct MemoryItem {
  std::string name;  // "cuda_context", "communicator_buffers", "workspace", "stream_pools",
                     // "allocator_reserve", "loss_copies", "attention_scores",
                     // "step_temporaries", "buckets", "eager_intermediates"
  Bytes bytes;
  std::string source;  // where the number comes from
};

/// Whom NCCL connects in a communicator for what runs in it: neighbours in rings (and trees), each
/// rank with every other (all_to_all), or the two neighbours of a pipeline stage.
enum class Connections { kRings, kPairs, kNeighbours };

/// A communicator that a plan needs: the group of some axes. Ordered, so that each counts once.
struct NeededCommunicator {
  CollectiveKind kind;  // for the channel count; not part of the identity
  AxisSet axes;
  Stages stages;
  Connections connections;
  auto identity() const { return std::tuple(axes.bits(), stages, connections); }
  bool operator<(const NeededCommunicator& o) const { return identity() < o.identity(); }
};

/// The overheads of one stage after another: what blocks need is looked up once, and groups that
/// lie alike on the machine are placed once. The plan and the cluster outlive it.
class StageOverheads {
 public:
  /// `further`: microbatches that the plan stands for beside its own (LiveMemory::of_longer).
  StageOverheads(const Plan& plan, const Cluster& cluster, const FrameworkMemory& framework = {},
                 const Kernels& kernels = {}, std::int64_t further = 0);

  /// What is there beside the plan's tensors while ops run and tensors stay. These overheads
  /// outlive it.
  BesideTensors beside() const;
  /// Of one rank of `stage`, given its live tensors at their peak (which the allocator rounds),
  /// with those of the peak's op. Temporaries of the optimizer step count as far as they raise the
  /// peak: activations are gone then.
  std::vector<MemoryItem> of(std::size_t stage, const StageMemory& live, std::size_t kind = 0);

 private:
  struct BlockNeeds {
    std::vector<NeededCommunicator> communicators;
    std::int64_t updated = 0;  // parameters that a rank's optimizer updates
  };
  struct Scratch {
    Bytes loss, gap;  // copies of one microbatch's logits, and free between them
    Bytes scores;     // of unfused attention
  };
  BlockNeeds needs_of(const Block& block) const;
  Bytes beside(const Op& op) const;
  Scratch scratch_of(const Op& op) const;
  Scratch scratch_of(const CrossEntropy& loss, const Op& op) const;
  Scratch scratch_at(const StageMemory& live) const;
  Bytes loss_copies(const CrossEntropy& loss, const Op& op) const;
  Bytes buffers(const NeededCommunicator& c, std::size_t stage);
  Bytes ring_buffers(const GroupPlacement& group, CollectiveKind kind) const;
  Bytes pair_buffers(const GroupPlacement& group) const;
  MemoryItem communicator_buffers(std::size_t stage, const std::vector<std::int64_t>& calls);
  std::vector<MemoryItem> framework_tensors(const StageMemory& live, const Scratch& scratch,
                                            const std::vector<std::int64_t>& calls) const;
  Bytes eager_intermediates(const StageMemory& live) const;
  Bytes with_beside(const StageMemory& live) const;
  Bytes idle_pools(std::size_t stage, const StageMemory& live) const;

  const Plan& plan_;
  const Cluster& cluster_;
  FrameworkMemory framework_;
  SoftmaxKernel softmax_;
  Fusion loss_;
  std::int64_t further_;
  std::vector<BlockNeeds> blocks_;
  std::map<TensorId, Scratch> logits_;  // while the loss or a cast has them: by their storage
  std::vector<double> intermediates_;   // by tensor: bytes per byte of it
  std::list<LiveMemory> pools_;         // by stream that allocates; none: there is one
  std::int64_t period_;                 // of the machine's symmetry, in ranks
  std::map<std::tuple<NeededCommunicator, CollectiveKind, std::int64_t, std::int64_t>, Bytes>
      buffers_;
  bool deepep_;  // sends what routing chose, instead of NCCL
};

}  // namespace plait
