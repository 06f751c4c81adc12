#pragma once
// Profiles of frameworks, out of their files. One with a "base" says what the profile of that name
// says but for its own entries, of which null takes one of the base away:
//   {"title": "...", "base": "megatron-lm-2020", "defaults": {"kernels.bias": null, ...}}
// Its "instead" has the profiles of other programs that some settings give away, in place of it:
//   [{"profile": "...", "where": {"strategy.offload.optimizer": ["cpu", null], ...}, "source":
//   "..."}]

#include <vector>

#include "scenarios/framework.h"
#include "topologies/catalogue.h"

namespace plait {

/// In the order of the files. Throws InputError C016 for a base that is no file, or that builds in
/// turn on the profile that names it, and for null where the base has no such entry.
std::vector<Framework> frameworks_of(const std::vector<CatalogueEntry>& files);

}  // namespace plait
