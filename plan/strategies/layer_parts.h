#pragma once
// The units that layers are, by their parts.

#include <algorithm>

#include "plan/layer_names.h"
#include "plan/strategies/draft.h"
#include "plan/unit_names.h"

namespace plait {

/// The unit of a layer with these parts, which is called as it is.
inline UnitKind unit_of(const LayerParts& parts) {
  const auto at = std::ranges::find(kUnitNames, name_of(parts));
  return kAllUnits[static_cast<std::size_t>(at - kUnitNames.begin())];
}

}  // namespace plait
