#pragma once
// The layout that guides recommend before anything is measured, to compare with.

#include <optional>

#include "search/evaluate.h"
#include "search/space.h"

namespace plait {

struct RuleOfThumb {
  Layout layout;
  Evaluation result;
};

/// Takeaways 1 and 2 of Narayanan et al. 2021 (arXiv 2104.04473, section 3): of tensor parallelism
/// times pipeline stages as little as makes the model fit, tensor parallelism first, up to the
/// devices of a node, then stages; data parallelism over the rest, with the optimizer state
/// sharded, and sequences along tensor parallelism. One sequence per microbatch, 1F1B; layers are
/// recomputed only where nothing fits without. In a mixture of experts the devices of a node share
/// out the experts instead (Megatron-Core's guide to mixtures: expert before tensor parallelism,
/// both within NVLink). All within `offered`, what the framework has. Nothing where none of these
/// fits.
std::optional<RuleOfThumb> rule_of_thumb(const Scenario& scenario, const CostModel& costs,
                                         const Space& offered);

}  // namespace plait
