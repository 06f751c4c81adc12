#pragma once
// A whole training, of which a plan is one step: how much is trained on, and what interrupts it.

#include "core/quantity.h"

namespace plait {

/// The state of training is written to a store that every node reaches, so that it outlives them.
struct Checkpointing {
  Seconds interval;           // of training between two; 0: whatever takes the least time
  BytesPerSecond bandwidth;   // that the store takes from all nodes together, and gives them
  bool asynchronous = false;  // training goes on while what was copied to the hosts is written
};

/// One failure of a device, its host or its links stops all: they train together.
struct Training {
  double tokens = 0;
  /// Of a device with its share of host and network: Llama 3 405B on 16,384 H100 was interrupted
  /// 419 times in 54 days that nobody had planned (Dubey et al. 2024, section 3.3.4), once in
  /// 50,700 device hours. 0: nothing fails.
  Seconds device_mtbf = Seconds(50'700 * 3600.0);
  /// From a failure to the first step after it, without reading the checkpoint: MegaScale finds and
  /// diagnoses failures in less than 10 minutes on average (Jiang et al. 2024). Llama 3 405B lost
  /// at most 18.6 minutes to each in all, as more than 90 % of its time were steps.
  Seconds restart_time = Seconds(600);
  Checkpointing checkpoint;
};

/// What a store takes from each host where the scenario does not say: BLOOM's, 2.3 TB in 40 s from
/// 48 (Stas Bekman, Machine Learning Engineering, training/fault-tolerance).
inline constexpr BytesPerSecond kStoreBandwidthOfHost = BytesPerSecond(1.2e9);

}  // namespace plait
