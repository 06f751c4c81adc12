// The constants of collectives: what is committed is the fit of one half of the published
// measurements, and it predicts the other half.
//   PLAIT_DATA=... costmodel_test --gtest_filter='CollectiveFits.*'
// prints the constants that differ and the table of errors.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "costmodel/collectives.h"
#include "tests/costmodel/measured_collectives.h"

namespace plait::collective_fits_test {

using enum CollectiveKind;

bool is_all_to_all(CollectiveKind kind) { return kind == kAllToAll; }
bool is_chosen_by_nccl(CollectiveKind kind) { return kind != kAllToAll; }

Seconds predicted(const MeasuredCollective& m) {
  return cost_of(m.row.group.kind, m.row.bytes.value, m.group, m.device).cost.total();
}
double error_of(const MeasuredCollective& m) { return predicted(m) / m.row.time - 1; }

/// The rows that are fitted, with the time that the model predicts.
std::vector<MeasuredCollective> predictions(const Device& device) {
  std::vector<MeasuredCollective> rows;
  for (CollectiveKind kind : {kAllReduce, kAllGather, kReduceScatter}) {
    for (std::int64_t n : {2, 4, 8}) {
      for (int power = 9; power <= 29; ++power) {
        rows.push_back(
            measured(kind, island(device, n), device, Bytes(std::int64_t{1} << power), {}));
        rows.back().row.time = predicted(rows.back());
      }
    }
  }
  return rows;
}

// Rounded to as many digits as are committed.
std::string text(const ProtocolFit& f) {
  return fmt::format("{} {} {} {}: {:.2f}, {:.3f}, {:.2f}, {:.3f}, {:.2f}",
                     static_cast<int>(f.generation), name_of(f.kind), name_of(f.algorithm),
                     name_of(f.protocol), f.base_us, f.step_us, f.rate_gbps, f.small, f.ramp_us);
}

/// Both constants give the same times wherever they serve: within 0.5 %, as they are rounded.
void expect_same(const ProtocolFit& committed, const ProtocolFit& fit,
                 const std::vector<CollectiveFitRow>& rows) {
  for (const CollectiveFitRow& row : rows) {
    const Seconds have = island_time(committed, row.group, row.bytes).total();
    const Seconds want = island_time(fit, row.group, row.bytes).total();
    if (std::abs(have / want - 1) < 0.005) continue;
    ADD_FAILURE() << "the fit is    " << text(fit) << "\ncommitted is  " << text(committed);
    return;
  }
}

std::vector<CollectiveFitRow> rows_of(const ProtocolFit& fit,
                                      const std::vector<CollectiveFitRow>& all) {
  std::vector<CollectiveFitRow> rows;
  for (const CollectiveFitRow& row : all) {
    const NcclOption option =
        nccl_options(row.group, row.bytes, Speeds::kLadder).at(nccl_choice(row.group, row.bytes));
    if (option.algorithm == fit.algorithm && option.protocol == fit.protocol &&
        (row.group.kind == fit.kind || fit.protocol == Protocol::kLl128))
      rows.push_back(row);
  }
  return rows;
}

void expect_committed(const std::vector<CollectiveFitRow>& rows) {
  for (const ProtocolFit& fit : fit_islands(rows)) {
    const ProtocolFit* committed =
        protocol_fit(fit.kind, fit.generation, fit.algorithm, fit.protocol);
    if (committed == nullptr)
      ADD_FAILURE() << "not committed: " << text(fit);
    else
      expect_same(*committed, fit, rows_of(fit, rows));
  }
}

// The fit is the inverse of the formula.
TEST(CollectiveFits, FindTheConstantsThatMadeTheRows) {
  for (const MeasuredMachine& machine : machines())
    expect_committed(fitted_rows(predictions(machine.device), is_chosen_by_nccl));
}

TEST(CollectiveFits, CommittedIsTheFitOfTheFittedSizes) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  for (const MeasuredMachine& machine : machines()) {
    const std::vector<MeasuredCollective> all = island_rows(machine, *folder);
    expect_committed(fitted_rows(all, is_chosen_by_nccl));
    const std::vector<CollectiveFitRow> rows = fitted_rows(all, is_all_to_all);
    const PairwiseFit fit = fit_pairwise(rows);
    const PairwiseFit committed = pairwise_fit(generation_of(machine.device));
    expect_same(committed.small, fit.small, rows);
    expect_same(committed.large, fit.large, rows);
  }
}

