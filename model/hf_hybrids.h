#pragma once
// Models with state-space mixers whose config.json is read: Mamba-2's alone, and beside attention.

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait::hf {

Model read_mamba2(HfReader& config);
Model read_nemotron_h(HfReader& config);
Model read_bamba(HfReader& config);
Model read_granite_hybrid(HfReader& config);

}  // namespace plait::hf
