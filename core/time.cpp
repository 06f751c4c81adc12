#include "core/time.h"

#include <cmath>

#include "core/error.h"

namespace plait {

SimTime to_sim_time(Seconds t) {
  constexpr double kLongest = 100.0 * 24 * 3600;
  PLAIT_CHECK(std::isfinite(t.value) && t.value >= 0 && t.value <= kLongest,
              "a duration of " + std::to_string(t.value) + " s cannot be simulated");
  return static_cast<SimTime>(std::llround(t.value * 1e12));
}

}  // namespace plait
