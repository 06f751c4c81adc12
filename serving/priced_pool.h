#pragma once
// Replicas of one layout, ready to serve: how much their caches hold, and what their steps take.

#include <optional>

#include "plan/framework_memory.h"
#include "serving/capacity.h"
#include "serving/drafter.h"

namespace plait {

class PricedPool {
 public:
  /// dp replicas over tp and pp, as the model's mesh says.
  PricedPool(ServedModel model, const EngineLimits& limits, const Speculation& speculation,
             const FrameworkMemory& framework);
  PricedPool(const PricedPool&) = delete;  // its parts refer to one another
  PricedPool& operator=(const PricedPool&) = delete;

  const ServedModel& model() const { return model_; }
  /// With blocks that hold a state, where the model has some.
  const EngineLimits& limits() const { return limits_; }
  const CacheCapacity& capacity() const { return capacity_; }
  bool fits() const { return capacity_.holds(limits_); }
  /// `seed`: of guesses.
  ServerOptions options(std::int64_t seed) const;
  const StepTime& price(const Step& step) { return drafted_ ? (*drafted_)(step) : costs_(step); }
  /// Of steps that were simulated.
  std::size_t shapes() const { return drafted_ ? drafted_->shapes() : costs_.shapes(); }

 private:
  ServedModel model_;
  EngineLimits limits_;
  Speculation speculation_;
  std::optional<Drafter> drafter_;
  CacheCapacity capacity_;
  StepCosts costs_;
  std::optional<DraftedCosts> drafted_;
};

}  // namespace plait
