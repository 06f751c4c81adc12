#include "prediction/search/ranking.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/sha256.h"
#include "core/vary.h"
#include "reports/human.h"
#include "search/settings.h"

namespace plait {
namespace {

/// What the objective makes small, of all layouts of one machine.
struct Score {
  double fixed = 0, per_second = 0;  // of the step
  double time_of_token = 0;          // of a step of one second

  double of(SimTime step) const { return fixed + per_second * to_seconds(step).value; }
};

Score score_on(const SearchQuestion& q, const Scenario& s) {
  const auto gpus = static_cast<double>(s.cluster.world_size());
  const Workload& w = s.workload;
  const DocumentLayout documents = lay_out(w.documents, w.sequence_length);
  const double time_of_token =
      1 / trained_on(s.model, documents, w.sequence_length, w.global_batch).tokens;
  const auto of_each_gpu = [&](double rate) {
    return Score{.per_second = gpus * (rate > 0 ? rate : 1) * time_of_token,
                 .time_of_token = time_of_token};
  };
  switch (q.objective) {
    case Objective::kTime: break;
    case Objective::kCost: return of_each_gpu(s.price_per_device_hour);
    case Objective::kEnergy: return of_each_gpu(s.cluster.rated_power().value);
    case Objective::kGpus: return {.fixed = gpus, .time_of_token = time_of_token};
  }
  return {.per_second = time_of_token, .time_of_token = time_of_token};
}

/// Of a row, in the same order as of its score.
std::pair<double, double> figures_of(const SearchQuestion& q, const SearchRow& row) {
  const Report& r = row.report;
  const double time = 1 / r.tokens_per_s;
  const auto gpus = static_cast<double>(r.world_size);
  switch (q.objective) {
    case Objective::kTime: break;
    case Objective::kCost:
      return {r.price_per_billion_tokens > 0 ? r.price_per_billion_tokens : gpus * time, time};
    case Objective::kEnergy: return {row.energy_kwh_per_billion_tokens, time};
    case Objective::kGpus: return {gpus, time};
  }
  return {time, time};
}

}  // namespace

void Ranking::add(const Scenario& machine, std::size_t study, const std::vector<Found>& found) {
  const Score score = score_on(question_, machine);
  for (const Found& f : found) {
    if (!is_new(machine, f.layout)) continue;
    const double time = score.time_of_token * to_seconds(f.result.step).value;
    all_.push_back({study, f, score.of(f.result.step), time});
  }
  std::ranges::stable_sort(all_, {},
                           [](const Ranked& c) { return std::pair(c.score, c.time_per_token); });
}

bool Ranking::is_new(const Scenario& machine, const Layout& layout) {
  if (!machine.placement_rule.any()) return true;
  const std::vector<std::int64_t> devices = with_layout(machine, layout).placement;
  return placed_
      .insert(sha256(fmt::format("{} {} {}", machine.canonical_json,
                                 set_options(settings_of(layout)), fmt::join(devices, ","))))
      .second;
}

SimTime Ranking::slowest(const Scenario& machine) const {
  constexpr SimTime kAny = std::numeric_limits<SimTime>::max();
  // Too late, what is best may have to make room; the front asks for more than the objective.
  const bool all_count = question_.days > 0 || question_.front;
  if (all_count || all_.size() < question_.best) return kAny;
  const Ranked& last = all_[question_.best - 1];
  const Score score = score_on(question_, machine);
  const auto limit = [](double seconds) {
    constexpr double kRounding = 1e-12, kLongestLimit = 1e6;
    return seconds < kLongestLimit ? to_sim_time(Seconds(seconds * (1 + kRounding))) + 1 : kAny;
  };
  if (score.per_second > 0) return limit((last.score - score.fixed) / score.per_second);
  if (score.fixed != last.score) return score.fixed < last.score ? kAny : 0;
  return limit(last.time_per_token / score.time_of_token);
}

std::vector<Ranked> Ranking::reported() const {
  const std::size_t n = question_.days > 0 ? all_.size() : std::min(all_.size(), question_.best);
  return {all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(n)};
}

bool is_better(const SearchQuestion& q, const SearchRow& row, const SearchRow& other) {
  if (q.days > 0 && days_of_training(row.report) > q.days) return false;
  constexpr double kRounding = 1e-9;
  const auto [score, time] = figures_of(q, row);
  const auto [other_score, other_time] = figures_of(q, other);
  if (score < other_score * (1 - kRounding)) return true;
  return score <= other_score && time < other_time * (1 - kRounding);
}

void leave_in_time(const SearchQuestion& q, std::vector<SearchRow>& rows) {
  if (q.days <= 0) return;
  std::erase_if(rows, [&q](const SearchRow& row) { return days_of_training(row.report) > q.days; });
}

std::string leave_the_best(const SearchQuestion& q, std::vector<SearchRow>& rows) {
  const auto days = [](const SearchRow& row) { return days_of_training(row.report); };
  const auto soonest = std::ranges::min_element(rows, {}, days);
  const double least = soonest == rows.end() ? 0 : days(*soonest);
  const std::int64_t gpus = soonest == rows.end() ? 0 : soonest->report.world_size;
  leave_in_time(q, rows);
  if (rows.size() > q.best) rows.resize(q.best);
  if (!rows.empty() || least == 0) return "";
  const double needed = std::ceil(static_cast<double>(gpus) * least / q.days);
  return fmt::format(
      "NOTHING IN TIME: the fastest that fits takes {} days, not {}; {} GPUs as fast as its {} "
      "would",
      human_number(least), human_number(q.days), human_count(static_cast<std::int64_t>(needed)),
      human_count(gpus));
}

}  // namespace plait
