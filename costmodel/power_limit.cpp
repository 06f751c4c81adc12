#include "costmodel/power_limit.h"

#include <cmath>

#include "costmodel/efficiency.h"

namespace plait {
namespace {

// Products and attention were measured on boards of these limits, which they reach. A lower limit
// lowers the clock, by this power of the ratio of limits.
double lowered_by_power(const Device& device, double exponent) {
  const auto at = [&](double watts) {
    if (!is_measured(device) || device.power.value <= 0 || device.power.value >= watts) return 1.0;
    return std::pow(watts / device.power.value, exponent);
  };
  switch (generation_of(device)) {
    case Generation::kAmpere: return at(400);
    case Generation::kHopper: return at(700);
    case Generation::kBlackwell: return at(1000);
    case Generation::kCpu:
    case Generation::kCdna:
    case Generation::kVolta: return 1;
  }
  return 1;
}

// Dynamic power grows with clock times voltage squared, and voltage with the clock, so the clock
// goes with the cube root of that power: A100 PCIe, 300 W, over SXM, 400 W: 0.91 where the best
// product that ml-engineering's finder reports is 0.93 of the other's.
constexpr double kCubeRoot = 1.0 / 3;
// Hopper's products lose more, since memory, links and idle circuits have their share first and
// voltage has a floor: at 500 W of 700 products of (8192, 8192, 8192), (65536, 8192, 7168) and
// (65536, 3584, 8192) reach 585, 575 and 546 TFLOP/s in bf16 and 1126, 1083 and 1141 in fp8
// (pytorch/FBGEMM pull request 2546), 0.77 of what the fits say at 700 W in the mean, 0.74 to 0.79.
constexpr double kHopperProducts = 0.78;

}  // namespace

double products_slowed_by_power(const Device& device) {
  const bool loses_more = generation_of(device) >= Generation::kHopper;
  return lowered_by_power(device, loses_more ? kHopperProducts : kCubeRoot);
}

double attention_slowed_by_power(const Device& device) {
  return lowered_by_power(device, kCubeRoot);
}

}  // namespace plait
