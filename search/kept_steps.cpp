#include "search/kept_steps.h"

#include <algorithm>

namespace plait {

void KeptSteps::offer(std::uint32_t number, std::shared_ptr<const EvaluatedStep> step) {
  if (step == nullptr) return;
  const std::lock_guard lock(mutex_);
  const std::pair key(step->step, number);
  fastest_.insert_or_assign(key, std::move(step));
  if (fastest_.size() > kMost) fastest_.erase(std::prev(fastest_.end()));
}

std::shared_ptr<const EvaluatedStep> KeptSteps::find(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto is_it = [number](const auto& kept) { return kept.first.second == number; };
  const auto at = std::ranges::find_if(fastest_, is_it);
  return at == fastest_.end() ? nullptr : at->second;
}

}  // namespace plait
