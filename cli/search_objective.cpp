#include "cli/search_objective.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace plait {
namespace {

constexpr double kSecondsPerDay = 86400;

/// What the objective makes small.
double score(const SearchCommand& o, const SearchRow& row, double watts) {
  const Report& r = row.report;
  const double gpu_seconds_per_token = static_cast<double>(r.world_size) / r.tokens_per_s;
  if (o.objective == "gpus") return static_cast<double>(r.world_size);
  if (o.objective == "energy") return gpu_seconds_per_token * watts;
  if (o.objective == "cost") {
    return r.price_per_billion_tokens > 0 ? r.price_per_billion_tokens : gpu_seconds_per_token;
  }
  return 1 / r.tokens_per_s;
}

bool in_time(const SearchCommand& o, const Report& r) {
  return o.days == 0 || o.tokens / r.tokens_per_s <= o.days * kSecondsPerDay;
}

}  // namespace

void Ranking::add(const SearchCommand& o, const Scenario& machine, std::vector<SearchRow> rows) {
  for (SearchRow& row : rows) {
    if (!in_time(o, row.report)) continue;
    const double value = score(o, row, machine.cluster.device.power.value);
    rows_.emplace_back(value, std::move(row));
  }
}

std::vector<SearchRow> Ranking::best(const SearchCommand& o) {
  std::ranges::stable_sort(
      rows_, {}, [](const auto& r) { return std::pair(r.first, r.second.report.step_time_s); });
  std::vector<SearchRow> out;
  for (auto& [value, row] : rows_) {
    if (out.size() < o.best) out.push_back(std::move(row));
  }
  return out;
}

double price_of(const std::vector<std::string>& prices, const std::string& device) {
  double out = 0;
  for (const std::string& text : prices) {
    const std::size_t equals = text.find('=');
    const bool named = equals != std::string::npos;
    const char* first = text.data() + (named ? equals + 1 : 0);
    const char* last = text.data() + text.size();
    double price = 0;
    const auto [end, error] = std::from_chars(first, last, price);
    if (error != std::errc() || end != last || !(price > 0)) {
      throw InputError({.code = "G024",
                        .problem = "--price " + text + " is no price",
                        .expected = "of a device for an hour: 2.5, or h100-sxm=2.5"});
    }
    if (!named || text.substr(0, equals) == device) out = price;
  }
  return out;
}

}  // namespace plait
