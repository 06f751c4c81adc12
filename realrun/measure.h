#pragma once
// Times steps of a real run: warm-up, repeats from a common start on all ranks, and for every op
// its wall time, processor time and involuntary switches, in the simulator's Timeline.

#include <functional>
#include <optional>
#include <vector>

#include "model/model.h"
#include "plan/plan.h"
#include "plan/timeline.h"
#include "realrun/control.h"
#include "realrun/op_time.h"
#include "realrun/walk.h"

namespace plait {

struct MeasureOptions {
  std::int64_t warmup = 2, repeats = 9;  // steps
  double patience_s = 60;                // see WalkOptions
  bool library_collectives = false;
  MakeDevice device = {};  // empty: the processor, in fp32
  /// Per stage and flat op: seconds that compute sleeps instead of computing; empty: it computes.
  std::vector<std::vector<double>> timed_compute_s = {};
  /// Called by rank 0 behind each step with how many are done and how many there will be.
  std::function<void(std::int64_t, std::int64_t)> progress = {};
};

/// What one rank recorded.
struct RankRecord {
  std::int64_t rank = 0;
  std::vector<std::vector<OpTime>> steps;  // [repeat][flat op], from the common start of the step
  Bytes planned_peak, held_peak;           // live memory by plan/memory.h, and as allocated
  Bytes in_flight_peak;                    // as allocated, with what communication still keeps
};

struct Measurement {
  std::vector<RankRecord> ranks;
  std::vector<double> step_s;   // per repeat: from the common start to the last op of any rank
  std::size_t median_step = 0;  // the repeat whose time is nearest to the median
  Timeline timeline;            // of that repeat; a track for every rank
};

/// Every rank calls this; rank 0 gets the measurement, the others nothing. Throws as
/// Walker::step does.
std::optional<Measurement> measure(const Plan& plan, const Model& model, Transport& transport,
                                   const MeasureOptions& options);

/// Distribution-free interval that holds the median of the distribution with 95 % probability:
/// order statistics by the binomial distribution; all of the range below six values.
struct Interval {
  double low = 0, high = 0;
};
Interval median_interval(std::vector<double> values);

}  // namespace plait
