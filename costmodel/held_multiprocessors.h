#pragma once
// How many multiprocessors a collective keeps from the kernels that run beside it: as a calibration
// has measured them, else one for each thread block of NCCL's.

#include <string>

#include "costmodel/calibration.h"
#include "costmodel/costmodel.h"
#include "plan/op.h"
#include "topologies/cluster.h"

namespace plait {

/// Under which a calibration has them: "all_reduce", "all_reduce over nodes".
std::string held_key(const std::string& collective, bool over_nodes);

/// Of each device of the group, on nodes of kind `node`, for a collective that runs as `algorithm`;
/// none of processors, and none where a group is one rank. Pieces that go around beside a product
/// of tensor parallelism hold none: copy engines move them (Transformer Engine, userbuffers,
/// `use_ce`; PyTorch, symmetric memory). DeepEP's exchanges hold 20 (Megatron-LM,
/// `moe_deepep_num_sms`). `calibration` may be null.
int held_multiprocessors(const Collective& collective, Algorithm algorithm,
                         const GroupPlacement& group, const NodeKind& node,
                         const Calibration* calibration);

}  // namespace plait
