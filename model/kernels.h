#pragma once
// How a framework runs the ops of a transformer: as one kernel each, or as the chain of elementary
// kernels that its Python code spells out ("eager"), each of which reads and writes memory.

#include <cstdint>

#include "model/op.h"

namespace plait {

enum class Fusion : std::uint8_t { kFused, kEager };

struct Kernels {
  FlashKernel attention = FlashKernel::kNewest;  // where attention is fused
  Fusion softmax = Fusion::kFused;  // with scale and mask, where attention is not fused
  /// Eager: queries, keys, values and results of fused attention are copied to and from rows
  /// without padding (flash-attn's unpad_input and pad_input).
  Fusion packing = Fusion::kFused;
  Fusion norm = Fusion::kFused;
  Fusion rope = Fusion::kFused;
  Fusion activation = Fusion::kFused;
  Fusion cross_entropy = Fusion::kFused;
};

}  // namespace plait
