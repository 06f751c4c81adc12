#include "costmodel/fit/row_doubts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "costmodel/costmodel.h"
#include "model/op_json.h"

namespace plait {
namespace {

/// No kernel of reports/gpu took so many times what the data sheet says, or so small a part of it;
/// units of time differ by a thousand.
constexpr double kFarOff = 20;
/// Ours: the bands of what is fitted are narrower.
constexpr double kContradiction = 1.5;

/// Rows of which something is said.
struct DoubtedRows {
  std::int64_t kernels = 0, doubted = 0;
  std::string first;  // of the doubted, in words
};

/// `doubt` says what is wrong with a row, if anything.
DoubtedRows doubted_rows(const std::vector<Row>& rows,
                         const std::function<std::optional<std::string>(const KernelRow&)>& doubt) {
  DoubtedRows out;
  for (const Row& row : rows) {
    const auto* kernel = std::get_if<KernelRow>(&row);
    if (kernel == nullptr) continue;
    ++out.kernels;
    const std::optional<std::string> said = doubt(*kernel);
    if (said && out.doubted++ == 0) out.first = *said + ", " + to_json(kernel->op);
  }
  return out;
}

}  // namespace

void doubt_units(const std::vector<Row>& rows, const Device& gpu, Warnings& warnings) {
  const DoubtedRows found =
      doubted_rows(rows, [&](const KernelRow& row) -> std::optional<std::string> {
        const double sheet = CostModel{}.compute(row.op, gpu).total().value,
                     times = row.cpu.median / sheet;
        if (times < kFarOff && times > 1 / kFarOff) return std::nullopt;
        return fmt::format("{:.3g} s where the data sheet says {:.3g}", row.cpu.median, sheet);
      });
  if (found.doubted == 0) return;
  warnings.push_back(
      {"W028",
       fmt::format(
           "{} of {} kernels took more than {} times as long as by the data sheet of {}, or as "
           "short: in another unit? cpu_s is in seconds; the first: {}",
           found.doubted, found.kernels, kFarOff, gpu.name, found.first)});
}

void doubt_rates(const std::vector<Row>& rows, const Device& gpu, Warnings& warnings) {
  const DoubtedRows found =
      doubted_rows(rows, [&](const KernelRow& row) -> std::optional<std::string> {
        if (!std::holds_alternative<MatMul>(row.op)) return std::nullopt;
        const double peak = gpu.peak(compute_dtype(row.op)).value,
                     rate = flops(row.op).value / row.cpu.median;
        if (rate <= peak) return std::nullopt;
        return fmt::format("{:.0f} TFLOP/s of {:.0f}", rate / 1e12, peak / 1e12);
      });
  if (found.doubted == 0) return;
  warnings.push_back(
      {"W032",
       fmt::format("{} of {} kernels are faster than the dense peak of {}: of another device, "
                   "or in another unit? cpu_s is in seconds; the first: {}",
                   found.doubted, found.kernels, gpu.name, found.first)});
}

void doubt_repeats(const std::vector<Row>& rows, Warnings& warnings) {
  std::map<std::string, std::pair<double, double>> extremes;  // by op
  for (const Row& row : rows) {
    const auto* kernel = std::get_if<KernelRow>(&row);
    if (kernel == nullptr) continue;
    const double time = kernel->cpu.median;
    auto& [least, most] = extremes.try_emplace(to_json(kernel->op), time, time).first->second;
    least = std::min(least, time), most = std::max(most, time);
  }
  std::int64_t doubted = 0;
  std::string worst;
  double worst_times = kContradiction;
  for (const auto& [op, times] : extremes) {
    const double apart = times.second / times.first;
    if (apart <= kContradiction) continue;
    ++doubted;
    if (apart <= worst_times) continue;
    worst_times = apart;
    worst = fmt::format("{:.3g} to {:.3g} s, {}", times.first, times.second, op);
  }
  if (doubted == 0) return;
  warnings.push_back(
      {"W033",
       fmt::format("measurements of {} of {} ops contradict each other by more than {} times, "
                   "and their medians are fitted; the worst: {}",
                   doubted, extremes.size(), kContradiction, worst)});
}

void doubt_fits(const std::vector<FitQuality>& quality, Warnings& warnings) {
  std::vector<std::string> worse;
  for (const FitQuality& q : quality) {
    if (q.held_out_rows == 0 || !q.data_sheet_error) continue;
    if (q.held_out_error <= *q.data_sheet_error) continue;
    worse.push_back(fmt::format("{} ({:.1f} %, and {:.1f} % without)", q.name,
                                100 * q.held_out_error, 100 * *q.data_sheet_error));
  }
  if (worse.empty()) return;
  warnings.push_back(
      {"W033",
       fmt::format("by the rows that were not fitted the data sheet is nearer than the fit: "
                   "{}; measure more shapes, on a quiet machine",
                   fmt::join(worse, ", "))});
}

}  // namespace plait
