#pragma once
// Matrix products whose shapes a profiler recorded (record_shapes=True): aten::mm and aten::addmm,
// with the sizes, strides and types of what they are called with.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/op.h"

namespace plait {

/// "Input Dims", "Input Strides" and "Input type" of an operator.
struct OperandShapes {
  std::vector<std::vector<std::int64_t>> dims, strides;
  std::vector<std::string> types;
  void clear() { dims.clear(), strides.clear(), types.clear(); }
};

/// An operator that launched kernels: those with the same "External id".
struct TraceProduct {
  std::int64_t external = 0;
  std::uint32_t shape = 0;  // index into shapes
};

/// Whether shapes of an operator of this name are looked at.
bool is_product(std::string_view operator_name);

/// The product of `operator_name` on these operands, by how they are stored: y = x W^T, dx = dy W
/// or dW = dy^T x. None for other types, more dimensions, and where strides are not recorded.
std::optional<MatMul> product_of(std::string_view operator_name, const OperandShapes& operands);

}  // namespace plait
