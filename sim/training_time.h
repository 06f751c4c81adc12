#pragma once
// How long a training takes that failures interrupt. Failures come at random, independently of one
// another and of what the machine does (a Poisson process); each one throws training back to its
// last complete checkpoint. All times are expectations, exact for this process, not approximations
// for rare failures:
//
//   M      mean time between failures of the machine
//   R      a restart; a failure within it begins it anew, so that it takes R' = M (e^(R/M) - 1)
//   P      a period: training, and as long as it stands still for a checkpoint
//   w      from the end of a period until its checkpoint is complete; 0 when training waits for it
//   E(P) = (M + R') e^(w/M) (e^(P/M) - 1)           from one complete checkpoint to the next
//
// With w = 0 this is Daly, A higher order estimate of the optimum checkpoint interval (2006),
// equation 20. With w > 0: a failure in the w after a period throws back by two. The first
// checkpoint of all takes (M + R') (e^(w/M) - 1) more, as there is none before it.

#include <cstdint>

#include "core/quantity.h"

namespace plait {

struct InterruptedTraining {
  Seconds step;
  std::int64_t steps = 1;
  std::int64_t interval = 0;  // steps between two checkpoints; 0: what takes the least time
  Seconds stall = {};         // that training stands still for a checkpoint
  Seconds write = {};         // from then on until it is complete
  Seconds restart = {};       // with reading the checkpoint
  Seconds mtbf = {};          // of the machine; 0: it does not fail
};

struct TrainingTime {
  std::int64_t interval = 1;     // steps
  std::int64_t checkpoints = 0;  // the last one with the last step
  double failures = 0;
  Seconds steps;  // of use
  Seconds checkpointing;
  Seconds lost;  // steps and checkpoints that are done again
  Seconds restarts;
  Seconds total() const { return steps + checkpointing + lost + restarts; }
  double goodput() const { return steps / total(); }
};

/// `lost` is infinite where failures come so fast that no checkpoint is reached (e^(P/M) beyond
/// doubles).
TrainingTime training_time(const InterruptedTraining& training);

}  // namespace plait
