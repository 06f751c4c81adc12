#pragma once
// Families with Llama's layers that call them by other names, or change a part of them.

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait::hf {

Model read_granite(HfReader& config);
Model read_granite_moe(HfReader& config);
/// Grok-1, as its conversions to transformers name it.
Model read_grok(HfReader& config);
/// InternLM too, whose layers have as many key as query heads and biases.
Model read_internlm2(HfReader& config);
Model read_internlm3(HfReader& config);
Model read_baichuan(HfReader& config);
Model read_exaone(HfReader& config);
Model read_exaone4(HfReader& config);
Model read_hunyuan(HfReader& config);
/// Hunyuan-A13B.
Model read_hunyuan_moe(HfReader& config);
Model read_ernie(HfReader& config);
Model read_ernie_moe(HfReader& config);
/// ChatGLM2, ChatGLM3 and GLM-4 as their makers wrote them.
Model read_chatglm(HfReader& config);
/// GLM-4 in transformers' words.
Model read_glm(HfReader& config);
/// GLM-4-0414, which has norms of what its branches add too.
Model read_glm4(HfReader& config);

}  // namespace plait::hf
