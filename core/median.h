#pragma once
#include <vector>

namespace plait {

/// The value in the middle; of an even number of them the mean of both. `values` is not empty.
double median(std::vector<double> values);

}  // namespace plait
