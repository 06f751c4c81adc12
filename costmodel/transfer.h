#pragma once
// Point-to-point messages and copies to the host: t = start + latency + bytes / (share bandwidth).

#include "costmodel/cost.h"
#include "topologies/cluster.h"

namespace plait {

/// What a stage of communication between parts of a GPU takes besides its kernels: an event of
/// another part's stream to be waited for. Assumed: no measurement stands behind it.
inline constexpr double kHandOverUs = 5;

/// Of an empty message, and the share of a link's data-sheet rate that messages reach.
Seconds message_start(const Path& path);
double message_share(LinkClass link);
/// One message along `path`; no bytes cost nothing.
Cost message_cost(Bytes bytes, const Path& path);
/// Between device and host memory, over the device's host link.
Cost host_copy_cost(Bytes bytes, const NodeKind& node);
/// Between drives and host memory.
Cost storage_cost(Bytes bytes, BytesPerSecond bandwidth);

}  // namespace plait
