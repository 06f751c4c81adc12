#pragma once
// The highest rate of arrivals at which an engine attains its service level objectives (DistServe's
// goodput, over its devices: Zhong et al. 2024, section 1). Given: whether a rate attains them
// (serving/sustained.h).
// From the rate that a scenario has the rate is doubled, or halved, until the answer changes, then
// the interval is bisected until it is at most 1 % wide. Rates have three significant digits, so
// that what is printed can be asked for. Above the first rate that is seen to miss, the answer is
// taken to stay no; a load of few requests can break that by chance.

#include <cstdint>
#include <functional>

namespace plait {

inline constexpr double kRateWidth = 0.01;  // between a rate that attains and one that does not
inline constexpr double kRateRange = 1024;  // how far from the first rate others are tried

struct MaxRate {
  double rate_per_s = 0;    // attains; 0: none that was tried does
  double missed_per_s = 0;  // the lowest that was seen to miss; 0: none did
  std::int64_t count = 0;   // requests that attain it
  std::int64_t runs = 0;    // rates that were tried
};

/// To three significant digits, to nearest.
double rounded_rate(double rate);

/// No rate below `least` is tried, but `from` itself.
MaxRate max_rate(double from, const std::function<bool(double)>& attains, double least = 0);

}  // namespace plait
