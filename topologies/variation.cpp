#include "topologies/variation.h"

namespace plait {

double slowest_device(double variation, std::int64_t devices) {
  const auto n = static_cast<double>(devices);
  return 1 + variation / 2 * (n - 1) / (n + 1);
}

}  // namespace plait
