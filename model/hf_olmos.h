#pragma once
// The families of the Allen Institute, whose norms of queries and keys span all heads.

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait::hf {

Model read_olmo2(HfReader& config);
/// OLMo 2 with windows in three of four layers.
Model read_olmo3(HfReader& config);
Model read_olmoe(HfReader& config);

}  // namespace plait::hf
