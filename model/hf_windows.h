#pragma once
// Sliding windows of a config.json: `sliding_window`, a window's tokens, and which layers have one.

#include <string_view>
#include <vector>

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait {

/// What a family's class does where a file says nothing.
struct HfWindows {
  std::int64_t window = 0;  // 0: none
  /// Windows are used where `use_sliding_window` is true alone (Qwen).
  bool switched = false;
  std::int64_t first = 0;  // layers that see all tokens: Qwen2's max_window_layers
  std::int64_t every = 0;  // and each so-many-th
};

/// Throws InputError M004 where a file lists kinds of attention that are not planned, M006 where
/// its list is not one of all layers.
void read_windows(Model& model, HfReader& config, const HfWindows& family);

/// `types` has a word for each layer: `windowed`, or "full_attention". Throws likewise.
void read_layer_types(Model& model, const Json& types, std::string_view windowed);
/// The layers that a list of all layers says have a window. Throws likewise.
void set_windowed_layers(Model& model, const Json& list, const std::vector<bool>& windowed);
/// A window that no layer has is none.
void forget_unused_window(Model& model);

}  // namespace plait
