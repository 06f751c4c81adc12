#include "plan/validate.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "plan/member_table.h"

namespace plait {
namespace {

/// (tensor, layer, microbatch): a member of a tensor family.
using Member = std::tuple<TensorId, std::int32_t, std::int32_t>;

class Validator {
 public:
  explicit Validator(const Plan& plan) : plan_(plan) {}

  std::vector<PlanFault> run() {
    check_references();
    if (!faults_.empty()) return std::move(faults_);  // the rest would read out of range
    check_call_members();
    for (stage_ = 0; stage_ < stages(); ++stage_) {
      check_groups();
      check_data_flow();
      collect_ends();
    }
    check_messages();
    check_members();
    if (faults_.empty()) check_progress();
    return std::move(faults_);
  }

 private:
  struct End {  // of a message
    std::size_t stage, call;
    Bytes bytes;
    int offset;
    Fan fan;
  };

  std::size_t stages() const { return plan_.programs.size(); }
  void fault(FaultKind kind, std::size_t call, std::string text) {
    if (faults_.size() >= 100) return;
    faults_.push_back({kind, static_cast<std::int64_t>(stage_), static_cast<std::int64_t>(call),
                       std::move(text)});
  }
  std::string where(const Op& op, const Call& call) const {
    return std::string(name_of(op)) + " in " + plan_.blocks[call.block].name + " (layer " +
           std::to_string(call.layer) + ", microbatch " + std::to_string(call.microbatch) + ")";
  }
  template <class F>
  void for_each_op(F&& f) {
    const std::vector<Call>& calls = plan_.programs[stage_].calls;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      for (const Op& op : plan_.blocks[calls[c].block].ops) f(c, calls[c], op);
    }
  }

  void check_references() {
    for (const Tensor& t : plan_.tensors) {
      if (t.is_view() && t.storage >= plan_.tensors.size()) {
        fault(FaultKind::kReference, 0, t.name + " is a view of a tensor that is not there");
      }
    }
    for (const Block& block : plan_.blocks) check_operands(block);
    if (!faults_.empty()) return;
    std::vector<Reach> reach;
    for (const Block& block : plan_.blocks) reach.push_back(reach_of(block));
    for (stage_ = 0; stage_ < stages(); ++stage_) check_calls(reach);
    stage_ = 0;
  }
  void check_operands(const Block& block) {
    for (const Op& op : block.ops) {
      const bool message =
          std::holds_alternative<Send>(op.body) || std::holds_alternative<Recv>(op.body);
      if (message && op.operands.empty()) {
        fault(FaultKind::kReference, 0, "a message in " + block.name + " that carries no tensor");
      }
      for (const Operand& o : op.operands) {
        if (o.tensor < plan_.tensors.size()) continue;
        fault(FaultKind::kReference, 0,
              "block " + block.name + " names a tensor that is not there");
      }
    }
  }
  /// Smallest and largest shift of a block's operands that are indexed by layer.
  struct Reach {
    std::int32_t low = 0, high = 0;
  };
  Reach reach_of(const Block& block) const {
    Reach r;
    for (const Op& op : block.ops) {
      for (const Operand& o : op.operands) {
        if (!per_layer(plan_.tensors[o.tensor].scope)) continue;
        r.low = std::min<std::int32_t>(r.low, o.shift);
        r.high = std::max<std::int32_t>(r.high, o.shift);
      }
    }
    return r;
  }
  void check_calls(const std::vector<Reach>& reach) {
    const std::vector<Call>& calls = plan_.programs[stage_].calls;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const Call& call = calls[c];
      const bool known = call.block < plan_.blocks.size() && call.layer >= 0 &&
                         call.layer <= plan_.layers && call.microbatch >= 0 &&
                         call.microbatch < std::max<std::int64_t>(1, plan_.microbatches);
      if (!known) {
        fault(FaultKind::kReference, c, "a call of a block, layer or microbatch that is not there");
      } else if (call.layer + reach[call.block].low < 0 ||
                 call.layer + reach[call.block].high > plan_.layers) {
        fault(FaultKind::kReference, c,
              plan_.blocks[call.block].name + " reaches a layer that is not there from layer " +
                  std::to_string(call.layer));
      }
      if (call.after >= static_cast<std::int32_t>(c)) {
        fault(FaultKind::kReference, c, "a call waits for one that is not before it");
      }
    }
  }

  void check_groups() {
    for_each_op([this](std::size_t c, const Call& call, const Op& op) {
      AxisSet axes;
      if (const Collective* x = std::get_if<Collective>(&op.body))
        axes = x->axes;
      else if (const Send* s = std::get_if<Send>(&op.body))
        axes = s->axis;
      else if (const Recv* r = std::get_if<Recv>(&op.body))
        axes = r->axis;
      else
        return;
      if (plan_.mesh.size_of(axes) < 2) {
        fault(FaultKind::kGroup, c, where(op, call) + " over a group of one rank");
      }
    });
  }

