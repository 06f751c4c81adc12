#pragma once
// Times as tables of measured latencies have them.

#include "core/quantity.h"

namespace plait {

constexpr Seconds us(double t) { return Seconds(t * 1e-6); }

}  // namespace plait
