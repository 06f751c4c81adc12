#pragma once
// What two pools come to between them: what requests wait for, what is sent, and how busy either
// pool is.

#include "serving/summary.h"

namespace plait {

struct HandoverSummary {
  Quantiles prefill_wait;  // from the arrival to the first step
  Quantiles decode_wait;   // for room on the decode replica, and there for the next step
  Quantiles transfer;      // from room to the last byte, waiting for links included
  std::int64_t transfers = 0, tokens = 0;
  Bytes bytes;                               // that were sent, in all
  double prefill_busy = 0, decode_busy = 0;  // shares of the makespan, mean over stages
  /// What requests wait longest for, on average: "prefill", "transfer" or "decode".
  const char* bottleneck() const;
};

HandoverSummary summarize_handovers(const Service& service, Bytes bytes_per_token,
                                    std::int64_t prefill_replicas, std::int64_t decode_replicas);

}  // namespace plait