  Member member(const Operand& o, const Call& call) const {
    const Tensor& t = plan_.tensors[o.tensor];
    return {o.tensor, per_layer(t.scope) ? call.layer + o.shift : 0,
            per_microbatch(t.scope) ? call.microbatch : 0};
  }

  // ---- data flow: every read comes after a write in issue order; what outlives its call is read
  /// What a block does to a member that outlives the call.
  struct Flow {
    TensorId root = 0;
    std::int16_t shift = 0;
    const Op* first = nullptr;  // the first op that touches it
    bool reads_before_write = false, reads = false, writes = false, unread = false;
  };
  struct Written {
    bool written = false, unread = false;
    std::size_t call = 0;  // of the last write
  };
  std::vector<Flow> flows_of(const Block& block) const {
    std::vector<Flow> out;
    for (const Op& op : block.ops) {
      for (const Operand& o : op.operands) {
        const TensorId root = storage_of(plan_, o.tensor);
        if (plan_.tensors[root].persistent || plan_.tensors[root].scope == Scope::kCall) continue;
        auto flow = std::find_if(out.begin(), out.end(), [&](const Flow& f) {
          return f.root == root && f.shift == o.shift;
        });
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
  void check_data_flow() {
    std::vector<std::vector<Flow>> flows;
    for (const Block& block : plan_.blocks) flows.push_back(flows_of(block));
    MemberTable<Written> members(plan_);
    const std::vector<Call>& calls = plan_.programs[stage_].calls;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      for (const Flow& f : flows[calls[c].block]) {
        Written& m = members.at(f.root, calls[c].layer + f.shift, calls[c].microbatch);
        if (f.reads_before_write && !m.written) {
          fault(FaultKind::kUnorderedRead, c,
                where(*f.first, calls[c]) + " reads " + plan_.tensors[f.root].name +
                    ", which nothing before it writes");
        }
        if (f.reads) m.unread = false;
        if (f.writes) m = {true, f.unread, c};
      }
    }
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      for (const Written& m : members.family(static_cast<TensorId>(t))) {
        if (!m.unread) continue;
        fault(FaultKind::kLeak, m.call,
              plan_.tensors[t].name + " is written in " + plan_.blocks[calls[m.call].block].name +
                  " (layer " + std::to_string(calls[m.call].layer) + ", microbatch " +
                  std::to_string(calls[m.call].microbatch) + ") and never read");
      }
    }
  }
  /// Members of call scope are written before they are read, in every block.
  void check_call_members() {
    for (const Block& block : plan_.blocks) {
      std::vector<bool> written(plan_.tensors.size(), false);
      for (const Op& op : block.ops) {
        for (const Operand& o : op.operands) {
          const TensorId root = storage_of(plan_, o.tensor);
          if (plan_.tensors[root].scope != Scope::kCall || plan_.tensors[root].persistent) continue;
          if (o.use != Use::kWrite && !written[root]) {
            fault(FaultKind::kUnorderedRead, 0,
                  std::string(name_of(op)) + " in " + block.name + " reads " +
                      plan_.tensors[root].name + ", which nothing before it writes");
          }
          if (o.use != Use::kRead) written[root] = true;
        }
      }
    }
  }

  void collect_ends() {
    for_each_op([this](std::size_t c, const Call& call, const Op& op) {
      if (const Send* s = std::get_if<Send>(&op.body)) {
        sends_[member(op.operands.at(0), call)].push_back({stage_, c, s->bytes, s->offset, s->fan});
      } else if (const Recv* r = std::get_if<Recv>(&op.body)) {
        receives_[member(op.operands.at(0), call)].push_back(
            {stage_, c, r->bytes, r->offset, r->fan});
      }
    });
  }
  void check_messages() {
    for (const auto& [m, ends] : sends_) {
      const auto found = receives_.find(m);
      stage_ = ends[0].stage;
      const std::string what = plan_.tensors[std::get<0>(m)].name + " (layer " +
                               std::to_string(std::get<1>(m)) + ", microbatch " +
                               std::to_string(std::get<2>(m)) + ")";
      if (found == receives_.end() || found->second.size() != 1 || ends.size() != 1) {
        fault(FaultKind::kMessage, ends[0].call, what + " is sent but not received once");
        continue;
      }
      const End& from = ends[0];
      const End& to = found->second[0];
      const auto n = static_cast<int>(stages());
      const int expected = ((static_cast<int>(from.stage) + from.offset) % n + n) % n;
      if (static_cast<int>(to.stage) != expected || to.offset != -from.offset) {
        fault(FaultKind::kMessage, from.call,
              what + " is sent to another stage than the one that receives it");
      }
      if (from.fan != Fan{to.fan.sharers, to.fan.peers}) {
        fault(FaultKind::kMessage, from.call, what + " has different ranks at its two ends");
      }
      if (from.bytes != to.bytes)
        fault(FaultKind::kBytes, from.call, what + " has different sizes at its two ends");
    }
    for (const auto& [m, ends] : receives_) {
      stage_ = ends[0].stage;
      if (!sends_.contains(m)) {
        fault(FaultKind::kMessage, ends[0].call,
              plan_.tensors[std::get<0>(m)].name + " is received but not sent");
      }
    }
  }

  /// Collectives across stages meet in order of issue.
  void check_members() {
    for (Stages which : {Stages::kAll, Stages::kEnds, Stages::kMirrored}) {
      std::map<std::int64_t, std::vector<Collective>> expected;  // by the first that takes part
      for (stage_ = 0; stage_ < stages(); ++stage_) {
        const std::int64_t first = first_of(which, stage_);
        std::vector<Collective> mine;
        for_each_op([&](std::size_t, const Call&, const Op& op) {
          const Collective* c = std::get_if<Collective>(&op.body);
          if (c != nullptr && c->axes.has(Axis::kPp) && c->stages == which) mine.push_back(*c);
        });
        if (first < 0) {
          if (!mine.empty())
            fault(FaultKind::kMember, 0, "a stage between the ends joins their collective");
          continue;
        }
        compare(expected.try_emplace(first, mine).first->second, mine);
      }
    }
  }
  std::int64_t first_of(Stages which, std::size_t stage) const {
    return first_of_meeting(which, static_cast<std::int64_t>(stage),
                            static_cast<std::int64_t>(stages()));
  }
  void compare(const std::vector<Collective>& a, const std::vector<Collective>& b) {
    if (a.size() != b.size()) {
      fault(FaultKind::kMember, 0,
            "this stage joins " + std::to_string(b.size()) +
                " collectives across stages, the first one " + std::to_string(a.size()));
      return;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].kind != b[i].kind || a[i].axes != b[i].axes) {
        fault(FaultKind::kMember, 0, "stages join different collectives");
      } else if (a[i].bytes() != b[i].bytes()) {
        fault(FaultKind::kBytes, 0, "stages give different sizes for one collective");
      }
    }
  }

  struct Progress {  // of a stage
    std::size_t call = 0, op = 0;
    std::map<Stages, std::size_t> met;  // collectives across stages so far
    bool waits = false;                 // in the next one
  };
  struct Walk {
    std::vector<Progress> stages;
    std::map<Member, bool> sent;
    /// By which stages, the first of them, and occurrence.
    std::map<std::tuple<Stages, std::int64_t, std::size_t>, std::size_t> arrivals;
    bool moved = false;
  };
  /// False where the op has to wait.
  bool passes(Walk& w, std::size_t s, const Op& op, const Call& call) const {
    if (std::holds_alternative<Recv>(op.body)) return w.sent.contains(member(op.operands[0], call));
    if (std::holds_alternative<Send>(op.body)) w.sent[member(op.operands[0], call)] = true;
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c == nullptr || !c->axes.has(Axis::kPp)) return true;
    Progress& at = w.stages[s];
    std::size_t& arrived = w.arrivals[{c->stages, first_of(c->stages, s), at.met[c->stages]}];
    if (!at.waits) ++arrived, at.waits = w.moved = true;
    const auto of = static_cast<std::int64_t>(stages());
    if (arrived < static_cast<std::size_t>(stages_in_meeting(c->stages, of))) return false;
    ++at.met[c->stages], at.waits = false;
    return true;
  }
  void advance(Walk& w, std::size_t s) const {
    Progress& at = w.stages[s];
    const std::vector<Call>& calls = plan_.programs[s].calls;
    for (; at.call < calls.size(); ++at.call, at.op = 0) {
      const std::vector<Op>& ops = plan_.blocks[calls[at.call].block].ops;
      for (; at.op < ops.size(); ++at.op, w.moved = true) {
        if (!passes(w, s, ops[at.op], calls[at.call])) return;
      }
    }
  }
  /// Walks all stages as far as messages and collectives across stages allow.
  void check_progress() {
    Walk w;
    w.stages.resize(stages());
    do {
      w.moved = false;
      for (std::size_t s = 0; s < stages(); ++s) advance(w, s);
    } while (w.moved);
    for (stage_ = 0; stage_ < stages(); ++stage_) {
      const std::size_t call = w.stages[stage_].call;
      if (call < plan_.programs[stage_].calls.size()) {
        fault(FaultKind::kDeadlock, call,
              "this stage waits for ever at its call " + std::to_string(call));
      }
    }
  }

  const Plan& plan_;
  std::size_t stage_ = 0;
  std::vector<PlanFault> faults_;
  std::map<Member, std::vector<End>> sends_, receives_;
};

}  // namespace

std::string code_of(FaultKind kind) { return "P00" + std::to_string(static_cast<int>(kind) + 1); }

std::vector<PlanFault> validate(const Plan& plan) { return Validator(plan).run(); }

}  // namespace plait
