#pragma once
// Devices of a kind are not alike: chips differ in how fast a clock they hold within their power
// and temperature. Those that wait for one another go at the pace of the slowest.

#include <cstdint>

#include "topologies/cluster.h"

namespace plait {

/// From the slowest to the fastest device of a cluster, over the mean, outliers left out: 8 % on
/// average over five clusters of GPUs, when matrices are multiplied (Sinha et al. 2022, Not All
/// GPUs Are Created Equal, SC, abstract).
inline constexpr double kDeviceVariation = 0.08;

/// How much longer the slowest of `devices` takes than a typical one, whose speeds are spread
/// evenly over `variation` around the mean: 1 + v/2 (n - 1) / (n + 1), the expected largest of n.
double slowest_device(double variation, std::int64_t devices);

/// How much longer the kernels of a device take than those of its kind: by the cluster's slowdowns
/// and its jitter.
double slowdown_of(const Cluster& cluster, std::int64_t device);

}  // namespace plait
