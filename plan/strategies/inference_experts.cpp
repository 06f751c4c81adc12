// Experts in a serving step. A training step gives every expert its slots; a step that generates a
// few tokens meets only some of the experts, and reads the weights of those alone.
#include <algorithm>
#include <cmath>

#include "core/quantity.h"
#include "plan/strategies/inference.h"

namespace plait {
namespace {

/// Experts that `tokens` tokens are expected to choose, k of E each and independently: one is left
/// alone with probability (1 - k / E)^tokens.
std::int64_t experts_met(const Model& m, std::int64_t tokens) {
  const auto all = static_cast<double>(m.experts), k = static_cast<double>(m.experts_per_token);
  const double met = all * (1 - std::pow(1 - k / all, static_cast<double>(tokens)));
  return std::clamp(static_cast<std::int64_t>(std::ceil(met)), m.experts_per_token, m.experts);
}

}  // namespace

void meet_few_experts(Draft& d, const Step& step) {
  const Model& m = d.model;
  if (m.experts == 0) return;
  const std::int64_t met = experts_met(m, step.tokens());
  const std::int64_t slots = ceil_div(m.experts_per_token * step.tokens(), met);
  bool in_slots = false;  // from the tokens' way to the experts until their way back
  for (Op& op : d.layers.back().kept.forward.ops) {
    if (Route* route = body_of<Route>(op)) route->capacity = slots;
    if (body_of<Dispatch>(op) != nullptr) in_slots = true;
    if (body_of<Combine>(op) != nullptr) in_slots = false;
    if (!in_slots) continue;
    for (const Operand& o : op.operands) {
      Tensor& t = d.tensors[o.tensor];
      if (o.use == Use::kWrite) t.dims[0] = Dim{met}, t.dims[1] = Dim{slots};
    }
  }
}

}  // namespace plait
