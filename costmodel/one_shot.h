#pragma once
// All-reduce as serving engines run it on small buffers: one kernel in which every GPU reads its
// peers' buffers over NVLink and adds them up itself (one shot), or adds its share and reads the
// others' (two shots: reduce_scatter, all_gather). Of S bytes on n GPUs:
//   t = a + c n + min((n - 1) S / B1, e + 2 (n - 1) / n S / B2)
// In place of NCCL where it is faster, up to 8 MiB (vLLM's custom_all_reduce.py; TensorRT-LLM's
// allReduceKernels and its Lamport variant).

#include <optional>

#include "costmodel/costmodel.h"
#include "costmodel/efficiency.h"
#include "topologies/cluster.h"

namespace plait {

inline constexpr Bytes kLargestOneShot = Bytes(8 << 20);

struct OneShotFit {
  double start_us = 0;      // a
  double rank_us = 0;       // c
  double one_shot_gbs = 0;  // B1
  double again_us = 0;      // e: the barrier between the two shots
  double two_shot_gbs = 0;  // B2
};
/// By engine and generation; the rates scale with the device's NVLink.
OneShotFit one_shot_fit(EngineReduce engine, Generation generation);
Seconds one_shot_time(const OneShotFit& fit, double ranks, Bytes bytes);

/// None where there is no such kernel: beyond an island of 8, or off NVLink.
std::optional<Cost> one_shot_cost(EngineReduce engine, Bytes bytes, const GroupPlacement& group,
                                  const Device& device);

}  // namespace plait
