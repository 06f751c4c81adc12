#include "core/median.h"

#include <algorithm>

#include "core/error.h"

namespace plait {

double median(std::vector<double> values) {
  PLAIT_CHECK(!values.empty(), "the median of nothing");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace plait
