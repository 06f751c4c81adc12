#include "core/time.h"

#include <cmath>

#include "core/error.h"
#include "core/units.h"

namespace plait {
void refuse_time(const std::string& what, Seconds time, const std::string& cure) {
  throw InputError({"S199",
                    what + " takes " + to_text(time) + ", and time is counted up to " +
                        to_text(to_seconds(kLongestTime)) + ", 100 days",
                    {"", 0, 0, "cluster"},
                    "less than 100 days of one step, or of all requests",
                    cure.empty() ? "make the machine faster, or the work smaller" : cure});
}

SimTime to_sim_time(Seconds t) {
  PLAIT_CHECK(t.value >= 0, "a duration of " + std::to_string(t.value) + " s cannot be simulated");
  if (t > to_seconds(kLongestTime)) refuse_time("an operation", t);
  return static_cast<SimTime>(std::llround(t.value * 1e12));
}

SimTime counted_sum(SimTime a, SimTime b) {
  if (b > kLongestTime - a) refuse_time("what is simulated", to_seconds(a) + to_seconds(b));
  return a + b;
}

SimTime counted_product(std::int64_t times, SimTime t) {
  const Seconds whole = to_seconds(t) * static_cast<double>(times);
  if (whole > to_seconds(kLongestTime)) refuse_time("what is simulated", whole);
  return times * t;
}

SimTime scaled_up(SimTime t, std::int64_t numerator, std::int64_t denominator) {
  const auto up = [denominator](auto product) {
    return product / denominator + (product % denominator > 0 ? 1 : 0);
  };
  const auto counted = [](auto scaled) {
    if (scaled > kLongestTime)
      refuse_time("what is simulated", Seconds(static_cast<double>(scaled) * 1e-12));
    return static_cast<SimTime>(scaled);
  };
  std::int64_t product = 0;  // most are small enough, which takes less time
  if (!__builtin_mul_overflow(t, numerator, &product)) return counted(up(product));
  __extension__ using Wide = __int128;
  return counted(up(Wide{t} * numerator));
}

}  // namespace plait
