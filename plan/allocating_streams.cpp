#include "plan/allocating_streams.h"

namespace plait {

std::vector<Stream> allocating_streams(const Plan& plan) {
  std::vector<Stream> out(plan.tensors.size(), Stream::kCompute);
  std::vector<bool> known(plan.tensors.size());
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      for (const Operand& o : op.operands) {
        const TensorId root = storage_of(plan, o.tensor);
        if (o.use != Use::kWrite || known[root] || plan.tensors[root].persistent) continue;
        known[root] = true;
        const bool apart = op.stream == Stream::kParamGather || op.stream == Stream::kGradSync;
        if (apart) out[root] = op.stream;
      }
    }
  }
  return out;
}

}  // namespace plait
