#pragma once
// Where a step's time goes: the result of sim/explain, or of a measured run.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"

namespace plait {

/// What a step's time goes to.
inline constexpr std::array<std::string_view, 8> kShareGroups = {
    "compute", "recompute", "exposed_communication", "bubble", "optimizer", "offload",
    "host",    "idle"};

/// What a bubble is called where there is no pipeline: ranks of one stage wait for others of it.
inline constexpr std::string_view kWaiting = "waiting for other ranks";

/// One share of the step time. `group` is one of kShareGroups; `name` the kernel ("matmul"), the
/// axis ("tp"), the way off the device ("host_to_device") or "".
struct Share {
  std::string group;
  std::string name;
  Seconds time;
};

/// The step time lost or won by one hardware number: seconds of the critical path that are
/// inversely proportional to it (rates) or proportional to it (latencies, overheads). Exact for
/// small changes: a rate 1 % higher makes the step 1 % of `time` shorter.
struct Sensitivity {
  std::string resource;  // "peak_flops", "memory_bandwidth", "nvlink_bandwidth", "launch_overhead",
                         // "host_issue", ...
  Seconds time;
};

struct Explanation {
  std::vector<Share> breakdown;      // mean over all ranks; sums to the step time
  std::vector<Share> critical_path;  // along the chain that ends last; sums to the step time
  std::vector<Sensitivity> sensitivity;
  std::string
      bound_by;  // "compute", "communication over tp", "host", "pipeline bubble" (kWaiting), ...
};

}  // namespace plait
