#include "plan/plan.h"

#include <algorithm>
#include <variant>

#include "plan/step_counts.h"
#include "plan/walk.h"

namespace plait {

Role role_of(const Plan& plan, std::int64_t rank) {
  if (!plan.servers.any()) return {};
  const std::int64_t members = plan.mesh[Axis::kDp];
  const std::int64_t at = plan.mesh.coordinates(rank)[static_cast<std::size_t>(Axis::kDp)];
  return {plan.servers.works(members, at), plan.servers.share_of(members, at) >= 0};
}

bool runs_on(const Plan& plan, const Op& op, Role role) {
  if (role == Role{}) return true;
  const bool work =
      std::holds_alternative<Compute>(op.body) || std::holds_alternative<Copy>(op.body);
  return !work || std::ranges::all_of(op.operands, [&](const Operand& o) {
    return holds(role, plan.tensors[storage_of(plan, o.tensor)].holders);
  });
}

std::int64_t op_count(const Plan& plan, std::size_t stage) {
  return op_count(plan, runs_of_blocks(plan, stage));
}

std::int64_t op_count(const Plan& plan) { return op_count(plan, counts_of(plan)); }

}  // namespace plait
