// Element-wise work inside of the kernel before it, as TensorRT-LLM runs a layer: the all-reduce
// behind a product adds the residual (AllReduceFusionOp.RESIDUAL_RMS_NORM; alone, the norm's kernel
// does, which reads its input anyway), norms, activations and attention write their results in fp8
// and nvfp4 (RESIDUAL_RMS_NORM_QUANT_FP8 and _NVFP4, static scales), and the kernel that rotates
// keys writes them into the cache (applyBiasRopeUpdateKVCache). The operands of what is fused go to
// the kernel that does it; its own kernel is gone.
#include <algorithm>
#include <optional>

#include "plan/strategies/inference.h"

namespace plait {
namespace {

/// A residual sum, of forward passes without dropout; the sum of a mixture's two parts is alike.
bool is_sum(const Op& op) {
  const Add* add = body_of<Add>(op);
  return add != nullptr && add->pass == Pass::kForward && !add->dropout;
}

/// A conversion at the end of a kernel: to the type of the next product, or of the cache.
bool is_last_conversion(const Draft& d, const Op& op) {
  if (body_of<Cast>(op) == nullptr) return false;
  const Tensor& to = d.tensors[op.operands[1].tensor];
  const bool narrow = to.dtype == DType::kFp8 || to.dtype == DType::kNvfp4;
  return narrow || to.kind == TensorClass::kKvCache;
}

bool takes_in(const Op& op) {
  if (const auto* c = std::get_if<Collective>(&op.body)) {
    return c->kind == CollectiveKind::kAllReduce;
  }
  return body_of<MatMul>(op) != nullptr || body_of<Norm>(op) != nullptr ||
         body_of<Activation>(op) != nullptr || body_of<Attention>(op) != nullptr ||
         body_of<Rope>(op) != nullptr;
}

bool writes(const Op& op, const Operand& what) {
  return std::ranges::any_of(op.operands, [&](const Operand& o) {
    return o.use != Use::kRead && o.tensor == what.tensor && o.shift == what.shift;
  });
}

std::optional<std::size_t> last_writer(const std::vector<Op>& ops, const Operand& what) {
  for (std::size_t i = ops.size(); i-- > 0;) {
    if (writes(ops[i], what)) return i;
  }
  return std::nullopt;
}

/// Where op's work is done: the last kernel that writes one of its inputs, if it takes more in.
std::optional<std::size_t> host_of(const Draft& d, const std::vector<Op>& ops, const Op& op) {
  const bool sum = is_sum(op);
  if (!sum && !is_last_conversion(d, op)) return std::nullopt;
  std::optional<std::size_t> last;
  for (const Operand& o : op.operands) {
    if (o.use == Use::kRead) last = std::max(last, last_writer(ops, o));
  }
  return last && takes_in(ops[*last]) ? last : std::nullopt;
}

void fuse(const Draft& d, Block& block) {
  std::vector<Op> out;
  for (Op& op : block.ops) {
    const std::optional<std::size_t> host = host_of(d, out, op);
    if (!host) {
      out.push_back(std::move(op));
      continue;
    }
    for (const Operand& o : op.operands) {
      if (!writes(out[*host], o)) out[*host].operands.push_back(o);
    }
  }
  block.ops = std::move(out);
}

}  // namespace

void fuse_elementwise(Draft& d) {
  for (LayerKind& kind : d.layers) fuse(d, kind.kept.forward);
}

}  // namespace plait
