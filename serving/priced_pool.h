#pragma once
// Replicas of one layout, ready to serve: how much their caches hold, and what their steps take.
// Caches are as large as the smallest; those of replicas that are alike share what is known of
// their steps (serving/unlike_replicas.h).

#include <list>
#include <optional>
#include <vector>

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
  const StepTime& price(const Step& step, std::size_t replica = 0) {
    return costs_[replica]->price(step);
  }
  /// Of steps that were simulated.
  std::size_t shapes() const;

 private:
  /// Of replicas that are alike.
  class Costs {
   public:
    Costs(ServedModel model, const Speculation& speculation);
    Costs(const Costs&) = delete;  // its parts refer to one another
    Costs& operator=(const Costs&) = delete;
    const StepTime& price(const Step& step) { return drafted_ ? (*drafted_)(step) : plain_(step); }
    std::size_t shapes() const { return drafted_ ? drafted_->shapes() : plain_.shapes(); }

   private:
    ServedModel model_;
    std::optional<Drafter> drafter_;
    StepCosts plain_;
    std::optional<DraftedCosts> drafted_;
  };

  ServedModel model_;
  EngineLimits limits_;
  Speculation speculation_;
  CacheCapacity capacity_;
  std::list<Costs> known_;
  std::vector<Costs*> costs_;  // of each replica
};

}  // namespace plait
