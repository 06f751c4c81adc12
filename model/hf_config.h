#pragma once
// Import of a Hugging Face config.json: the shapes of the language model of the families that
// hf_families.h names. Missing keys take the defaults of the family's configuration class in
// `transformers`. What the model description has no word for is left out in silence (token ids,
// constants of norms and rotations), listed (sliding windows, how experts are scored) or, when it
// changes the work or the parameters, refused (experts or latent attention in another family).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/dtype.h"
#include "model/model.h"

namespace plait {

/// What a checkpoint's quantization_config says of its weights.
struct HfQuantization {
  std::string method;      // its quant_method, "fp8"
  std::int64_t bits = 0;   // of a weight; 0: not said
  std::string algorithm;   // quant_algo (ModelOpt) or format (compressed-tensors); "": not said
  bool fp8_cache = false;  // keys and values are to be kept in fp8
  bool blocks = false;     // each block of a weight has a scale of its own
};

struct ImportedModel {
  Model model;
  std::optional<DType> dtype;  // of the published weights, when stated
  std::optional<HfQuantization> quantization;
  std::vector<std::string> ignored_keys;      // that may matter: dotted paths, in the file's order
  std::vector<std::string> assumed_defaults;  // "num_key_value_heads = 32"
};

/// `file` is what messages call the text. Throws InputError: J0xx for broken JSON, M001 not an
/// object, M002 no model_type, M003 unknown model_type, M004 a feature that is not yet planned,
/// M005 a value of the wrong type or range, M006 sizes that do not divide, M007 an unknown word.
ImportedModel import_hf_config(const std::string& text, const std::string& file);

}  // namespace plait
