#include "plan/stage_meetings.h"

#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "plan/member_table.h"

namespace plait {
namespace {

bool is_across_stages(const Op& op) {
  const Collective* c = std::get_if<Collective>(&op.body);
  return c != nullptr && c->axes.has(Axis::kPp);
}

/// Plans have up to millions of calls, few of which have an op of another stage's interest: only
/// these are walked.
class StageMeetings {
 public:
  StageMeetings(const Plan& plan, FaultList& faults) : plan_(plan), faults_(faults) {
    for (const Block& block : plan.blocks) {
      std::vector<const Op*>& out = points_.emplace_back();
      for (const Op& op : block.ops) {
        if (is_message(op) || is_across_stages(op)) out.push_back(&op);
      }
    }
  }

  void check() {
    for (std::size_t s = 0; s < stages(); ++s) collect_ends(s);
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      for (const Message& m : messages_.family(static_cast<TensorId>(t))) check_message(m);
    }
    for (std::size_t s = 0; s < stages(); ++s) check_members(s);
    if (faults_.empty()) check_progress();
  }

 private:
  struct End {  // of a message
    std::size_t stage = 0, call = 0;
    const Op* op = nullptr;
  };
  struct Message {
    End from, to;  // the first of each
    std::uint32_t sends = 0, receives = 0;
    bool on_its_way = false;
  };

  std::size_t stages() const { return plan_.programs.size(); }
  const std::vector<Call>& calls(std::size_t stage) const { return plan_.programs[stage].calls; }
  std::int64_t first_of(Stages which, std::size_t stage) const {
    return first_of_meeting(which, static_cast<std::int64_t>(stage),
                            static_cast<std::int64_t>(stages()));
  }
  Message& message_of(const Op& op, const Call& call) {
    const Operand& o = op.operands[0];
    return messages_.at(o.tensor, call.layer + o.shift, call.microbatch);
  }

  // ---- messages
  void collect_ends(std::size_t s) {
    for (std::size_t c = 0; c < calls(s).size(); ++c) {
      const Call& call = calls(s)[c];
      for (const Op* op : points_[call.block]) {
        if (is_across_stages(*op)) continue;
        Message& m = message_of(*op, call);
        const bool sends = std::holds_alternative<Send>(op->body);
        if ((sends ? m.sends : m.receives)++ == 0) (sends ? m.from : m.to) = {s, c, op};
      }
    }
  }
  void check_message(const Message& m) {
    if (m.sends == 0 && m.receives == 0) return;
    if (m.sends == 0) {
      fault(FaultKind::kMessage, m.to, "is received but not sent");
    } else if (m.sends != 1 || m.receives != 1) {
      fault(FaultKind::kMessage, m.from, "is sent but not received once");
    } else {
      check_ends(m, std::get<Send>(m.from.op->body), std::get<Recv>(m.to.op->body));
    }
  }
  void check_ends(const Message& m, const Send& send, const Recv& receive) {
    const auto n = static_cast<int>(stages());
    const int expected = ((static_cast<int>(m.from.stage) + send.offset) % n + n) % n;
    if (static_cast<int>(m.to.stage) != expected || receive.offset != -send.offset) {
      fault(FaultKind::kMessage, m.from, "is sent to another stage than the one that receives it");
    }
    if (send.fan != Fan{receive.fan.sharers, receive.fan.peers}) {
      fault(FaultKind::kMessage, m.from, "has different ranks at its two ends");
    }
    if (send.bytes != receive.bytes) {
      fault(FaultKind::kBytes, m.from, "has different sizes at its two ends");
    }
  }
  void fault(FaultKind kind, const End& end, const char* what) {
    const TensorId tensor = end.op->operands[0].tensor;
    faults_.add(
        kind, end.stage, end.call,
        plan_.tensors[tensor].name + layer_and_microbatch(calls(end.stage)[end.call]) + " " + what);
  }

