#pragma once
// Of several paths the worst, and what is left of one where something carries less.

#include "topologies/cluster.h"

namespace plait {

/// The narrower bandwidth and the longer latency; the narrower one names the link.
void worsen(Path& worst, const Path& path);
/// To a link on the way, where it carries less.
void narrow(Path& path, LinkClass link, BytesPerSecond bandwidth);

}  // namespace plait
