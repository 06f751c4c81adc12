#pragma once
// Durations of collectives. NCCL's own model chooses algorithm and protocol (nccl_tuning.h); the
// duration of the choice comes from measurements where there are any and from NCCL's formula
// elsewhere. For one choice more bytes never take less time and faster links never more; where the
// choice changes the duration may jump, as it does in NCCL, which leaves LL too early.

#include "costmodel/costmodel.h"

namespace plait {

/// `bytes` is nccl-tests' S, the full buffer. A group of one, or no bytes, costs nothing.
CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const GroupPlacement& group,
                               const Cluster& cluster, Selection selection);

/// all_to_all.cpp: every member sends S / n to every other.
CollectiveCost all_to_all_cost(Bytes bytes, const GroupPlacement& group, const NodeKind& node);

/// push_pull.cpp: between workers and parameter servers, all messages at once.
CollectiveCost push_pull_cost(Bytes bytes, const Servers& servers, const GroupPlacement& group,
                              const Cluster& cluster);

/// host_collectives.cpp: between processors without NCCL, the messages that a real run sends.
CollectiveCost host_collective_cost(CollectiveKind kind, Bytes bytes, const GroupPlacement& group);

/// part_collectives.cpp: between parts of a GPU, which NCCL does not run on. Each takes what it is
/// to have out of the others' buffers by its own kernels.
CollectiveCost part_collective_cost(CollectiveKind kind, Bytes bytes, const GroupPlacement& group,
                                    const Device& part);

/// peer_copies.cpp: of one device to and from each other one in turn
/// (CostModel::one_peer_at_a_time).
CollectiveCost peer_copies_cost(const Collective& op, const GroupPlacement& group);

/// Messages of one member one after the other, and what it receives per byte of the buffer, where
/// each sends on, or takes, one share after the other.
struct RoundTotals {
  double count = 0, wire = 0;
};
RoundTotals ring_rounds(CollectiveKind kind, double members);

}  // namespace plait
