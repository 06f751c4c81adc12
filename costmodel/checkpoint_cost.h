#pragma once
// What writing and reading a checkpoint takes.

#include "plan/training.h"
#include "topologies/cluster.h"

namespace plait {

struct CheckpointCost {
  Seconds stall;  // that training stands still for one
  Seconds write;  // beside training, from then on
  Seconds read;
};

/// Every device copies an equal share to its host, as Megatron-Core does fully in parallel
/// (--ckpt-fully-parallel-save), and the store takes what all hosts send. Asynchronous: training
/// waits for the copies alone. Else for both at once, as copies and writes are of different parts.
/// Reading is at the store's rate.
CheckpointCost checkpoint_cost(Bytes bytes, const Cluster& cluster, const Checkpointing& how);

}  // namespace plait
