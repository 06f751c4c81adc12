#pragma once
// Fields that `plait search` does not choose itself and a scenario leaves open all the same: each
// of their values makes a variant of it, which is searched by itself, as with -L.

#include <string>
#include <vector>

#include "scenarios/overrides.h"

namespace plait {

struct VariedField {
  std::string path;
  std::vector<std::string> values;  // as --set takes them
};

/// In the order of the scenario's schema: fields with a list of values where one belongs
/// ("kernels":
/// {"attention": ["flash2", "cudnn"]}), and placement.order and the parts of strategy.offload where
/// they are "auto": ranks in order, or with stages around those that split layers and replicas
/// around stages; on the device, or in host memory (of strategy.offload itself the optimizer, and
/// the optimizer with parameters). Throws as parse_scenario does for a text that
/// is no JSON object, F003 for an empty list.
std::vector<VariedField> varied_fields(const std::string& text, const std::string& file,
                                       const std::vector<Override>& overrides = {});

}  // namespace plait
