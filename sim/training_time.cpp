#include "sim/training_time.h"

#include <algorithm>
#include <cmath>

namespace plait {
namespace {

/// What the machine makes of one way to write checkpoints.
class Clock {
 public:
  explicit Clock(const InterruptedTraining& t) : t_(t) {}

  /// Training waits where the checkpoint before is still being written.
  Seconds period(std::int64_t steps) const {
    return std::max(static_cast<double>(steps) * t_.step + t_.stall, t_.write);
  }

  Seconds total(std::int64_t interval) const {
    const std::int64_t whole = t_.steps / interval, rest = t_.steps % interval;
    const auto periods = static_cast<double>(whole);
    const Seconds last = rest > 0 ? period(rest) : Seconds();
    if (t_.mtbf.value == 0) return periods * period(interval) + last + t_.write;
    const double behind = std::exp(t_.write / t_.mtbf);
    const double tries = periods * beyond(period(interval)) + beyond(last);
    return cycle() * (behind * tries + (behind - 1));
  }

  /// From the beginning of training, or of a restart, until the next failure is mended.
  Seconds cycle() const { return t_.mtbf + restart(); }
  Seconds restart() const { return t_.mtbf * beyond(t_.restart); }

 private:
  /// e^(time / M) - 1
  double beyond(Seconds time) const { return std::expm1(time / t_.mtbf); }

  const InterruptedTraining& t_;
};

/// Daly's equation says about how many periods are best. Of those near it, and of the few that a
/// short training has at all, the best is taken: periods are whole steps, and the last may wait for
/// the checkpoint before it.
std::int64_t best_interval(const InterruptedTraining& t, const Clock& clock) {
  if (t.mtbf.value == 0 || t.steps == 1) return t.steps;
  // d/dT of (e^((T + stall)/M) - 1) / T = 0: with y = T / M, (1 - y) e^(y + stall/M) = 1.
  const double stall = t.stall / t.mtbf;
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double y = (low + high) / 2;
    ((1 - y) * std::exp(y + stall) > 1 ? low : high) = y;
  }
  const Seconds optimum = std::max(low * t.mtbf, t.write - t.stall);
  const double periods = std::max(1.0, static_cast<double>(t.steps) * (t.step / optimum));
  const auto near = static_cast<std::int64_t>(std::min(periods, static_cast<double>(t.steps)));
  constexpr std::int64_t kFew = 64;
  std::int64_t best = t.steps;
  const auto consider = [&](std::int64_t interval) {
    const std::int64_t k = std::clamp<std::int64_t>(interval, 1, t.steps);
    if (clock.total(k) < clock.total(best)) best = k;
  };
  for (std::int64_t few = 1; few <= kFew; ++few) {
    consider(few);
    consider(ceil_div(t.steps, few));
    consider(ceil_div(t.steps, near) + few - kFew / 2);
  }
  return best;
}

}  // namespace

TrainingTime training_time(const InterruptedTraining& t) {
  const Clock clock(t);
  TrainingTime out;
  out.interval = t.interval > 0 ? std::min(t.interval, t.steps) : best_interval(t, clock);
  out.checkpoints = ceil_div(t.steps, out.interval);
  out.steps = static_cast<double>(t.steps) * t.step;
  const Seconds total = clock.total(out.interval);
  const Seconds undisturbed = [&] {
    InterruptedTraining quiet = t;
    quiet.mtbf = Seconds();
    return Clock(quiet).total(out.interval);
  }();
  out.checkpointing = undisturbed - out.steps;
  if (!std::isfinite(total.value)) {
    out.lost = total;
  } else if (t.mtbf.value > 0) {
    out.failures = total / t.mtbf;
    out.restarts = total * (clock.restart() / clock.cycle());
    out.lost = total - out.restarts - undisturbed;
  }
  return out;
}

}  // namespace plait
