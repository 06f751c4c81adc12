#pragma once
// What the name of a checkpoint says of how it is quantised: publisher/Model-Release-Format, as on
// huggingface.co, in which a format is a word or several ("AWQ-INT4", "quantized.w4a16"). And what
// the quantization_config of its config.json says.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/hf_config.h"
#include "model/weight_format.h"
#include "topologies/cluster.h"

namespace plait {

/// How the linear layers of a checkpoint are stored and multiplied.
struct CheckpointFormat {
  std::string_view name;                       // "int4", as messages have it
  std::string_view weights;                    // as scenarios write them
  std::string_view experts;                    // theirs
  std::string_view products = "plain";         // what they read
  std::string_view expert_products = "plain";  // theirs
  std::string_view lost = {};                  // what of it a scenario cannot say; "": nothing
};
/// The format of that name. There is one.
const CheckpointFormat& checkpoint_format(std::string_view name);

/// What a name says of it, or null. `preset` is the model's, of which some are published quantised;
/// "": it is none.
const CheckpointFormat* format_in_name(std::string_view name, std::string_view preset);

/// How the checkpoint of that preset is published, where that is not in one plain type; or null.
const CheckpointFormat* published_format(std::string_view preset);

/// What its config.json says of it, or null.
const CheckpointFormat* format_in_config(const HfQuantization& quantization);

/// The format of weights for products in `dtype` ("fp8") that the device does not have, which are
/// widened as they are read (vLLM: Marlin). Nothing where it has them, or they are not narrow.
std::optional<WeightFormat> widened_on(const Device& device, std::string_view dtype);

/// The last part of a path in small letters, at its joints: "Qwen2.5-7B_x" is qwen2.5, 7b and x.
std::vector<std::string> words_of_name(std::string_view name);
/// The same without those of a format, and those behind one that say how it was made: "dynamic".
std::vector<std::string> words_of_model(std::string_view name);

}  // namespace plait