TEST(CollectiveFits, CommittedIsTheFitBetweenIslands) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  std::vector<CollectiveFitRow> rows;
  for (const char* source : kFabricSources)
    std::ranges::move(fitted_rows(fabric_rows(source, *folder), is_chosen_by_nccl),
                      std::back_inserter(rows));
  const FabricFit fit = fit_fabric(rows), committed = fabric_fit();
  for (const CollectiveFitRow& row : rows) {
    const double ratio = fabric_time(committed, row.group, row.bytes).total() /
                         fabric_time(fit, row.group, row.bytes).total();
    ASSERT_NEAR(ratio, 1, 0.005) << fmt::format("the fit is {:.2f}, {:.2f}, {:.1f}, {:.3f}",
                                                fit.base_us, fit.hop_us, fit.rate_gbps,
                                                fit.ramp_us);
  }
}

/// Errors of rows that were not fitted, by what they have in common.
struct HeldOut {
  std::map<std::string, std::vector<double>> errors;

  void add(const std::vector<std::string>& cells, const MeasuredCollective& m) {
    for (const std::string& cell : cells) errors[cell].push_back(error_of(m));
  }
};

double mean_absolute(const std::vector<double>& errors) {
  double sum = 0;
  for (double e : errors) sum += std::abs(e);
  return sum / static_cast<double>(errors.size());
}

void print(const HeldOut& held_out) {
  fmt::print("{:42} rows  MAPE   bias    p90    max\n", "held out, %");
  for (const auto& [cell, errors] : held_out.errors) {
    std::vector<double> sizes;
    double bias = 0;
    for (double e : errors)
      sizes.push_back(std::abs(e)), bias += e / static_cast<double>(errors.size());
    std::ranges::sort(sizes);
    fmt::print("{:42} {:4} {:5.1f} {:+6.1f} {:6.1f} {:6.1f}\n", cell, errors.size(),
               100 * mean_absolute(errors), 100 * bias, 100 * sizes[sizes.size() * 9 / 10],
               100 * sizes.back());
  }
}

TEST(CollectiveFits, PredictTheOtherSizesOfOneIsland) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  HeldOut held_out;
  for (const MeasuredMachine& machine : machines()) {
    for (const MeasuredCollective& m : island_rows(machine, *folder)) {
      if (is_fitted(m)) continue;
      const std::string cell = fmt::format("{} {}", machine.name, name_of(m.row.group.kind));
      if (m.row.bytes.value >= kGiB)
        held_out.add({cell + " from 1 GiB, other labs"}, m);
      else
        held_out.add({"all", machine.name, cell, fmt::format("{} n={}", cell, m.group.ranks)}, m);
    }
  }
  print(held_out);
  ASSERT_EQ(held_out.errors.size(), 1U + 3 + 12 + 36 + 3);
  for (const auto& [cell, errors] : held_out.errors)
    EXPECT_LE(mean_absolute(errors), cell.find("n=") == std::string::npos ? 0.08 : 0.10) << cell;
}

TEST(CollectiveFits, PredictTheOtherSizesAndGroupsBetweenIslands) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  HeldOut held_out;
  for (const std::string source : kFabricSources) {
    for (const MeasuredCollective& m : fabric_rows(source, *folder)) {
      if (is_fitted(m)) continue;
      const bool group = m.group.nodes == 8 || m.group.nodes == 64;
      held_out.add({"all", source, source + (group ? ", other groups" : ", other sizes"),
                    fmt::format("{} n={}", source, m.group.ranks)},
                   m);
    }
  }
  print(held_out);
  ASSERT_EQ(held_out.errors.size(), 1U + 2 + 4 + 10);
  for (const auto& [cell, errors] : held_out.errors)
    EXPECT_LE(mean_absolute(errors), cell.find("n=") == std::string::npos ? 0.10 : 0.15) << cell;
}

// Where up to 16 MiB a doubling of the size takes 1.8 times as long or more, NCCL has switched.
TEST(CollectiveFits, MeasuredJumpsAreSwitches) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  int jumps = 0;
  for (const MeasuredMachine& machine : machines()) {
    const std::vector<MeasuredCollective> rows = island_rows(machine, *folder);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const CollectiveFitRow &below = rows[i - 1].row, &at = rows[i].row;
      if (at.bytes != below.bytes * 2 || at.bytes.value > 16 * kMiB) continue;
      if (is_all_to_all(at.group.kind) || at.time < below.time * 1.8) continue;
      ++jumps;
      EXPECT_NE(nccl_choice(at.group, at.bytes), nccl_choice(below.group, below.bytes));
      fmt::print("{} {} n={} at {} KiB: measured {:.2f}, predicted {:.2f} times as long\n",
                 machine.name, name_of(at.group.kind), at.group.ranks, at.bytes.value / 1024,
                 at.time / below.time, predicted(rows[i]) / predicted(rows[i - 1]));
    }
  }
  EXPECT_GE(jumps, 10);
}

}  // namespace plait::collective_fits_test
