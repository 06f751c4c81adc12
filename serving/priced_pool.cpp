#include "serving/priced_pool.h"

#include <utility>

#include "serving/unlike_replicas.h"

namespace plait {

PricedPool::PricedPool(ServedModel model, const EngineLimits& limits,
                       const Speculation& speculation, const FrameworkMemory& framework)
    : model_(std::move(model)),
      limits_(with_blocks_of_states(limits, model_)),
      speculation_(speculation),
      capacity_(cache_capacity(model_, limits_, framework, drafter_of(model_, speculation))) {
  const std::vector<std::size_t> first = first_alike(model_);
  for (std::size_t r = 0; r < first.size(); ++r) {
    if (first[r] == r) known_.emplace_back(with_first(model_, r), speculation);
    costs_.push_back(first[r] == r ? &known_.back() : costs_[first[r]]);
  }
}

PricedPool::Costs::Costs(ServedModel model, const Speculation& speculation)
    : model_(std::move(model)), drafter_(drafter_of(model_, speculation)), plain_(model_) {
  if (drafter_) drafted_.emplace(model_, *drafter_, speculation.tokens);
}

std::size_t PricedPool::shapes() const {
  std::size_t out = 0;
  for (const Costs& costs : known_) out += costs.shapes();
  return out;
}

ServerOptions PricedPool::options(std::int64_t seed) const {
  ServerOptions out;
  out.limits = limits_;
  out.blocks = capacity_.blocks, out.kept = capacity_.kept;
  out.guesses = guesses_of(speculation_, seed);
  out.replicas = model_.layout.mesh[Axis::kDp];
  out.batches_in_flight = model_.layout.mesh[Axis::kPp];
  out.shares_experts = model_.layout.experts != ExpertSharing::kNone;
  return out;
}

}  // namespace plait
