#include "serving/priced_pool.h"

#include <utility>

namespace plait {

PricedPool::PricedPool(ServedModel model, const EngineLimits& limits,
                       const Speculation& speculation, const FrameworkMemory& framework)
    : model_(std::move(model)),
      limits_(with_blocks_of_states(limits, model_)),
      speculation_(speculation),
      drafter_(drafter_of(model_, speculation)),
      capacity_(cache_capacity(model_, limits_, framework, drafter_)),
      costs_(model_) {
  if (drafter_) drafted_.emplace(model_, *drafter_, speculation.tokens);
}

ServerOptions PricedPool::options(std::int64_t seed) const {
  ServerOptions out;
  out.limits = limits_;
  out.blocks = capacity_.blocks, out.kept = capacity_.kept;
  out.guesses = guesses_of(speculation_, seed);
  out.replicas = model_.layout.mesh[Axis::kDp];
  out.batches_in_flight = model_.layout.mesh[Axis::kPp];
  return out;
}

}  // namespace plait
