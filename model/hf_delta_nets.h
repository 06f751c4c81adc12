#pragma once
// Models with gated delta nets beside attention whose config.json is read.

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait::hf {

Model read_qwen3_next(HfReader& config);
Model read_qwen3_5(HfReader& config);
Model read_qwen3_5_moe(HfReader& config);

}  // namespace plait::hf
