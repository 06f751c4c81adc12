#include "plan/validate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

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
    for (const Block& block : plan_.blocks) {
      for (const Op& op : block.ops) {
        for (const Operand& o : op.operands) {
          if (o.tensor >= plan_.tensors.size()) {
            fault(FaultKind::kReference, 0,
                  "block " + block.name + " names a tensor that is not there");
          }
        }
      }
    }
    for (stage_ = 0; stage_ < stages(); ++stage_) {
      const std::vector<Call>& calls = plan_.programs[stage_].calls;
      for (std::size_t c = 0; c < calls.size(); ++c) {
        const Call& call = calls[c];
        const bool known = call.block < plan_.blocks.size() && call.layer >= 0 &&
                           call.layer <= plan_.layers && call.microbatch >= 0 &&
                           call.microbatch < std::max<std::int64_t>(1, plan_.microbatches);
        if (!known)
          fault(FaultKind::kReference, c,
                "a call of a block, layer or microbatch that is not there");
        if (call.after >= static_cast<std::int32_t>(c)) {
          fault(FaultKind::kReference, c, "a call waits for one that is not before it");
        }
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
    const bool by_layer = t.scope == Scope::kLayer || t.scope == Scope::kLayerMicrobatch;
    const bool by_batch = t.scope == Scope::kMicrobatch || t.scope == Scope::kLayerMicrobatch;
    return {o.tensor, by_layer ? call.layer + o.shift : 0, by_batch ? call.microbatch : 0};
  }

  /// Every read comes after a write in issue order; everything written beyond a call is read.
  void check_data_flow() {
    std::map<Member, std::size_t> unread;  // written and not yet read, at which call
    std::map<Member, bool> written;        // a view's write counts for its storage
    std::size_t current = 0;
    std::map<TensorId, bool> in_call;
    for_each_op([&](std::size_t c, const Call& call, const Op& op) {
      if (c != current) current = c, in_call.clear();
      for (const Operand& o : op.operands) {
        const Tensor& t = plan_.tensors[o.tensor];
        const TensorId root = t.is_view() ? t.storage : o.tensor;
        if (plan_.tensors[root].persistent) continue;
        const Member m = member({root, o.use, o.shift}, call);
        const bool local = plan_.tensors[root].scope == Scope::kCall;
        if (o.use != Use::kWrite) {
          const bool known = local ? in_call.contains(root) : written.contains(m);
          if (!known) {
            fault(FaultKind::kUnorderedRead, c,
                  where(op, call) + " reads " + t.name + ", which nothing before it writes");
          }
          unread.erase(m);
        }
        if (o.use == Use::kRead) continue;
        if (local)
          in_call[root] = true;
        else
          written[m] = true, unread.emplace(m, c);
      }
    });
    for (const auto& [m, c] : unread) {
      fault(FaultKind::kLeak, c,
            plan_.tensors[std::get<0>(m)].name + " (layer " + std::to_string(std::get<1>(m)) +
                ", microbatch " + std::to_string(std::get<2>(m)) + ") is written and never read");
    }
  }

  void collect_ends() {
    for_each_op([this](std::size_t c, const Call& call, const Op& op) {
      if (const Send* s = std::get_if<Send>(&op.body)) {
        sends_[member(op.operands.at(0), call)].push_back({stage_, c, s->bytes, s->offset});
      } else if (const Recv* r = std::get_if<Recv>(&op.body)) {
        receives_[member(op.operands.at(0), call)].push_back({stage_, c, r->bytes, r->offset});
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
    for (Stages which : {Stages::kAll, Stages::kEnds}) {
      std::optional<std::vector<Collective>> expected;
      for (stage_ = 0; stage_ < stages(); ++stage_) {
        const bool takes_part = which == Stages::kAll || stage_ == 0 || stage_ + 1 == stages();
        std::vector<Collective> mine;
        for_each_op([&](std::size_t, const Call&, const Op& op) {
          const Collective* c = std::get_if<Collective>(&op.body);
          if (c != nullptr && c->axes.has(Axis::kPp) && c->stages == which) mine.push_back(*c);
        });
        if (!takes_part) {
          if (!mine.empty())
            fault(FaultKind::kMember, 0, "a stage between the ends joins their collective");
          continue;
        }
        if (!expected) expected = mine;
        compare(*expected, mine);
      }
    }
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

  /// Walks all stages as far as messages and collectives across stages allow.
  void check_progress() {
    std::vector<std::size_t> at(stages(), 0);
    std::map<Member, bool> sent;
    const auto needed = [this](const Collective& c) {
      return c.stages == Stages::kEnds ? std::size_t{2} : stages();
    };
    std::map<std::pair<int, std::size_t>, std::size_t> arrivals;  // (which stages, occurrence)
    std::vector<std::map<int, std::size_t>> met(stages());
    std::vector<bool> waits(stages(), false);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < stages(); ++s) {
        while (at[s] < plan_.programs[s].calls.size()) {
          const Call& call = plan_.programs[s].calls[at[s]];
          bool runs = true;
          for (const Op& op : plan_.blocks[call.block].ops) {
            if (std::holds_alternative<Recv>(op.body))
              runs = runs && sent.contains(member(op.operands[0], call));
            if (std::holds_alternative<Send>(op.body) && runs)
              sent[member(op.operands[0], call)] = true;
            const Collective* c = std::get_if<Collective>(&op.body);
            if (c == nullptr || !c->axes.has(Axis::kPp)) continue;
            const auto key =
                std::pair(static_cast<int>(c->stages), met[s][static_cast<int>(c->stages)]);
            if (!waits[s]) ++arrivals[key], waits[s] = true, moved = true;
            runs = runs && arrivals[key] >= needed(*c);
            if (runs) ++met[s][static_cast<int>(c->stages)], waits[s] = false;
          }
          if (!runs) break;
          ++at[s], moved = true;
        }
      }
    }
    for (stage_ = 0; stage_ < stages(); ++stage_) {
      if (at[stage_] < plan_.programs[stage_].calls.size()) {
        fault(FaultKind::kDeadlock, at[stage_],
              "this stage waits for ever at its call " + std::to_string(at[stage_]));
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
