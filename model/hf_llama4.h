#pragma once
// Llama 4: experts that one of them sees each token of, and attention within chunks.

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait::hf {

/// The text's part. A chunk is planned as a window of as many tokens: the same up to that length,
/// beyond it a query sees twice as many as chunks show it on average. Layers that see all tokens
/// are rotated, which theirs are not. Both keys stay unused, so that whoever imports hears of them.
/// Throws InputError M004 where the file lists layers by another rule than every n-th.
Model read_llama4(HfReader& config);

}  // namespace plait::hf
