// transformers: masking_utils.py (a query sees keys > query - sliding_window),
// configuration_<family>.py (layer_types where a file has none).
#include "model/hf_windows.h"

#include <fmt/format.h>

#include "core/error.h"
#include "model/hf_families.h"
#include "model/window_layers.h"

namespace plait {
namespace {

constexpr std::int64_t kMostTokens = 1 << 30;

bool is_on(const HfReader& config, const HfWindows& family) {
  if (family.switched) {
    const Json* used = config.peek("use_sliding_window");
    if (used == nullptr || !used->is(Json::Kind::kBool) || !used->boolean()) return false;
  }
  const Json* size = config.peek("sliding_window");
  return size == nullptr ? family.window > 0 : !size->is(Json::Kind::kNull);
}

}  // namespace

void read_layer_types(Model& m, const Json& types, std::string_view windowed) {
  std::vector<bool> of_layers;
  for (const Json* type : types.children()) {
    const std::string word = type->is(Json::Kind::kText) ? type->text() : type->describe();
    if (word != windowed && word != "full_attention") {
      refuse_config(types, "attention of the kind " + word + " is");
    }
    of_layers.push_back(word == windowed);
  }
  set_windowed_layers(m, types, of_layers);
}

void set_windowed_layers(Model& m, const Json& list, const std::vector<bool>& windowed) {
  if (static_cast<std::int64_t>(windowed.size()) != m.layers) {
    throw InputError(
        {.code = "M006",
         .problem = fmt::format("{} layers of which {} are listed", m.layers, windowed.size()),
         .where = list.where(),
         .expected = "as many as num_hidden_layers"});
  }
  const auto rule = full_attention_of(windowed);
  if (!rule) refuse_config(list, "windows in layers that follow no rule are");
  m.full_attention_first = rule->first, m.full_attention_every = rule->every;
}

void read_windows(Model& m, HfReader& config, const HfWindows& family) {
  if (!is_on(config, family)) {
    for (const char* name : {"use_sliding_window", "sliding_window", "max_window_layers"})
      config.take({name});
    return;
  }
  config.take({"use_sliding_window"});
  m.attention_window = config.size({"sliding_window"}, kMostTokens, family.window);
  m.full_attention_every = family.every;
  if (family.first > 0) {
    m.full_attention_first = config.count({"max_window_layers"}, kMostLayers, family.first);
  }
  const Json* types = config.take({"layer_types"});
  if (types != nullptr && types->is(Json::Kind::kList))
    read_layer_types(m, *types, "sliding_attention");
  forget_unused_window(m);
}

void forget_unused_window(Model& m) {
  if (m.windowed_layers() > 0) return;
  m.attention_window = m.full_attention_first = m.full_attention_every = 0;
}

}  // namespace plait
