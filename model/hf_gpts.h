#pragma once
// Families of decoders with LayerNorm and an MLP without a gate.

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait::hf {

Model read_gpt2(HfReader& config);
Model read_gpt_neox(HfReader& config);
Model read_gptj(HfReader& config);
Model read_phi(HfReader& config);
Model read_falcon(HfReader& config);
Model read_bloom(HfReader& config);
Model read_opt(HfReader& config);
Model read_starcoder2(HfReader& config);
Model read_mpt(HfReader& config);
/// Nemotron-4 and Minitron.
Model read_nemotron(HfReader& config);

}  // namespace plait::hf
