#pragma once
// What communication costs on this machine: messages between two ranks, the hand-over to the
// communication thread, collectives of all ranks. Measured on the path that a real run takes.

#include <optional>
#include <vector>

#include "plan/op.h"
#include "realrun/transport.h"

namespace plait {

/// One size of message between ranks 0 and 1, medians over `repeats` ping-pongs. Processor time is
/// that of each end's thread; a transport that polls instead of sleeping spends it waiting, too.
struct MessageSample {
  std::int64_t bytes = 0, repeats = 0;
  double half_round_trip_s = 0;  // wall time of one direction
  double sent_s = 0;             // wall time until the sender may go on
  double send_cpu_s = 0, receive_cpu_s = 0;
};

/// Called by every rank; those from 2 on only wait. Rank 0 gets the sample.
std::optional<MessageSample> measure_message(Transport& transport, std::int64_t bytes,
                                             std::int64_t repeats, double patience_s);

/// Seconds from a hand-over to the resting communication thread until its work begins, and the same
/// for a compute thread that waits: half of the time of an empty op there and back. Uses one rank.
double measure_wake(Transport& transport, std::int64_t repeats);

/// One collective over all ranks, as nccl-tests counts it: `bytes` is S, times are from the common
/// start to the last rank's end.
struct CollectiveSample {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::int64_t ranks = 0, bytes = 0, repeats = 0;
  bool in_place = true;
  double median_s = 0, p10_s = 0, p90_s = 0;
  double algbw() const { return static_cast<double>(bytes) / median_s; }  // B/s
  /// algbw x 2 (n - 1) / n for all_reduce, (n - 1) / n otherwise (nccl-tests, doc/PERFORMANCE.md).
  double busbw() const;
};

/// Called by every rank; rank 0 gets the sample. all_reduce in place; all_gather and reduce_scatter
/// in place or out of place. fp32.
std::optional<CollectiveSample> measure_collective(Transport& transport, CollectiveKind kind,
                                                   bool in_place, std::int64_t bytes,
                                                   std::int64_t repeats, double patience_s);

/// Seconds of processor time to add `bytes` of received fp32 elements to one's own.
double measure_combine(std::int64_t bytes, std::int64_t repeats);

}  // namespace plait
