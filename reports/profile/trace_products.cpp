#include "reports/profile/trace_products.h"

namespace plait {
namespace {

constexpr std::string_view kWithBias = "aten::addmm", kAlone = "aten::mm";

constexpr std::int64_t kMostSize = 1 << 28;

std::optional<DType> dtype_of(const std::string& type) {
  if (type == "c10::BFloat16") return DType::kBf16;
  if (type == "c10::Half") return DType::kFp16;
  if (type == "float") return DType::kFp32;
  return std::nullopt;
}

/// Whether a matrix is stored row by row (false) or column by column (true).
std::optional<bool> is_transposed(const std::vector<std::int64_t>& strides) {
  if (strides.size() != 2) return std::nullopt;
  if (strides[1] == 1) return false;
  if (strides[0] == 1) return true;
  return std::nullopt;
}

struct StoredAs {
  GemmLayout layout;
  Pass pass;
};
std::optional<StoredAs> stored_as(bool first_transposed, bool second_transposed) {
  if (first_transposed && second_transposed) return std::nullopt;
  if (first_transposed) return StoredAs{GemmLayout::kTN, Pass::kWeightGrad};
  if (second_transposed) return StoredAs{GemmLayout::kNT, Pass::kForward};
  return StoredAs{GemmLayout::kNN, Pass::kInputGrad};
}

}  // namespace

bool is_product(std::string_view operator_name) {
  return operator_name == kAlone || operator_name == kWithBias;
}

std::optional<MatMul> product_of(std::string_view operator_name, const OperandShapes& operands) {
  const bool bias = operator_name == kWithBias;  // which comes first
  const std::size_t first = bias ? 1 : 0, second = first + 1;
  const auto& [dims, strides, types] = operands;
  if (dims.size() <= second || strides.size() <= second || types.size() <= second) return {};
  const std::vector<std::int64_t>&a = dims[first], &b = dims[second];
  if (a.size() != 2 || b.size() != 2 || a[1] != b[0]) return {};
  const auto is_size = [](std::int64_t n) { return n >= 1 && n <= kMostSize; };
  if (!is_size(a[0]) || !is_size(a[1]) || !is_size(b[1])) return {};
  const auto at = is_transposed(strides[first]), bt = is_transposed(strides[second]);
  const std::optional<DType> dtype = dtype_of(types[first]);
  if (!at || !bt || !dtype || types[first] != types[second]) return {};
  const std::optional<StoredAs> stored = stored_as(*at, *bt);
  if (!stored) return {};
  return MatMul{.pass = stored->pass,
                .layout = stored->layout,
                .m = a[0],
                .n = b[1],
                .k = a[1],
                .in = *dtype,
                .out = *dtype,
                .bias = bias && stored->pass == Pass::kForward};
}

}  // namespace plait
