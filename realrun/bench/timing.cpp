#include "realrun/bench/timing.h"

#include <algorithm>
#include <cmath>

#include "core/median.h"
#include "realrun/op_time.h"

namespace plait {
namespace {

/// The nearest rank: the smallest value that is not exceeded by a share of `p`.
double quantile(const std::vector<double>& sorted, double p) {
  const double rank = std::ceil(p * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {median(values), quantile(values, 0.1), quantile(values, 0.9)};
}

Timed time_calls(const std::function<void()>& call, const TimingOptions& options) {
  const std::int64_t before = thread_cpu_ns();
  call();
  const double first = static_cast<double>(thread_cpu_ns() - before) * kSecondsPerNs;
  Timed out;
  const double wanted = std::ceil(options.least_repeat_s / std::max(first, kSecondsPerNs));
  out.calls = static_cast<std::int64_t>(std::clamp(wanted, 1.0, 1000.0));
  const double repeat_s = std::max(first * static_cast<double>(out.calls), kSecondsPerNs);
  out.repeats = static_cast<std::int64_t>(std::clamp(options.seconds / repeat_s,
                                                     static_cast<double>(options.least_repeats),
                                                     static_cast<double>(options.most_repeats)));
  std::vector<double> wall, cpu;
  for (std::int64_t r = 0; r < out.repeats; ++r) {
    const std::int64_t switches = thread_use().switches;
    const std::int64_t start = now_ns(), start_cpu = thread_cpu_ns();
    for (std::int64_t c = 0; c < out.calls; ++c) call();
    const std::int64_t used = thread_cpu_ns() - start_cpu, took = now_ns() - start;
    const double scale = kSecondsPerNs / static_cast<double>(out.calls);
    wall.push_back(static_cast<double>(took) * scale);
    cpu.push_back(static_cast<double>(used) * scale);
    out.switches += thread_use().switches - switches;
  }
  out.wall = spread_of(std::move(wall)), out.cpu = spread_of(std::move(cpu));
  return out;
}

}  // namespace plait
