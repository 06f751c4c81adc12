#pragma once
// A trace beside rank 0 of the made-up plan.

#include "reports/profile/comparison.h"
#include "tests/reports/made_up.h"

namespace plait {

struct Compared {
  MadeUp m;
  Report report = m.report();
  Kernels kernels;

  ProfileComparison operator()(const KinetoTrace& trace) const {
    return compare_profile({.trace = trace,
                            .steps = steps_of(trace),
                            .plan = m.plan,
                            .cluster = m.cluster,
                            .track = m.timeline.tracks[0],
                            .rank = 0,
                            .kernels = kernels,
                            .report = report});
  }
};

}  // namespace plait
