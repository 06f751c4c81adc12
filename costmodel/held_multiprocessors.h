#pragma once
// How many multiprocessors a collective keeps from the kernels that run beside it: as a calibration
// has measured them, else one for each thread block of NCCL's.

#include <string>

#include "costmodel/calibration.h"
#include "plan/op.h"
#include "topologies/cluster.h"

namespace plait {

/// Under which a calibration has them: "all_reduce", "all_reduce over nodes".
std::string held_key(const std::string& collective, bool over_nodes);

/// Of GPUs of a group of several ranks. `calibration` may be null.
int held_multiprocessors(CollectiveKind kind, const GroupPlacement& group, const NodeKind& node,
                         const Calibration* calibration);

}  // namespace plait
