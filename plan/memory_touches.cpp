#include "plan/memory_touches.h"

#include <algorithm>

#include "plan/places.h"

namespace plait {
namespace {

constexpr std::int32_t kNoTouch = -1;

/// Later touches of a member that leave what is there only make its stay longer.
void prolong_or_add(std::vector<MemoryTouch>& touches, const MemoryTouch& t, std::int32_t& latest) {
  std::int32_t at = latest;
  while (at != kNoTouch && touches[static_cast<std::size_t>(at)].shift != t.shift) {
    at = touches[static_cast<std::size_t>(at)].previous;
  }
  if (at == kNoTouch || (t.afresh && touches[static_cast<std::size_t>(at)].last < t.first)) {
    latest = static_cast<std::int32_t>(touches.size());
    touches.push_back(t);
  } else {
    touches[static_cast<std::size_t>(at)].last = t.last;
  }
}

std::vector<MemoryTouch> all_touches(const Plan& plan, const Block& block, Place place, Role role,
                                     const std::vector<bool>& counted) {
  std::vector<MemoryTouch> out;
  std::vector<std::int32_t> latest(plan.tensors.size(), kNoTouch);
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    for (const Operand& o : block.ops[i].operands) {
      const bool view = plan.tensors[o.tensor].is_view();
      const TensorId root = storage_of(plan, o.tensor);
      const Tensor& held = plan.tensors[root];
      if (held.place != place || !holds(role, held.holders) || !counted[root]) continue;
      const auto op = static_cast<std::int64_t>(i);
      const std::int16_t shift = per_layer(held.scope) ? o.shift : std::int16_t{0};
      const bool afresh = !view && o.use == Use::kWrite && !held.persistent;
      const bool own = held.scope == Scope::kCall && !held.persistent;
      prolong_or_add(out, {op, op, root, shift, afresh, latest[root], own, held.persistent},
                     latest[root]);
    }
  }
  return out;
}

}  // namespace

BlockTouches touches_of(const Plan& plan, const Block& block, Place place, Role role,
                        const std::vector<bool>& counted, const std::vector<std::int64_t>& bytes) {
  BlockTouches out;
  out.all = all_touches(plan, block, place, role, counted);
  out.within.assign(block.ops.size(), 0);
  for (const MemoryTouch& t : out.all) {
    const bool many = per_microbatch(plan.tensors[t.root].scope);
    if (!t.within_call) (!t.persistent ? out.passing : many ? out.staying : out.once).push_back(t);
    for (std::int64_t i = t.first; t.within_call && i <= t.last; ++i) {
      out.within[static_cast<std::size_t>(i)] += bytes[t.root];
    }
  }
  for (const std::int64_t n : out.within) out.most_within = std::max(out.most_within, n);
  return out;
}

}  // namespace plait
