#include "costmodel/casts.h"

namespace plait {
namespace {

std::int64_t writing_kernels(const Cast& op) { return op.rotated ? op.copies : 1; }

Bytes read(const Cast& op) { return Bytes(bytes_of(op.from, op.elements)); }
Bytes written(const Cast& op) { return Bytes(op.copies * bytes_of(op.to, op.elements)); }

Cost kernel_cost(StreamKind kind, Bytes bytes, const Device& device) {
  const StreamFit fit = stream_fit(device, kind);
  return cost_of({fit.fixed, Seconds(), stream_time(fit, bytes, device)}, fit.quality, device);
}

// Inference engines' kernels, in the order and number of Transformer Engine's, over what casts of
// its linear layers take beyond their products on B300 (docs/examples/gemm_profiling/
// gemm_profiling.rst: 6.453 and 3.764 ms of a layer of 4,096 and 16,384 columns and 15,872 tokens).
constexpr double kTransformerEngine = (6.453 - 3.764) / 3.203;

}  // namespace

bool finds_scale(const Cast& op) {
  return op.to == DType::kFp8 && op.from != DType::kFp8 && !op.scaled;
}

bool is_to_nvfp4(const Cast& op) { return op.to == DType::kNvfp4; }

Cost nvfp4_cast_cost(const Cast& op, const Device& device) {
  const std::int64_t kernels = writing_kernels(op);
  const Bytes each(read(op).value + written(op).value / kernels);
  const Cost writing =
      static_cast<double>(kernels) * kernel_cost(StreamKind::kQuantise, each, device);
  if (op.scaled) return writing;
  return kTransformerEngine * (kernel_cost(StreamKind::kAmax, read(op), device) + writing);
}

Bytes nvfp4_cast_bytes(const Cast& op) {
  const std::int64_t passes = (op.scaled ? 0 : 1) + writing_kernels(op);
  return Bytes(passes * read(op).value) + written(op);
}

}  // namespace plait
