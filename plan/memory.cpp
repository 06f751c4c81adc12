#include "plan/memory.h"

#include <algorithm>
#include <map>

#include "plan/member_table.h"

namespace plait {
namespace {

class StageWalk {
 public:
  StageWalk(const Plan& plan, std::size_t stage, Place place, Role role)
      : plan_(plan),
        place_(place),
        role_(role),
        program_(plan.programs.at(stage)),
        members_(plan),
        call_members_(plan.tensors.size()),
        call_of_(plan.tensors.size(), 0) {
    for (const Tensor& t : plan.tensors) bytes_.push_back(t.bytes(plan.mesh).value);
    for (const Block& b : plan.blocks) touches_.push_back(touches_of(b));
    ops_ = op_count(plan, stage);
  }

  std::vector<Stay> list() {
    collect();
    return std::move(stays_);
  }

  StageMemory run(bool curve) {
    collect();
    StageMemory out;
    std::vector<std::int64_t> delta(static_cast<std::size_t>(ops_) + 1, 0);
    for (const Stay& s : stays_) {
      delta[static_cast<std::size_t>(s.first)] += bytes_[s.tensor];
      delta[static_cast<std::size_t>(s.last + 1)] -= bytes_[s.tensor];
    }
    std::int64_t live = 0, peak = -1;
    for (std::int64_t i = 0; i < ops_; ++i) {
      live += delta[static_cast<std::size_t>(i)];
      if (live > peak) peak = live, out.peak_op = i;
    }
    out.peak = Bytes(std::max<std::int64_t>(peak, 0));
    attribute(out);
    if (curve) draw(out);
    return out;
  }

 private:
  /// What a block's ops first .. last do to a member.
  struct Touch {
    std::int64_t first, last;
    TensorId root;
    std::int16_t shift;
    bool afresh;                    // a full write: what was there before is no longer needed
    std::int32_t previous = kNone;  // touch of the same tensor
  };
  static constexpr std::int32_t kNone = -1;
  struct Member {
    std::int64_t stay = -1;  // index of the open stay
  };

  std::vector<Touch> touches_of(const Block& block) const {
    std::vector<Touch> out;
    std::vector<std::int32_t> latest(plan_.tensors.size(), kNone);
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      for (const Operand& o : block.ops[i].operands) {
        const bool view = plan_.tensors[o.tensor].is_view();
        const TensorId root = storage_of(plan_, o.tensor);
        const Tensor& held = plan_.tensors[root];
        if (held.place != place_ || !holds(role_, held.holders)) continue;
        const auto op = static_cast<std::int64_t>(i);
        const std::int16_t shift = per_layer(held.scope) ? o.shift : std::int16_t{0};
        const bool afresh = !view && o.use == Use::kWrite && !held.persistent;
        add(out, {op, op, root, shift, afresh, latest[root]}, latest[root]);
      }
    }
    return out;
  }
  /// Later touches of a member that leave what is there only make its stay longer.
  static void add(std::vector<Touch>& touches, const Touch& t, std::int32_t& latest) {
    std::int32_t at = latest;
    while (at != kNone && touches[static_cast<std::size_t>(at)].shift != t.shift) {
      at = touches[static_cast<std::size_t>(at)].previous;
    }
    if (at == kNone || (t.afresh && touches[static_cast<std::size_t>(at)].last < t.first)) {
      latest = static_cast<std::int32_t>(touches.size());
      touches.push_back(t);
    } else {
      touches[static_cast<std::size_t>(at)].last = t.last;
    }
  }

