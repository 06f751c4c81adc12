#include "plan/checkpoint.h"

#include <set>
#include <utility>

#include "core/error.h"

namespace plait {
namespace {

/// The gradients of single parameters that a block writes: views into what is reduced.
std::vector<TensorId> gradients_of(const Plan& plan, const Block& block) {
  std::vector<TensorId> out;
  for (const Op& op : block.ops) {
    for (const Operand& o : op.operands) {
      const Tensor& t = plan.tensors[o.tensor];
      if (t.kind == TensorClass::kGradient && t.is_view()) out.push_back(o.tensor);
    }
  }
  return out;
}

/// A tied matrix stands on the first stage and, as a tensor of its own, on the last.
bool is_second_copy(const Tensor& t, std::size_t stage) {
  return stage > 0 && !per_layer(t.scope) && t.counted_once.has(Axis::kPp);
}

/// Before they are sharded, each parameter once, on however many ranks and stages it is.
std::int64_t trained_parameters(const Plan& plan) {
  std::vector<std::vector<TensorId>> of_block;
  for (const Block& block : plan.blocks) of_block.push_back(gradients_of(plan, block));
  std::set<std::pair<TensorId, std::int32_t>> seen;
  std::int64_t sum = 0;
  for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
    for (const Call& call : plan.programs[stage].calls) {
      for (const TensorId id : of_block[call.block]) {
        const Tensor& t = plan.tensors[id];
        if (is_second_copy(t, stage)) continue;
        if (!seen.emplace(id, per_layer(t.scope) ? call.layer : 0).second) continue;
        std::int64_t elements = 1;
        for (int i = 0; i < t.rank; ++i) elements *= t.dims[static_cast<std::size_t>(i)].global;
        sum += elements;
      }
    }
  }
  return sum;
}

/// The update of any parameters; all are updated alike.
const Op& an_update(const Plan& plan) {
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      const auto* compute = std::get_if<Compute>(&op.body);
      if (compute != nullptr && std::holds_alternative<Adam>(*compute)) return op;
    }
  }
  throw InternalError("a plan of training updates nothing");
}

}  // namespace

Bytes checkpoint_bytes(const Plan& plan) {
  const std::int64_t parameters = trained_parameters(plan);
  Bytes sum;
  for (const Operand& o : an_update(plan).operands) {
    const Tensor& t = plan.tensors[o.tensor];
    const bool kept = t.kind == TensorClass::kWeight || t.kind == TensorClass::kOptimizer;
    if (kept && o.use != Use::kRead) sum += Bytes(bytes_of(t.dtype, parameters));
  }
  return sum;
}

}  // namespace plait
