#include "reports/break_even.h"

#include <algorithm>
#include <cmath>

namespace plait {
namespace {

constexpr double kMargin = 8;            // of the range, beyond the values asked for
constexpr double kUnlimited = 1000;      // times the better end
constexpr double kMatters = 0.01;        // of the step time
constexpr double kRise = 1e-3;           // less is rounding of durations, not another algorithm
constexpr double kPrecision = 1.005;     // of what bisection finds
constexpr std::size_t kMostPoints = 24;  // of the range, besides the values asked for
constexpr double kSameValue = 1e-9;      // apart, relatively: by rounding only

/// Powers of two around these values, which are among them, ascending.
std::vector<double> range_around(const std::vector<double>& asked) {
  const auto [least, most] = std::ranges::minmax(asked);
  const double low = least / kMargin, octaves = std::log2(most * kMargin / low);
  const std::size_t steps =
      std::min(kMostPoints, static_cast<std::size_t>(std::ceil(octaves - 1e-9)));
  const double factor = std::exp2(octaves / static_cast<double>(steps));
  std::vector<double> out = asked;
  double value = low;
  for (std::size_t k = 0; k <= steps; ++k, value *= factor) out.push_back(value);
  std::ranges::sort(out);
  const auto same = [](double a, double b) { return b / a < 1 + kSameValue; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

std::vector<Sample> samples_at(const std::vector<double>& values, const Probe& probe) {
  std::vector<Sample> out;
  for (const double value : values) {
    if (auto sample = probe(value)) out.push_back(*sample);
  }
  return out;
}

/// As far beyond the better end as there is an answer.
std::optional<Sample> unlimited(const Sample& best, bool more_is_better, const Probe& probe) {
  for (double times = kUnlimited; times > 1.5; times = std::sqrt(times)) {
    if (auto s = probe(more_is_better ? best.value * times : best.value / times)) return s;
  }
  return std::nullopt;
}

/// `samples` from the worst to the best; the last is the unlimited one.
std::optional<BreakEven> enough(const std::vector<Sample>& samples, bool more_is_better,
                                const Probe& probe) {
  const double target = (1 + kMatters) * samples.back().time_s;
  const auto over = [target](const Sample& s) { return s.time_s > target; };
  const auto last = std::find_if(samples.rbegin(), samples.rend(), over);
  if (last == samples.rend()) return std::nullopt;
  const double worse = last->value, better = std::prev(last)->value;
  BreakEven out{.kind = BreakEven::Kind::kEnough, .more_is_better = more_is_better};
  out.at = change_between(std::min(worse, better), std::max(worse, better), [&](double v) {
    const auto s = probe(v);
    return s && !over(*s);
  });
  return out;
}

/// `samples` by ascending value.
void add_bounds(const std::vector<Sample>& samples, const Probe& probe,
                std::vector<BreakEven>& out) {
  for (std::size_t k = 1; k < samples.size(); ++k) {
    const Sample &a = samples[k - 1], &b = samples[k];
    if (a.bound == b.bound) continue;
    BreakEven found{.kind = BreakEven::Kind::kBound, .below = a.bound, .above = b.bound};
    found.at = change_between(a.value, b.value, [&](double v) {
      const auto s = probe(v);
      return s && s->bound != a.bound;
    });
    out.push_back(std::move(found));
  }
}

/// `samples` from the worst to the best.
std::optional<BreakEven> rise(const std::vector<Sample>& samples) {
  BreakEven out{.kind = BreakEven::Kind::kNotMonotone, .rise = kRise};
  bool any = false;
  for (std::size_t k = 1; k < samples.size(); ++k) {
    const double change = samples[k].time_s / samples[k - 1].time_s - 1;
    if (change <= out.rise) continue;
    any = true;
    out.rise = change;
    out.low = std::min(samples[k - 1].value, samples[k].value);
    out.high = std::max(samples[k - 1].value, samples[k].value);
    out.more_is_better = samples[k].value > samples[k - 1].value;
  }
  return any ? std::optional(out) : std::nullopt;
}

bool matters(const std::vector<Sample>& samples) {
  const auto [least, most] = std::ranges::minmax(samples, {}, &Sample::time_s);
  return most.time_s > (1 + kMatters) * least.time_s;
}

}  // namespace

double change_between(double low, double high, const std::function<bool(double)>& holds) {
  const bool at_low = holds(low);
  while (high / low > kPrecision) {
    const double middle = std::sqrt(low * high);
    (holds(middle) == at_low ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

std::vector<BreakEven> break_evens(const std::vector<double>& values, const Probe& probe) {
  std::vector<double> positive = values;
  std::erase_if(positive, [](double v) { return v <= 0; });
  if (positive.empty()) return {};
  std::vector<Sample> samples = samples_at(range_around(positive), probe);
  if (samples.size() < 2) return {};
  if (!matters(samples)) {
    return {{.kind = BreakEven::Kind::kNoEffect,
             .low = samples.front().value,
             .high = samples.back().value}};
  }
  std::vector<BreakEven> out;
  const bool more = samples.back().time_s < samples.front().time_s;
  std::vector<BreakEven> bounds;
  add_bounds(samples, probe, bounds);
  if (!more) std::ranges::reverse(samples);
  if (const auto best = unlimited(samples.back(), more, probe)) samples.push_back(*best);
  if (auto found = enough(samples, more, probe)) out.push_back(*found);
  out.insert(out.end(), bounds.begin(), bounds.end());
  if (auto found = rise(samples)) out.push_back(*found);
  return out;
}

}  // namespace plait
