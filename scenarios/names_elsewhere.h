#pragma once
// What other programs call the fields of a scenario: a Hugging Face config.json, Megatron-LM,
// DeepSpeed, transformers, torchtitan. Whoever types such a name is told the field.

#include "core/error.h"
#include "core/json.h"

namespace plait {

/// An error about an unknown field (F001, F005) or value (F004) of the scenario `root`, with a cure
/// that names the field that is meant, where its name or value is one of other programs; any other
/// as it is.
InputError with_field_meant(const InputError& error, const Json& root);

}  // namespace plait
