#include "plan/data_flow.h"

#include <algorithm>

#include "plan/member_table.h"

namespace plait {
namespace {

/// What a block does to a member that outlives the call.
struct Flow {
  TensorId root = 0;
  std::int16_t shift = 0;
  const Op* first = nullptr;  // the first op that touches it
  bool reads_before_write = false, reads = false, writes = false, unread = false;
};

std::vector<Flow> flows_of(const Plan& plan, const Block& block) {
  std::vector<Flow> out;
  for (const Op& op : block.ops) {
    for (const Operand& o : op.operands) {
      const TensorId root = storage_of(plan, o.tensor);
      if (plan.tensors[root].persistent || plan.tensors[root].scope == Scope::kCall) continue;
      auto flow = std::find_if(out.begin(), out.end(),
                               [&](const Flow& f) { return f.root == root && f.shift == o.shift; });
      if (flow == out.end()) flow = out.insert(out.end(), {root, o.shift, &op});
      const bool reads = o.use != Use::kWrite, writes = o.use != Use::kRead;
      flow->reads_before_write |= reads && !flow->writes;
      flow->reads |= reads;
      flow->writes |= writes;
      flow->unread = writes || (flow->unread && !reads);
    }
  }
  return out;
}

/// Members of call scope are written before they are read.
void check_call_members(const Plan& plan, const Block& block, FaultList& faults) {
  std::vector<bool> written(plan.tensors.size(), false);
  for (const Op& op : block.ops) {
    for (const Operand& o : op.operands) {
      const TensorId root = storage_of(plan, o.tensor);
      if (plan.tensors[root].scope != Scope::kCall || plan.tensors[root].persistent) continue;
      if (o.use != Use::kWrite && !written[root]) {
        faults.add(FaultKind::kUnorderedRead, 0, 0,
                   std::string(name_of(op)) + " in " + block.name + " reads " +
                       plan.tensors[root].name + ", which nothing before it writes");
      }
      if (o.use != Use::kRead) written[root] = true;
    }
  }
}

/// The members that outlive their calls, over the program of one stage.
class ProgramFlow {
 public:
  ProgramFlow(const Plan& plan, std::size_t stage, FaultList& faults)
      : plan_(plan), stage_(stage), calls_(plan.programs[stage].calls), faults_(faults) {}

  void check(const std::vector<std::vector<Flow>>& flows) {
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      for (const Flow& f : flows[calls_[c].block]) pass(c, f);
    }
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      for (const Written& m : members_.family(static_cast<TensorId>(t))) {
        if (m.unread) report_leak(plan_.tensors[t], m.call);
      }
    }
  }

 private:
  struct Written {
    std::uint32_t call = 0;  // of the last write
    bool written = false, unread = false;
  };

  void pass(std::size_t c, const Flow& f) {
    const Call& call = calls_[c];
    Written& m = members_.at(f.root, call.layer + f.shift, call.microbatch);
    if (f.reads_before_write && !m.written) {
      faults_.add(FaultKind::kUnorderedRead, stage_, c,
                  std::string(name_of(*f.first)) + " in " + block_at(c) + " reads " +
                      plan_.tensors[f.root].name + ", which nothing before it writes");
    }
    if (f.reads) m.unread = false;
    if (f.writes) m = {static_cast<std::uint32_t>(c), true, f.unread};
  }
  void report_leak(const Tensor& tensor, std::size_t call) {
    faults_.add(FaultKind::kLeak, stage_, call,
                tensor.name + " is written in " + block_at(call) + " and never read");
  }
  std::string block_at(std::size_t c) const {
    return plan_.blocks[calls_[c].block].name + layer_and_microbatch(calls_[c]);
  }

  const Plan& plan_;
  std::size_t stage_;
  const std::vector<Call>& calls_;
  FaultList& faults_;
  MemberTable<Written> members_{plan_};
};

}  // namespace

void check_data_flow(const Plan& plan, FaultList& faults) {
  std::vector<std::vector<Flow>> flows;
  for (const Block& block : plan.blocks) {
    check_call_members(plan, block, faults);
    flows.push_back(flows_of(plan, block));
  }
  for (std::size_t s = 0; s < plan.programs.size(); ++s) ProgramFlow(plan, s, faults).check(flows);
}

}  // namespace plait
