#pragma once
// What software gets out of links: the usable share of a data-sheet rate, and how hop times that
// were measured on usual hardware scale with a link's own latency.

#include "costmodel/efficiency.h"

namespace plait {

/// Share of the data-sheet rate that NCCL counts on.
double usable_share(LinkClass link, Generation generation);

/// The path's latency over the usual one of its class; 1 on the machines where hops were measured.
double latency_ratio(const Path& path);

/// Fixed times of a collective's kernel scale with the launch overhead, like any kernel's.
double launch_ratio(const Device& device);

}  // namespace plait
