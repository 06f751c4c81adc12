#pragma once
// Families of decoders with LayerNorm and a gated MLP.

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait::hf {

Model read_stablelm(HfReader& config);
/// Phi-3.5-MoE.
Model read_phimoe(HfReader& config);
/// Command-R.
Model read_cohere(HfReader& config);
/// Command-R7B and Command-A: with windows in three of four layers.
Model read_cohere2(HfReader& config);
Model read_dbrx(HfReader& config);

}  // namespace plait::hf