  void collect() {
    std::int64_t flat = 0;
    for (const Call& call : program_.calls) {
      ++call_;
      for (const Touch& t : touches_[call.block]) touch(call, t, flat);
      flat += static_cast<std::int64_t>(plan_.blocks[call.block].ops.size());
    }
    for (Stay& s : stays_) {
      if (plan_.tensors[s.tensor].persistent) s.first = 0, s.last = ops_ - 1;
    }
  }
  /// `flat`: the number of the call's first op.
  void touch(const Call& call, const Touch& t, std::int64_t flat) {
    Member& m = member(t.root, call.layer + t.shift, call.microbatch);
    const bool begins =
        m.stay < 0 || (t.afresh && stays_[static_cast<std::size_t>(m.stay)].last < flat + t.first);
    if (begins) {
      m.stay = static_cast<std::int64_t>(stays_.size());
      stays_.push_back(stay_of(t, call, flat + t.first));
    }
    stays_[static_cast<std::size_t>(m.stay)].last = flat + t.last;
  }
  Stay stay_of(const Touch& t, const Call& call, std::int64_t op) const {
    const Scope scope = plan_.tensors[t.root].scope;
    return {t.root, per_layer(scope) ? call.layer + t.shift : 0,
            per_microbatch(scope) ? call.microbatch : 0, op, op};
  }
  Member& member(TensorId root, std::int32_t layer, std::int32_t microbatch) {
    if (plan_.tensors[root].scope == Scope::kCall) return call_member(root);
    return members_.at(root, layer, microbatch);
  }
  /// Each call has a member of its own; only the current call's is ever looked at.
  Member& call_member(TensorId root) {
    if (call_of_[root] != call_) call_members_[root] = {}, call_of_[root] = call_;
    return call_members_[root];
  }

  void attribute(StageMemory& out) const {
    std::map<TensorId, LiveTensor> at_peak;
    for (const Stay& s : stays_) {
      if (out.peak_op < s.first || out.peak_op > s.last) continue;
      LiveTensor& t = at_peak[s.tensor];
      t.tensor = s.tensor;
      ++t.count;
      t.bytes += Bytes(bytes_[s.tensor]);
      out.by_class[static_cast<std::size_t>(plan_.tensors[s.tensor].kind)] +=
          Bytes(bytes_[s.tensor]);
    }
    for (const auto& [id, live] : at_peak) out.at_peak.push_back(live);
    std::stable_sort(out.at_peak.begin(), out.at_peak.end(),
                     [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  }
  void draw(StageMemory& out) const {
    std::vector<BytesByClass> delta(static_cast<std::size_t>(ops_) + 1);
    for (const Stay& s : stays_) {
      const auto kind = static_cast<std::size_t>(plan_.tensors[s.tensor].kind);
      delta[static_cast<std::size_t>(s.first)][kind] += Bytes(bytes_[s.tensor]);
      delta[static_cast<std::size_t>(s.last + 1)][kind] -= Bytes(bytes_[s.tensor]);
    }
    BytesByClass live = {};
    for (std::int64_t i = 0; i < ops_; ++i) {
      const BytesByClass& d = delta[static_cast<std::size_t>(i)];
      for (std::size_t k = 0; k < live.size(); ++k) live[k] += d[k];
      if (i == 0 || d != BytesByClass{}) out.curve.push_back({i, live});
    }
  }

  const Plan& plan_;
  Place place_;
  Role role_;
  const Program& program_;
  MemberTable<Member> members_;
  std::vector<Member> call_members_;
  std::size_t call_ = 0;  // number of the current call, from 1
  std::vector<std::size_t>
      call_of_;  // of call-scoped tensors: the call that their member belongs to
  std::vector<std::int64_t> bytes_;
  std::vector<std::vector<Touch>> touches_;
  std::vector<Stay> stays_;
  std::int64_t ops_ = 0;
};

}  // namespace

std::vector<Stay> stays(const Plan& plan, std::size_t stage, Place place, Role role) {
  return StageWalk(plan, stage, place, role).list();
}

StageMemory live_memory(const Plan& plan, std::size_t stage, bool curve, Place place, Role role) {
  return StageWalk(plan, stage, place, role).run(curve);
}

}  // namespace plait
