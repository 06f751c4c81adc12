// Which layouts are worth having: for whoever lacks time, memory, GPUs or money.

#include <algorithm>
#include <array>

#include "reports/search.h"

namespace plait {
namespace {

/// What one would have little of.
std::array<double, 4> burdens(const Report& r) {
  const auto gpus = static_cast<double>(r.world_size);
  const double time = 1 / r.tokens_per_s;
  const bool priced = r.price_per_billion_tokens > 0;
  return {time, static_cast<double>(r.memory.peak_memory_bytes), gpus,
          priced ? r.price_per_billion_tokens : gpus * time};
}

/// `a` is nowhere worse than `b`, and somewhere better.
bool beats(const Report& a, const Report& b) {
  const std::array<double, 4> x = burdens(a), y = burdens(b);
  bool better = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] > y[i]) return false;
    better = better || x[i] < y[i];
  }
  return better;
}

}  // namespace

std::vector<SearchRow> pareto_front(std::vector<SearchRow> rows) {
  std::vector<SearchRow> out;
  for (const SearchRow& row : rows) {
    const auto beaten = [&row](const SearchRow& other) { return beats(other.report, row.report); };
    const auto same = [&row](const SearchRow& other) {
      return other.machine == row.machine && other.settings == row.settings;
    };
    if (std::ranges::none_of(rows, beaten) && std::ranges::none_of(out, same)) out.push_back(row);
  }
  std::ranges::stable_sort(out, {}, [](const SearchRow& r) { return 1 / r.report.tokens_per_s; });
  return out;
}

double days_of_training(const Report& report) {
  constexpr double kSecondsPerDay = 86400;
  return report.training ? report.training->total_s / kSecondsPerDay : 0;
}

}  // namespace plait
