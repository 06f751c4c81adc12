#include "prediction/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "costmodel/checkpoint_cost.h"
#include "plan/checkpoint.h"
#include "reports/human.h"
#include "sim/training_time.h"

namespace plait {
namespace {

/// Beyond so many times the time of its steps nobody trains.
constexpr double kMostTimes = 100;

void require_progress(const Scenario& s, const InterruptedTraining& t, const TrainingTime& takes) {
  if (takes.total() < kMostTimes * takes.steps) return;
  throw locate(
      InputError(
          {.code = "S190",
           .problem = fmt::format(
               "a failure every {}, where {} steps and a checkpoint take {} and a restart {}",
               human_duration(t.mtbf.value), human_count(takes.interval),
               human_duration((static_cast<double>(takes.interval) * t.step + t.stall).value),
               human_duration(t.restart.value)),
           .where = {"", 0, 0, "training"},
           .expected = "failures rare enough for training to get on",
           .cure = "shorten training.checkpoint.interval or training.restart_time, or raise "
                   "training.checkpoint.bandwidth or training.device_mtbf",
           .others = {"training.device_mtbf", "training.checkpoint.interval",
                      "training.restart_time", "training.checkpoint.bandwidth"}}),
      s);
}

}  // namespace

TrainingReport training_of(const Scenario& s, const Plan& plan, std::int64_t tokens, SimTime step) {
  const Training& asked = *s.training;
  const auto devices = static_cast<double>(s.cluster.world_size());
  const Bytes bytes = checkpoint_bytes(plan);
  const CheckpointCost cost = checkpoint_cost(bytes, s.cluster, asked.checkpoint);
  InterruptedTraining t;
  t.step = to_seconds(step);
  t.steps = static_cast<std::int64_t>(std::ceil(asked.tokens / static_cast<double>(tokens)));
  if (const Seconds interval = asked.checkpoint.interval; interval.value > 0) {
    t.interval = std::max<std::int64_t>(1, std::llround(std::min(interval / t.step, 1e18)));
  }
  t.stall = cost.stall, t.write = cost.write;
  t.restart = asked.restart_time + cost.read;
  t.mtbf = asked.device_mtbf / devices;
  const TrainingTime takes = training_time(t);
  require_progress(s, t, takes);
  constexpr double kHour = 3600;
  return {.tokens = asked.tokens,
          .steps = t.steps,
          .total_s = takes.total().value,
          .steps_s = takes.steps.value,
          .lost_s = takes.lost.value,
          .restarts_s = takes.restarts.value,
          .checkpoints_s = takes.checkpointing.value,
          .failures = takes.failures,
          .machine_mtbf_s = t.mtbf.value,
          .restart_s = t.restart.value,
          .checkpoints = takes.checkpoints,
          .checkpoint_bytes = bytes.value,
          .checkpoint_interval_steps = takes.interval,
          .checkpoint_interval_s = (static_cast<double>(takes.interval) * t.step).value,
          .checkpoint_stall_s = t.stall.value,
          .checkpoint_write_s = t.write.value,
          .price = s.price_per_device_hour * devices * takes.total().value / kHour,
          .energy_kwh = s.cluster.rated_energy_kwh(takes.total())};
}

}  // namespace plait
