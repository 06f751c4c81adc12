#pragma once
// What records call models: in any spelling, among other words. "DeepSeek-V3", "DeepSeekV3",
// "deepseek_v3 (proxy)" and "DeepSeek V3" are one name.

#include <string>
#include <string_view>

#include "model/presets.h"
#include "scenarios/published/record.h"

namespace plait {

/// Small letters and digits alone, and a dot between two numbers: "Llama-3.1_8B" is "llama3.1.8b".
std::string plain_name(std::string_view name);

/// Whether `name` has the name `words` in it, neither in the middle of a number: "Nemotron-340B" is
/// no Nemotron 3.
bool is_called(std::string_view name, std::string_view words);

/// The preset with the longest name of those that the model is called and whose width, heads,
/// experts and MLPs, gated or not, do not contradict what the record has; layers may have been left
/// out (proxies). Of a name alone the size that it says counts too: "GPT-2 1.5B" is gpt2-xl. Null:
/// none.
const Preset* preset_called(const PublishedModel& m);

/// Whether its MLPs are: those of the preset, or of all models of a family.
bool is_gated_by_name(PublishedModel m);

/// Sizes that the record leaves out, as that preset has them.
PublishedModel completed_by_preset(PublishedModel m);

}  // namespace plait
