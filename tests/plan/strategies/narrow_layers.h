#pragma once
// What tests of linear layers in fp8 and nvfp4 count alike, of tiny_llama on four sequences.

#include <vector>

#include "tests/plan/tiny.h"

namespace plait::narrow_layers {

/// Of the products that read `type`.
inline double product_flops(const Plan& plan, DType type) {
  return flops_of(plan,
                  [type](const Op& op) {
                    const MatMul* g = std::get_if<MatMul>(&std::get<Compute>(op.body));
                    return g != nullptr && g->in == type;
                  })
      .value;
}

/// Parameters of the four linear layers of tiny_llama's layer: h (h + 2 kv) + h h + 2 h f + f h.
inline constexpr double kLinear = 16 * 32 + 16 * 16 + 2 * 16 * 24 + 24 * 16;
inline constexpr double kTokens = 4 * 8;

/// Elements cast from bf16 to fp8 in one step on one rank, tensors of weights or others.
inline std::int64_t cast_elements(const Plan& plan, bool weights) {
  std::int64_t n = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const Cast* cast = c ? std::get_if<Cast>(c) : nullptr;
    if (cast == nullptr || cast->to != DType::kFp8) return;
    const bool of_weight = plan.tensors[op.operands[0].tensor].kind == TensorClass::kWeight;
    if (of_weight == weights) n += cast->elements;
  });
  return n;
}

/// Bytes that a layer's forward pass of one microbatch keeps for its backward pass.
inline std::int64_t kept(const Plan& plan) {
  const Block forward = block_named(plan, "layer.forward"),
              backward = block_named(plan, "layer.backward");
  std::vector<bool> read(plan.tensors.size());
  for (const Op& op : backward.ops) {
    for (const Operand& o : op.operands) read[o.tensor] = read[o.tensor] || o.use == Use::kRead;
  }
  std::int64_t bytes = 0;
  for (const Op& op : forward.ops) {
    for (const Operand& o : op.operands) {
      if (o.use == Use::kWrite && read[o.tensor]) {
        bytes += plan.tensors[o.tensor].bytes(plan.mesh).value, read[o.tensor] = false;
      }
    }
  }
  return bytes;
}

}  // namespace plait::narrow_layers
