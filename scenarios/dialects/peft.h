#pragma once
// adapter_config.json of PEFT, the fields of LoraConfig (src/peft/tuners/lora/config.py of
// github.com/huggingface/peft), as workload.lora. Read alone: a scenario knows no names of modules.

#include "scenarios/dialects/dialects.h"

namespace plait::peft {

/// Throws InputError D006 with the line for what is not planned: other methods than LoRA, patterns
/// of names, names that are known of no product, DoRA, biases, modules that are trained whole,
/// ranks by module.
Imported read(const std::string& text, const std::string& file);

}  // namespace plait::peft
