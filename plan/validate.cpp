#include "plan/validate.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/data_flow.h"
#include "plan/fault_list.h"
#include "plan/op_sizes.h"
#include "plan/stage_meetings.h"

namespace plait {
namespace {

// ---- references

void check_operands(const Plan& plan, const Block& block, FaultList& faults) {
  for (const Op& op : block.ops) {
    if (is_message(op) && op.operands.empty()) {
      faults.add(FaultKind::kReference, 0, 0,
                 "a message in " + block.name + " that carries no tensor");
    }
    for (const Operand& o : op.operands) {
      if (o.tensor < plan.tensors.size()) continue;
      faults.add(FaultKind::kReference, 0, 0,
                 "block " + block.name + " names a tensor that is not there");
    }
  }
}

/// Smallest and largest shift of a block's operands that are indexed by layer.
struct Reach {
  std::int32_t low = 0, high = 0;
};
Reach reach_of(const Plan& plan, const Block& block) {
  Reach r;
  for (const Op& op : block.ops) {
    for (const Operand& o : op.operands) {
      if (!per_layer(plan.tensors[o.tensor].scope)) continue;
      r.low = std::min<std::int32_t>(r.low, o.shift);
      r.high = std::max<std::int32_t>(r.high, o.shift);
    }
  }
  return r;
}

void check_calls(const Plan& plan, std::size_t stage, const std::vector<Reach>& reach,
                 FaultList& faults) {
  const std::vector<Call>& calls = plan.programs[stage].calls;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const Call& call = calls[c];
    const bool known = call.block < plan.blocks.size() && call.layer >= 0 &&
                       call.layer <= plan.layers && call.microbatch >= 0 &&
                       call.microbatch < std::max<std::int64_t>(1, plan.microbatches);
    if (!known) {
      faults.add(FaultKind::kReference, stage, c,
                 "a call of a block, layer or microbatch that is not there");
    } else if (call.layer + reach[call.block].low < 0 ||
               call.layer + reach[call.block].high > plan.layers) {
      faults.add(FaultKind::kReference, stage, c,
                 plan.blocks[call.block].name + " reaches a layer that is not there from layer " +
                     std::to_string(call.layer));
    }
    if (call.after >= static_cast<std::int32_t>(c)) {
      faults.add(FaultKind::kReference, stage, c, "a call waits for one that is not before it");
    }
  }
}

void check_references(const Plan& plan, FaultList& faults) {
  for (const Tensor& t : plan.tensors) {
    if (t.is_view() && t.storage >= plan.tensors.size()) {
      faults.add(FaultKind::kReference, 0, 0, t.name + " is a view of a tensor that is not there");
    }
  }
  for (const Block& block : plan.blocks) check_operands(plan, block, faults);
  if (!faults.empty()) return;
  std::vector<Reach> reach;
  for (const Block& block : plan.blocks) reach.push_back(reach_of(plan, block));
  for (std::size_t s = 0; s < plan.programs.size(); ++s) check_calls(plan, s, reach, faults);
}

// ---- groups

AxisSet axes_of(const Op& op) {
  if (const Collective* c = std::get_if<Collective>(&op.body)) return c->axes;
  if (const Send* s = std::get_if<Send>(&op.body)) return s->axis;
  if (const Recv* r = std::get_if<Recv>(&op.body)) return r->axis;
  return {};
}

/// The block's first collective or message over a group of one, or nullptr.
const Op* alone(const Plan& plan, const Block& block) {
  const auto found = std::find_if(block.ops.begin(), block.ops.end(), [&](const Op& op) {
    const bool communicates = std::holds_alternative<Collective>(op.body) || is_message(op);
    return communicates && plan.mesh.size_of(axes_of(op)) < 2;
  });
  return found == block.ops.end() ? nullptr : &*found;
}

void check_groups(const Plan& plan, FaultList& faults) {
  std::vector<const Op*> lonely;
  for (const Block& block : plan.blocks) lonely.push_back(alone(plan, block));
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    const std::vector<Call>& calls = plan.programs[s].calls;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const Op* op = lonely[calls[c].block];
      if (op == nullptr) continue;
      faults.add(FaultKind::kGroup, s, c,
                 std::string(name_of(*op)) + " in " + plan.blocks[calls[c].block].name +
                     layer_and_microbatch(calls[c]) + " over a group of one rank");
    }
  }
}

// ---- types

/// Ranks exchange bytes, and add up numbers of one type.
void check_types(const Plan& plan, FaultList& faults) {
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      const Collective* c = std::get_if<Collective>(&op.body);
      if (c == nullptr) continue;
      for (const Operand& o : op.operands) {
        const Tensor& tensor = plan.tensors[o.tensor];
        if (tensor.dtype == c->dtype) continue;
        faults.add(FaultKind::kType, 0, 0,
                   fmt::format("{} in {} of {}, where {} is {}", name_of(op), block.name,
                               name_of(c->dtype), tensor.name, name_of(tensor.dtype)));
      }
    }
  }
}

}  // namespace

std::string code_of(FaultKind kind) { return fmt::format("P{:03}", static_cast<int>(kind) + 1); }

std::vector<PlanFault> validate(const Plan& plan) {
  FaultList faults;
  check_references(plan, faults);
  if (faults.empty()) {  // else the rest would read out of range
    check_groups(plan, faults);
    check_op_sizes(plan, faults);
    check_types(plan, faults);
    check_data_flow(plan, faults);
    check_stage_meetings(plan, faults);
  }
  return faults.take();
}

}  // namespace plait
