#pragma once
// Point-to-point messages and copies to the host: t = start + latency + bytes / (share bandwidth).

#include "costmodel/cost.h"
#include "topologies/cluster.h"

namespace plait {

/// One message along `path`; no bytes cost nothing.
Cost message_cost(Bytes bytes, const Path& path);
/// Between device and host memory, over the device's host link.
Cost host_copy_cost(Bytes bytes, const NodeKind& node);
/// Between drives and host memory.
Cost storage_cost(Bytes bytes, BytesPerSecond bandwidth);

}  // namespace plait
