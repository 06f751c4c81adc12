#pragma once
// The model families that a Hugging Face config.json may name, each read by its own function.

#include <span>
#include <string_view>

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait {

struct HfFamily {
  std::string_view name;  // value of model_type
  /// Throws InputError M004 to M007. The model's name stays empty.
  Model (*read)(HfReader&);
  bool has_experts = false;
  bool has_latents = false;  // multi-head latent attention
};

std::span<const HfFamily> hf_families();

}  // namespace plait
