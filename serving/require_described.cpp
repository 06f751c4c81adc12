#include "serving/require_described.h"

#include "plan/refusal.h"

namespace plait {

void require_described(const Model& m, const EngineLimits& limits) {
  if (!limits.prefix_caching || keeps_all_tokens(m)) return;
  throw refusal("S180", "prefix caching of layers that keep a window or a state",
                "serving.engine.enable_prefix_caching",
                "false, or a model whose layers keep the keys and values of all tokens",
                "leave prefix caching off for this model");
}

}  // namespace plait
