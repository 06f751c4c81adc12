#include "reports/validate.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace plait {
namespace {

using Records = std::vector<const ValidationRecord*>;

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

/// The smallest value that a share of at least `q` does not exceed; the middle pair's mean for 0.5.
double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  if (q == 0.5 && n % 2 == 0) return (values[n / 2 - 1] + values[n / 2]) / 2;
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(n)));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

std::vector<double> absolute(std::vector<double> values) {
  for (double& v : values) v = std::abs(v);
  return values;
}

void summarize_times(const Records& records, ValidationSummary& out) {
  std::vector<double> errors;
  std::int64_t inside = 0;
  for (const ValidationRecord* r : records) {
    const std::optional<double> e = r->error();
    if (!e) continue;
    errors.push_back(*e);
    if (std::abs(std::log1p(*e)) <= std::log1p(r->provenance.band)) ++inside;
  }
  out.n = static_cast<std::int64_t>(errors.size());
  if (errors.empty()) return;
  const std::vector<double> sizes = absolute(errors);
  out.mape = mean(sizes);
  out.median_ape = quantile(sizes, 0.5);
  out.p90_ape = quantile(sizes, 0.9);
  out.max_ape = quantile(sizes, 1);
  out.bias = mean(errors);
  out.in_band = static_cast<double>(inside) / static_cast<double>(out.n);
}

struct Pair {
  double measured = 0, predicted = 0;  // seconds per sequence
};

/// Counts of pairs: in the same order in both, in the opposite, and tied in one only.
struct Concordance {
  double same = 0, opposite = 0, tied_measured = 0, tied_predicted = 0;

  void count(const std::vector<Pair>& pairs) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) add(pairs[i], pairs[j]);
    }
  }
  /// Kendall's tau-b.
  std::optional<double> tau() const {
    const double all = (same + opposite + tied_measured) * (same + opposite + tied_predicted);
    if (all <= 0) return std::nullopt;
    return (same - opposite) / std::sqrt(all);
  }

 private:
  void add(const Pair& a, const Pair& b) {
    const double m = a.measured - b.measured, p = a.predicted - b.predicted;
    if (m == 0 && p == 0) return;
    if (m == 0) {
      ++tied_measured;
    } else if (p == 0) {
      ++tied_predicted;
    } else {
      ++(m * p > 0 ? same : opposite);
    }
  }
};

/// What a group's best prediction took, mean of all that tie for it (repeats of one layout do),
/// over what its best run took, minus 1.
double regret(const std::vector<Pair>& pairs) {
  const double best = std::ranges::min_element(pairs, {}, &Pair::measured)->measured;
  const double first = std::ranges::min_element(pairs, {}, &Pair::predicted)->predicted;
  std::vector<double> picked;
  for (const Pair& p : pairs) {
    if (p.predicted == first) picked.push_back(p.measured);
  }
  return mean(picked) / best - 1;
}

void summarize_ranking(const Records& records, ValidationSummary& out) {
  std::map<std::string, std::vector<Pair>> groups;
  for (const ValidationRecord* r : records) {
    if (r->error()) {
      groups[r->file + r->group].push_back(
          {*r->measured_s / r->sequences, r->predicted_s / r->sequences});
    }
  }
  Concordance all;
  std::vector<double> regrets;
  for (const auto& [name, pairs] : groups) {
    if (pairs.size() < 3) continue;
    ++out.ranked_groups;
    all.count(pairs);
    regrets.push_back(regret(pairs));
  }
  out.kendall_tau = all.tau();
  if (regrets.empty()) return;
  out.top1_regret = mean(regrets);
  out.worst_regret = quantile(regrets, 1);
}

void summarize_fit(const Records& records, ValidationSummary& out) {
  std::vector<double> errors;
  for (const ValidationRecord* r : records) {
    if (!r->predicted()) continue;
    if (r->says_memory) {
      if (r->measured_oom) {
        ++(r->fits ? out.oom_fits : out.oom_does_not_fit);
      } else {
        ++(r->fits ? out.ran_fits : out.ran_does_not_fit);
      }
    }
    if (const std::optional<double> e = r->memory_error()) errors.push_back(*e);
  }
  const std::int64_t right = out.ran_fits + out.oom_does_not_fit;
  const std::int64_t all = right + out.ran_does_not_fit + out.oom_fits;
  if (all > 0) out.oom_accuracy = static_cast<double>(right) / static_cast<double>(all);
  out.memory_n = static_cast<std::int64_t>(errors.size());
  if (errors.empty()) return;
  out.memory_mape = mean(absolute(errors));
  out.memory_median_ape = quantile(absolute(errors), 0.5);
  out.memory_bias = mean(errors);
}

/// What even a perfect model misses: runs of one scenario differ.
void summarize_repeats(const Records& records, ValidationSummary& out) {
  std::map<std::string, std::vector<double>> runs;
  for (const ValidationRecord* r : records) {
    if (r->error()) runs[r->file + r->scenario].push_back(*r->measured_s);
  }
  std::vector<double> distances;
  for (const auto& [scenario, times] : runs) {
    if (times.size() < 2) continue;
    const double middle = quantile(times, 0.5);
    for (const double t : times) distances.push_back(std::abs(t / middle - 1));
  }
  out.repeats = static_cast<std::int64_t>(distances.size());
  if (!distances.empty()) out.repeat_ape = mean(distances);
}

}  // namespace

std::optional<double> ValidationRecord::error() const {
  if (!predicted() || !measured_s || *measured_s <= 0) return std::nullopt;
  return predicted_s / *measured_s - 1;
}

std::optional<double> ValidationRecord::memory_error() const {
  if (!predicted() || !measured_memory_bytes || *measured_memory_bytes <= 0) return std::nullopt;
  return predicted_memory_bytes / *measured_memory_bytes - 1;
}

ValidationSummary summarize(const std::vector<const ValidationRecord*>& records) {
  ValidationSummary out;
  for (const ValidationRecord* r : records) out.not_represented += r->predicted() ? 0 : 1;
  summarize_times(records, out);
  summarize_ranking(records, out);
  summarize_fit(records, out);
  summarize_repeats(records, out);
  return out;
}

std::vector<std::string> Validation::files() const {
  std::vector<std::string> out;
  for (const ValidationRecord& r : records) {
    if (std::ranges::find(out, r.file) == out.end()) out.push_back(r.file);
  }
  return out;
}

std::vector<const ValidationRecord*> Validation::of_file(const std::string& file) const {
  std::vector<const ValidationRecord*> out;
  for (const ValidationRecord& r : records) {
    if (file.empty() || r.file == file) out.push_back(&r);
  }
  return out;
}

std::vector<const ValidationRecord*> Validation::listed(int worst) const {
  std::vector<const ValidationRecord*> out;
  for (const ValidationRecord& r : records) {
    if (worst < 0 || r.error()) out.push_back(&r);
  }
  if (worst < 0) return out;
  std::ranges::stable_sort(out, std::ranges::greater(), [](const ValidationRecord* r) {
    return std::abs(std::log1p(*r->error()));
  });
  out.resize(std::min<std::size_t>(out.size(), static_cast<std::size_t>(worst)));
  return out;
}

}  // namespace plait
