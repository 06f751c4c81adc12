#pragma once
// What the host has to do before a device can: Python, the framework's dispatch and autograd, and
// the launch. Counted in calls that take about as long as launching one kernel; how many an op is
// follows from the kernels that it is run as (launches.h, docs/models/issue.md).

#include <vector>

#include "model/kernels.h"
#include "plan/plan.h"
#include "topologies/host.h"

namespace plait {

/// Kernels that a framework launches for the op, and calls that cost the host as much.
std::int64_t host_calls(const Compute& op, const Kernels& kernels = {});

/// What checkpointing a piece of the network costs the host besides its ops, once per pass:
/// forward reads the random states of CPU and GPU, backward reads them, sets them twice, and enters
/// autograd anew (Megatron-LM, megatron/mpu/random.py, CheckpointFunction).
inline constexpr int kCheckpointCalls = 2 + 2 + 2 * 2 + 1;

/// Per op of the block: what the host needs to issue it once it has issued the op before.
std::vector<Seconds> issue_times(const Block& block, const Host& host, const Kernels& kernels = {});

/// What the host waits for behind an op: nothing, the op, or all that it has issued.
enum class HostWait : std::uint8_t { kNot, kOp, kDevice };
/// Behind op `op` of the block.
HostWait wait_after(const Block& block, std::size_t op, const Host& host);

}  // namespace plait
