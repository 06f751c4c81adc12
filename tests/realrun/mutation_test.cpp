// Verification finds faults: in the verified matrix no collective and no copy can be dropped or
// misgrouped, no two microbatches exchanged and no window forgotten, without another result or an
// error. A collective that could be dropped would be one that the plan does not need; the few of
// these are named in mutations.h, and each is checked to be one. So are sums whose order does not
// matter.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "core/error.h"
#include "realrun/compute/host_device.h"
#include "realrun/launch/one_core.h"
#include "realrun/matrix/matrix.h"
#include "tests/realrun/mutations.h"

namespace plait::mutation_test {

/// Two: what the end of a step leaves undone shows in the next.
constexpr int kSteps = 2;
/// Ranks that wait for one another give up soon where a fault is expected; a machine so busy that a
/// sound plan would be given up is no harm there.
constexpr double kPatience_s = 60, kShortPatience_s = 0.05;
/// Mutated plans run at the same time: their ranks wait for one another most of the time.
constexpr int kThreads = 8;

/// After the first step and after the last.
using Expected = std::vector<std::pair<int, ModelState>>;

/// Whether the plan runs and gives what is expected. Most faults show in the first step.
bool same(const Model& model, const Mutation& m, const Expected& expected) {
  const OneCore core;
  const double patience = m.sound ? kPatience_s : kShortPatience_s;
  try {
    return std::ranges::all_of(expected, [&](const auto& after) {
      const ModelState got = run_steps(model, m.plan, RunPrecision::kFp64,
                                       {.steps = after.first,
                                        .patience_s = patience,
                                        .device = host_device<double>(Fresh::kNaN)});
      return passes(compare(got, after.second), tolerance_of(RunPrecision::kFp64));
    });
  } catch (const EnvironmentError&) {
    return false;  // ranks waited for one another
  } catch (const InternalError&) {
    return false;  // two ends of a transfer meant different things
  }
}

using Mutate = std::vector<Mutation> (*)(const Plan&);

/// Returns how many mutations there were.
std::size_t expect_caught(const MatrixCase& c, Mutate mutate) {
  const Plan plan = make_plan(c.model, in_precision(c.workload, RunPrecision::kFp64), c.strategy);
  Expected expected;
  for (int steps : {1, kSteps}) {
    expected.emplace_back(steps, run_steps(c.model, plan, RunPrecision::kFp64, {.steps = steps}));
  }
  const std::vector<Mutation> mutations = mutate(plan);
  std::vector<char> unnoticed(mutations.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < mutations.size(); i = next++) {
        unnoticed[i] = same(c.model, mutations[i], expected) ? 1 : 0;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    EXPECT_EQ(unnoticed[i] != 0, mutations[i].sound) << c.name << ": " << mutations[i].what;
  }
  return mutations.size();
}

bool every_mutation() { return std::getenv("PLAIT_ALL_MUTATIONS") != nullptr; }

/// Each of four kinds of fault is planted in every 24th case, so that every sixth case has one; in
/// all of them where PLAIT_ALL_MUTATIONS is set.
std::vector<MatrixCase> cases_of(std::size_t kind) {
  std::vector<MatrixCase> all = matrix_cases(), out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (every_mutation() || i % 24 == 6 * kind) out.push_back(std::move(all[i]));
  }
  return out;
}

std::size_t expect_all_caught(std::size_t kind, Mutate mutate) {
  std::size_t n = 0;
  for (const MatrixCase& c : cases_of(kind)) n += expect_caught(c, mutate);
  return n;
}

TEST(Mutation, DroppedCollectivesAreCaught) { EXPECT_GT(expect_all_caught(0, dropped), 75U); }

TEST(Mutation, MisgroupedCollectivesAreCaught) { EXPECT_GT(expect_all_caught(1, misgrouped), 50U); }

TEST(Mutation, SwappedMicrobatchesAreCaught) {
  EXPECT_GT(expect_all_caught(2, swapped_microbatches), 75U);
}

TEST(Mutation, OtherWindowsAreCaught) {
  std::size_t n = 0;
  for (const MatrixCase& c : matrix_cases()) {
    if (c.model.windowed_layers() > 0) n += expect_caught(c, other_windows);
  }
  EXPECT_GT(n, 80U);
}

TEST(Mutation, DroppedCopiesAreCaught) {
  constexpr std::size_t kEvery = 3;
  std::size_t n = 0, i = 0;
  for (const MatrixCase& c : matrix_cases()) {
    if (!c.strategy.offload.any()) continue;
    if (every_mutation() || i++ % kEvery == 0) n += expect_caught(c, copies_dropped);
  }
  EXPECT_GT(n, 80U);
}

TEST(Mutation, ACollectiveDroppedInOneCallIsCaught) {
  const Mutate once = [](const Plan& plan) { return dropped_once(plan, every_mutation()); };
  std::size_t n = 0;
  for (const MatrixCase& c : cases_of(3)) {
    int axes = 0;  // that are split: hybrids have every kind of collective
    for (std::int64_t size : c.strategy.mesh.size) axes += size > 1 ? 1 : 0;
    if (axes >= 3 || (axes == 2 && c.strategy.zero_stage == 3)) n += expect_caught(c, once);
  }
  EXPECT_GT(n, 100U);
}

}  // namespace plait::mutation_test
