#include "model/expert_flops.h"

namespace plait {

double routed_expert_flops(const Model& m) {
  const std::int64_t width = m.expert_ffn_hidden;
  const std::int64_t weights =
      m.experts_per_token * (m.hidden * m.mlp_input_width(width) + width * m.hidden);
  const std::int64_t layers = m.moe_layers() + (m.mtp_has_experts() ? m.mtp_layers : 0);
  return 2.0 * static_cast<double>(layers * weights);
}

Flops routed_expert_flops(const Model& model, double tokens, double slots) {
  constexpr double kPasses = 3;  // forward, and backward for inputs and for weights
  return Flops(kPasses * routed_expert_flops(model) * tokens * slots);
}

}  // namespace plait
