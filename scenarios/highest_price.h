#pragma once

namespace plait {

/// Of a device for an hour, in whatever currency, in a scenario and on the command line.
inline constexpr double kHighestPrice = 1e9;

}  // namespace plait