  // ---- collectives across stages meet in order of issue
  void check_members(std::size_t s) {
    std::array<std::vector<const Collective*>, 3> joined;  // by Stages
    for (const Call& call : calls(s)) {
      for (const Op* op : points_[call.block]) {
        const Collective* c = std::get_if<Collective>(&op->body);
        if (c != nullptr) joined[static_cast<std::size_t>(c->stages)].push_back(c);
      }
    }
    for (Stages which : {Stages::kAll, Stages::kEnds, Stages::kMirrored}) {
      const std::vector<const Collective*>& mine = joined[static_cast<std::size_t>(which)];
      const std::int64_t first = first_of(which, s);
      if (first >= 0) {
        compare(s, expected_.try_emplace({which, first}, mine).first->second, mine);
      } else if (!mine.empty()) {
        faults_.add(FaultKind::kMember, s, 0, "a stage between the ends joins their collective");
      }
    }
  }
  void compare(std::size_t s, const std::vector<const Collective*>& a,
               const std::vector<const Collective*>& b) {
    if (a.size() != b.size()) {
      faults_.add(FaultKind::kMember, s, 0,
                  "this stage joins " + std::to_string(b.size()) +
                      " collectives across stages, the first one " + std::to_string(a.size()));
      return;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i]->kind != b[i]->kind || a[i]->axes != b[i]->axes) {
        faults_.add(FaultKind::kMember, s, 0, "stages join different collectives");
      } else if (a[i]->bytes() != b[i]->bytes()) {
        faults_.add(FaultKind::kBytes, s, 0, "stages give different sizes for one collective");
      }
    }
  }

  // ---- a walk of all stages as far as messages and collectives across stages allow
  struct Progress {  // of a stage
    std::size_t call = 0, point = 0;
    std::array<std::size_t, 3> met = {};  // collectives across stages so far, by Stages
    bool waits = false;                   // in the next one
  };
  struct Walk {
    std::vector<Progress> stages;
    /// By which stages, the first of them, and occurrence.
    std::map<std::tuple<Stages, std::int64_t, std::size_t>, std::size_t> arrivals;
    bool moved = false;
  };
  /// False where the op has to wait.
  bool passes(Walk& w, std::size_t s, const Op& op, const Call& call) {
    if (std::holds_alternative<Recv>(op.body)) return message_of(op, call).on_its_way;
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c == nullptr) return message_of(op, call).on_its_way = true;
    Progress& at = w.stages[s];
    std::size_t& met = at.met[static_cast<std::size_t>(c->stages)];
    std::size_t& arrived = w.arrivals[{c->stages, first_of(c->stages, s), met}];
    if (!at.waits) ++arrived, at.waits = w.moved = true;
    const auto of = static_cast<std::int64_t>(stages());
    if (arrived < static_cast<std::size_t>(stages_in_meeting(c->stages, of))) return false;
    ++met, at.waits = false;
    return true;
  }
  void advance(Walk& w, std::size_t s) {
    Progress& at = w.stages[s];
    for (; at.call < calls(s).size(); ++at.call, at.point = 0) {
      const Call& call = calls(s)[at.call];
      const std::vector<const Op*>& points = points_[call.block];
      for (; at.point < points.size(); ++at.point, w.moved = true) {
        if (!passes(w, s, *points[at.point], call)) return;
      }
    }
  }
  void check_progress() {
    Walk w;
    w.stages.resize(stages());
    do {
      w.moved = false;
      for (std::size_t s = 0; s < stages(); ++s) advance(w, s);
    } while (w.moved);
    for (std::size_t s = 0; s < stages(); ++s) {
      const std::size_t call = w.stages[s].call;
      if (call == calls(s).size()) continue;
      faults_.add(FaultKind::kDeadlock, s, call,
                  "this stage waits for ever at its call " + std::to_string(call));
    }
  }

  const Plan& plan_;
  FaultList& faults_;
  std::vector<std::vector<const Op*>> points_;  // per block: ops at which stages meet
  MemberTable<Message> messages_{plan_};
  /// By which stages and the first of them: what it joins.
  std::map<std::pair<Stages, std::int64_t>, std::vector<const Collective*>> expected_;
};

}  // namespace

void check_stage_meetings(const Plan& plan, FaultList& faults) {
  StageMeetings(plan, faults).check();
}

}  // namespace plait
