#include "costmodel/fit/latency_bandwidth.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/median.h"
#include "costmodel/fit/linear.h"

namespace plait {

LatencyBandwidth fit_latency_bandwidth(const CollectiveTimings& run) {
  PLAIT_CHECK(!run.rows.empty(), "a run has rows");
  std::vector<FitRow> rows;
  for (const CollectiveTiming& row : run.rows) {
    rows.push_back({{1, run.factor * static_cast<double>(row.size.value)}, row.time.value});
  }
  const std::vector<double> c = fit_nonnegative(rows);
  LatencyBandwidth out{.latency = Seconds(c[0]), .busbw = {}};
  if (c[1] > 0) out.busbw = BytesPerSecond(1 / c[1]);
  std::vector<double> errors;
  for (const FitRow& row : rows) errors.push_back(std::abs(log_error(c, row)));
  out.median_error = median(errors);
  out.worst_error = std::ranges::max(errors);
  return out;
}

}  // namespace plait
