// One rank that has all shards off its device (ZeRO-Infinity on one GPU) meets nobody: what it
// would gather or scatter is copied, and a sum over its group is there already.
#include "plan/strategies/draft.h"

namespace plait {
namespace {

bool meets_nobody(const Draft& d, const Op& op) {
  const Collective* c = std::get_if<Collective>(&op.body);
  return c != nullptr && d.mesh().size_of(c->axes) == 1;
}

void copy_what_would_travel(const Draft& d, Op& op) {
  const DType from = d.tensors[op.operands[0].tensor].dtype;
  op.body = Compute(Cast{0, from, d.tensors[op.operands[1].tensor].dtype});
}

}  // namespace

void meet_alone(Draft& d) {
  if (!d.strategy.fetches_shards()) return;
  for (Block& block : d.blocks) {
    const std::size_t removed = std::erase_if(
        block.ops, [&](const Op& op) { return meets_nobody(d, op) && op.operands.size() == 1; });
    bool changed = removed > 0;
    for (Op& op : block.ops) {
      if (!meets_nobody(d, op)) continue;
      copy_what_would_travel(d, op);
      changed = true;
    }
    if (changed) fit_sizes(d, block);
  }
}

}  // namespace plait
