// The expectations against formulas of others, and against failures that are drawn.

#include "sim/training_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

namespace plait {
namespace {

/// 10 s a step; a checkpoint every 30 steps, which training waits 20 s for.
InterruptedTraining some_training() {
  return {.step = Seconds(10),
          .steps = 3000,
          .interval = 30,
          .stall = Seconds(20),
          .write = {},
          .restart = Seconds(120),
          .mtbf = Seconds(3600)};
}

TEST(TrainingTime, WithoutFailuresStepsAndCheckpointsAddUp) {
  InterruptedTraining t = some_training();
  t.mtbf = {};
  const TrainingTime takes = training_time(t);
  EXPECT_EQ(takes.checkpoints, 100);
  EXPECT_DOUBLE_EQ(takes.steps.value, 30'000);
  EXPECT_DOUBLE_EQ(takes.checkpointing.value, 2000);
  EXPECT_DOUBLE_EQ(takes.total().value, 32'000);
  EXPECT_EQ(takes.failures, 0);
  t.interval = 0;  // one at the end is enough
  EXPECT_EQ(training_time(t).checkpoints, 1);
}

// Daly 2006, equation 20: M e^(R/M) (e^((T + d)/M) - 1) for each T of work.
TEST(TrainingTime, IsDalysWhereTrainingWaitsForCheckpoints) {
  const InterruptedTraining t = some_training();
  const double daly = 3600 * std::exp(120.0 / 3600) * (std::exp(320.0 / 3600) - 1) * 100;
  EXPECT_NEAR(training_time(t).total().value, daly, 1e-9 * daly);
}

// Young 1974: the square root of 2 d M, where d is far below M.
TEST(TrainingTime, TheBestIntervalIsYoungsWhereFailuresAreRare) {
  InterruptedTraining t = some_training();
  t.step = Seconds(0.1), t.steps = 100'000'000, t.stall = Seconds(2), t.mtbf = Seconds(1e6);
  t.interval = 0;
  EXPECT_NEAR(static_cast<double>(training_time(t).interval) * 0.1, std::sqrt(2 * 2 * 1e6), 2);
}

// 384 A100 of BLOOM: 40 s every three hours are 0.37 % of the time (Stas Bekman, Machine Learning
// Engineering, training/fault-tolerance).
TEST(TrainingTime, BloomsCheckpointsTookWhatItsAuthorsSay) {
  InterruptedTraining t{.step = Seconds(108), .steps = 100'000, .interval = 100};
  t.stall = Seconds(40);
  const TrainingTime takes = training_time(t);
  EXPECT_NEAR(takes.checkpointing / takes.total(), 0.0037, 0.00005);
}

// Llama 3 405B on 16,384 H100 (Dubey et al. 2024, section 3.3.4): 419 unplanned interruptions in 54
// days, of which more than 90 % were training.
TEST(TrainingTime, Llama3TrainedNineTenthsOfTheTime) {
  InterruptedTraining t{.step = Seconds(40), .steps = 116'640};  // 54 days
  t.stall = Seconds(3), t.restart = Seconds(600), t.mtbf = Seconds(50'700 * 3600.0 / 16'384);
  const TrainingTime takes = training_time(t);
  EXPECT_GT(takes.goodput(), 0.9);
  EXPECT_LT(takes.goodput(), 0.95);
  EXPECT_NEAR(takes.failures / takes.total().value * 54 * 86400, 419, 1);
}

/// One training with failures that are drawn.
class Drawn {
 public:
  Drawn(const InterruptedTraining& t, std::uint64_t seed)
      : t_(t), draw_(seed), gap_(1 / t.mtbf.value) {}

  double time() {
    fail_next();
    while (done_ < t_.steps) attempt();
    return now_;
  }
  int failures() const { return failures_; }

 private:
  void fail_next() { failure_ = now_ + gap_(draw_); }

  /// From the last complete checkpoint on, until the next failure or the end.
  void attempt() {
    std::int64_t step = done_, written = done_;
    double complete = now_;  // when `written` is
    while (true) {
      const bool more = step < t_.steps;
      const std::int64_t next = std::min(step + t_.interval, t_.steps);
      const double period = static_cast<double>(next - step) * t_.step.value + t_.stall.value;
      const double end = more ? std::max(now_ + period, complete) : complete;
      if (complete <= failure_) done_ = written;
      if (end > failure_) return restart();
      now_ = end;
      if (!more) return;
      step = written = next;
      complete = now_ + t_.write.value;
    }
  }

  void restart() {
    do {
      now_ = failure_;
      ++failures_;
      fail_next();
    } while (failure_ < now_ + t_.restart.value);
    now_ += t_.restart.value;
  }

  const InterruptedTraining& t_;
  std::mt19937_64 draw_;
  std::exponential_distribution<double> gap_;
  double now_ = 0, failure_ = 0;
  std::int64_t done_ = 0;
  int failures_ = 0;
};

void expect_as_drawn(const InterruptedTraining& t) {
  constexpr int kRuns = 4000;
  double sum = 0, squares = 0, failures = 0;
  for (int i = 0; i < kRuns; ++i) {
    Drawn run(t, static_cast<std::uint64_t>(i));
    const double time = run.time();
    sum += time, squares += time * time, failures += run.failures();
  }
  const double mean = sum / kRuns;
  const double error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
  const TrainingTime takes = training_time(t);
  EXPECT_NEAR(takes.total().value, mean, 4 * error);
  EXPECT_LT(error, 0.02 * mean);
  EXPECT_NEAR(takes.failures, failures / kRuns, 0.05 * takes.failures);
}

TEST(TrainingTime, IsTheMeanOfTrainingsWhoseFailuresAreDrawn) {
  InterruptedTraining t = some_training();
  t.steps = 310;  // the last period is cut short
  expect_as_drawn(t);
  t.restart = Seconds(2000);  // failures in restarts
  expect_as_drawn(t);
  t.mtbf = Seconds(400);  // and in most periods
  t.restart = Seconds(60);
  expect_as_drawn(t);
}

TEST(TrainingTime, IsTheMeanOfDrawnOnesWhereCheckpointsAreWrittenBesideTraining) {
  InterruptedTraining t = some_training();
  t.steps = 300, t.stall = Seconds(2), t.write = Seconds(150);
  expect_as_drawn(t);
  t.mtbf = Seconds(500);
  expect_as_drawn(t);
}

RC_GTEST_PROP(TrainingTime, PartsAddUpAndGetWorseWithWorseMachines, ()) {
  InterruptedTraining t;
  t.step = Seconds(*rc::gen::inRange(1, 100));
  t.steps = *rc::gen::inRange(1, 100'000);
  t.stall = Seconds(*rc::gen::inRange(0, 300));
  t.write = Seconds(*rc::gen::inRange(0, 300));
  t.restart = Seconds(*rc::gen::inRange(0, 3000));
  t.mtbf = Seconds(*rc::gen::inRange(2000, 1'000'000));
  const TrainingTime takes = training_time(t);
  const double total = takes.total().value;
  RC_ASSERT(takes.steps.value > 0);
  RC_ASSERT(takes.checkpointing.value >= 0);
  RC_ASSERT(takes.lost.value >= -1e-9 * total);
  RC_ASSERT(takes.goodput() <= 1);
  for (auto worse :
       {&InterruptedTraining::stall, &InterruptedTraining::restart, &InterruptedTraining::write}) {
    InterruptedTraining with = t;
    with.interval = takes.interval;
    with.*worse += Seconds(10);
    RC_ASSERT(training_time(with).total().value >= total * (1 - 1e-12));
  }
  InterruptedTraining fails_more = t;
  fails_more.interval = takes.interval;
  fails_more.mtbf *= 0.9;
  RC_ASSERT(training_time(fails_more).total().value >= total * (1 - 1e-12));
  // Periods are of whole steps, so that the last one may be shorter: that is all that is lost.
  InterruptedTraining other = t;
  other.interval = *rc::gen::inRange<std::int64_t>(1, t.steps + 1);
  RC_ASSERT(training_time(other).total().value >= total * (1 - 1e-3));
}

}  // namespace
}  // namespace plait
