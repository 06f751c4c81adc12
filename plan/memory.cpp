#include "plan/memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "core/error.h"
#include "plan/calls_met.h"
#include "plan/member_table.h"
#include "plan/memory_touches.h"
#include "plan/places.h"
#include "plan/repeats.h"

namespace plait {
namespace {

/// A stay, and the calls that it begins and ends in.
struct StaySpan : Stay {
  std::uint32_t first_call = 0, last_call = 0;
};

}  // namespace

/// The calls of one stage.
class LiveMemory::StageWalk {
 public:
  /// With so many microbatches more than the plan's.
  StageWalk(const LiveMemory& memory, std::size_t stage, std::int64_t further = 0)
      : plan_(memory.plan_),
        bytes_(memory.bytes_on(stage).own),
        filled_(memory.bytes_on(stage).filled),
        blocks_(memory.blocks_),
        program_(plan_.programs.at(stage).calls),
        further_(further),
        calls_(program_),
        left_out_at_(program_.size()),
        members_(plan_) {}

  std::vector<Stay> list() {
    ops_ = ops_of(calls_);
    collect(&BlockTouches::all);
    return {spans_.begin(), spans_.end()};
  }

  StageMemory run() {
    leave_out_repeats();
    ops_ = ops_of(calls_);
    collect_staying();
    collect_once();
    collect(&BlockTouches::passing);
    sum_changes();
    StageMemory out;
    find_peak(out);
    attribute(out);
    if (peak_call_ >= left_out_at_) out.peak_op += left_out_ops_;
    return out;
  }

 private:
  /// Where calls repeat, a period of them allocates what the one before did and frees as much: one
  /// stands for all others.
  void leave_out_repeats() {
    const Repeats repeats = repeats_of(program_);
    PLAIT_CHECK(further_ == 0 || is_extensible(repeats, further_), "the program does not repeat");
    const std::size_t kept = repeats.telling;
    if (kept == 0 || repeats.periods < kept) return;
    const std::span period = std::span(program_).subspan(repeats.first, repeats.calls);
    const std::int64_t beyond = further_ / repeats.microbatches;
    left_out_at_ = repeats.first + kept * repeats.calls;
    left_out_ops_ = (static_cast<std::int64_t>(repeats.periods - kept) + beyond) * ops_of(period);
    if (beyond > 0) stay_beyond(period, repeats.microbatches, beyond);
    if (repeats.periods == kept) return;
    shortened_ = without(program_, repeats, repeats.periods - kept);
    calls_ = shortened_;
  }
  /// What always is there for each microbatch, of those that a period has and the plan has not.
  void stay_beyond(std::span<const Call> period, std::int32_t microbatches, std::int64_t periods) {
    std::set<std::tuple<TensorId, std::int32_t, std::int32_t>> each;
    for (const Call& call : period) {
      for (const MemoryTouch& t : blocks_[call.block].staying) {
        each.insert({t.root, call.layer + t.shift, call.microbatch % microbatches});
      }
    }
    for (const auto& [tensor, layer, microbatch] : each) beyond_[tensor] += periods;
  }
  std::int64_t ops_of(std::span<const Call> calls) const {
    std::int64_t ops = 0;
    for (const Call& call : calls) {
      ops += static_cast<std::int64_t>(blocks_[call.block].within.size());
    }
    return ops;
  }
  void collect(std::vector<MemoryTouch> BlockTouches::*touches) {
    std::int64_t flat = 0;
    for (std::uint32_t c = 0; c < calls_.size(); ++c) {
      const BlockTouches& block = blocks_[calls_[c].block];
      for (const MemoryTouch& t : block.*touches) touch(calls_[c], c, t, flat);
      flat += static_cast<std::int64_t>(block.within.size());
    }
  }
  void collect_staying() {
    for (const Call& call : program_) {
      for (const MemoryTouch& t : blocks_[call.block].staying) touch(call, 0, t, 0);
    }
  }
  /// Once for each block and layer.
  void collect_once() {
    CallsMet met(blocks_.size(), plan_.layers + 1);
    for (std::uint32_t c = 0; c < calls_.size(); ++c) {
      const Call& call = calls_[c];
      if (!met.insert(call)) continue;
      for (const MemoryTouch& t : blocks_[call.block].once) touch(call, c, t, 0);
    }
  }
  /// `c`: the call's number; `flat`: that of its first op.
  void touch(const Call& call, std::uint32_t c, const MemoryTouch& t, std::int64_t flat) {
    if (t.within_call) {
      spans_.push_back(span_of(call, c, t, flat));
      return;
    }
    std::int64_t& stay = members_.at(t.root, call.layer + t.shift, call.microbatch).stay;
    if (stay < 0 || (t.afresh && spans_[static_cast<std::size_t>(stay)].last < flat + t.first)) {
      stay = static_cast<std::int64_t>(spans_.size());
      spans_.push_back(span_of(call, c, t, flat));
      return;
    }
    if (t.persistent) return;
    StaySpan& open = spans_[static_cast<std::size_t>(stay)];
    open.last = flat + t.last, open.last_call = c;
  }
  StaySpan span_of(const Call& call, std::uint32_t c, const MemoryTouch& t,
                   std::int64_t flat) const {
    const Scope scope = plan_.tensors[t.root].scope;
    StaySpan out = {{t.root, per_layer(scope) ? call.layer + t.shift : 0,
                     per_microbatch(scope) ? call.microbatch : 0, flat + t.first, flat + t.last},
                    c,
                    c};
    if (t.persistent) {
      out.first = 0, out.last = ops_ - 1;
      out.first_call = 0, out.last_call = static_cast<std::uint32_t>(calls_.size()) - 1;
    }
    return out;
  }

  /// Of what outlives calls: by op, by call, and what a call adds at most at any of its ops.
  void sum_changes() {
    change_.assign(static_cast<std::size_t>(ops_) + 1, 0);
    of_call_.assign(calls_.size() + 1, 0), added_.assign(calls_.size() + 1, 0);
    std::vector<std::int64_t> end_of_call;
    std::int64_t flat = 0;
    for (const Call& call : calls_) {
      flat += static_cast<std::int64_t>(blocks_[call.block].within.size());
      end_of_call.push_back(flat);
    }
    for (const StaySpan& s : spans_) {
      std::size_t end = s.last_call;  // the call of the op behind its last one
      while (end < calls_.size() && s.last + 1 >= end_of_call[end]) ++end;
      change_[static_cast<std::size_t>(s.first)] += filled_[s.tensor];
      change_[static_cast<std::size_t>(s.last + 1)] -= filled_[s.tensor];
      of_call_[s.first_call] += filled_[s.tensor], added_[s.first_call] += filled_[s.tensor];
      of_call_[end] -= filled_[s.tensor];
    }
  }
  /// Calls that cannot get higher than the peak so far are not looked at op by op.
  void find_peak(StageMemory& out) {
    std::int64_t live = 0, peak = -1;
    for (const auto& [tensor, count] : beyond_) live += count * filled_[tensor];
    std::size_t flat = 0;
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      const BlockTouches& block = blocks_[calls_[c].block];
      const std::size_t ops = block.within.size();
      if (live + added_[c] + block.most_within <= peak) {
        live += of_call_[c], flat += ops;
        continue;
      }
      for (std::size_t i = 0; i < ops; ++i, ++flat) {
        live += change_[flat];
        if (live + block.within[i] <= peak) continue;
        peak = live + block.within[i];
        out.peak_op = static_cast<std::int64_t>(flat), peak_call_ = c, peak_at_ = i;
      }
    }
    if (calls_.empty()) return;
    out.peak_block = calls_[peak_call_].block, out.peak_at = peak_at_;
    const auto& beside = blocks_[out.peak_block].beside;
    if (!beside.empty()) out.beside = Bytes(beside[peak_at_]);
  }
  void attribute(StageMemory& out) const {
    std::map<TensorId, LiveTensor> at_peak;
    const auto add = [&](TensorId tensor, std::int64_t count = 1) {
      LiveTensor& t = at_peak[tensor];
      const Bytes bytes(count * bytes_[tensor]);
      t.tensor = tensor, t.count += count, t.bytes += bytes;
      out.by_class[static_cast<std::size_t>(plan_.tensors[tensor].kind)] += bytes;
      out.peak += bytes;
    };
    for (const auto& [tensor, count] : beyond_) add(tensor, count);
    for (const StaySpan& s : spans_) {
      if (out.peak_op >= s.first && out.peak_op <= s.last) add(s.tensor);
    }
    if (ops_ > 0) {
      const auto at = static_cast<std::int64_t>(peak_at_);
      for (const MemoryTouch& t : blocks_[calls_[peak_call_].block].all) {
        if (t.within_call && at >= t.first && at <= t.last) add(t.root);
      }
    }
    for (const auto& [id, live] : at_peak) out.at_peak.push_back(live);
    std::stable_sort(out.at_peak.begin(), out.at_peak.end(),
                     [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  }

  struct Member {
    std::int64_t stay = -1;  // index of the open span
  };
  const Plan& plan_;
  const std::vector<std::int64_t>&bytes_, &filled_;
  const std::vector<BlockTouches>& blocks_;
  const std::vector<Call>& program_;
  std::int64_t further_;         // microbatches
  std::vector<Call> shortened_;  // without what repeats
  std::span<const Call> calls_;  // one of these two
  std::size_t left_out_at_ = 0;  // where calls are missing, and of how many ops
  std::int64_t left_out_ops_ = 0;
  std::map<TensorId, std::int64_t> beyond_;  // members of microbatches that the plan has not
  MemberTable<Member> members_;
  std::vector<StaySpan> spans_;
  std::int64_t ops_ = 0;
  std::vector<std::int64_t> change_, of_call_, added_;
  std::size_t peak_call_ = 0, peak_at_ = 0;  // and the op within it
};

namespace {

/// Stages that call a block are of one tensor-parallel degree (plan/strategies/stage_tp.h).
std::vector<std::size_t> a_stage_of_each_block(const Plan& plan) {
  std::vector<std::size_t> out(plan.blocks.size(), 0);
  if (plan.stage_tp.empty()) return out;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    for (const Call& call : plan.programs[s].calls) out[call.block] = s;
  }
  return out;
}

void add_beside(const Block& block, const BesideTensors& beside, BlockTouches& out) {
  for (const Op& op : block.ops) {
    const std::size_t i = out.beside.size();
    out.beside.push_back(beside.of_op(op).value);
    out.within[i] += out.beside[i];
    out.most_within = std::max(out.most_within, out.within[i]);
  }
}

}  // namespace

LiveMemory::LiveMemory(const Plan& plan, Place place, Role role)
    : LiveMemory(plan, place, role, std::vector<bool>(plan.tensors.size(), true)) {}

LiveMemory::LiveMemory(const Plan& plan, Role role, const BesideTensors& beside)
    : LiveMemory(plan, Place::kDevice, role, std::vector<bool>(plan.tensors.size(), true), beside) {
}

LiveMemory::LiveMemory(const Plan& plan, Place place, Role role, const std::vector<bool>& counted,
                       const BesideTensors& beside)
    : plan_(plan) {
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    const Mesh mesh = mesh_of(plan, static_cast<std::int64_t>(s));
    const auto [at, fresh] = bytes_.try_emplace(mesh[Axis::kTp]);
    if (!fresh) continue;
    for (const Tensor& t : plan.tensors) at->second.own.push_back(t.bytes(mesh).value);
    at->second.filled = at->second.own;
    for (std::size_t t = 0; t < beside.of_tensor.size(); ++t) {
      std::int64_t& bytes = at->second.filled[t];
      bytes += static_cast<std::int64_t>(beside.of_tensor[t] * static_cast<double>(bytes));
    }
  }
  const std::vector<std::size_t> stage_of_block = a_stage_of_each_block(plan);
  blocks_.reserve(plan.blocks.size());
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    const std::vector<std::int64_t>& filled = bytes_on(stage_of_block[b]).filled;
    BlockTouches& out =
        blocks_.emplace_back(touches_of(plan, plan.blocks[b], place, role, counted, filled));
    if (beside.of_op) add_beside(plan.blocks[b], beside, out);
  }
}

LiveMemory::~LiveMemory() = default;

const LiveMemory::TensorBytes& LiveMemory::bytes_on(std::size_t stage) const {
  return bytes_.at(mesh_of(plan_, static_cast<std::int64_t>(stage))[Axis::kTp]);
}

std::vector<Stay> LiveMemory::stays(std::size_t stage) const {
  return StageWalk(*this, stage).list();
}

StageMemory LiveMemory::of(std::size_t stage, bool curve) const {
  StageMemory out = StageWalk(*this, stage).run();
  if (curve) draw(stage, out);
  return out;
}

StageMemory LiveMemory::of_longer(std::size_t stage, std::int64_t microbatches) const {
  return StageWalk(*this, stage, microbatches).run();
}

std::vector<Bytes> LiveMemory::beside_ops(std::size_t stage) const {
  std::vector<Bytes> out;
  for (const Call& call : plan_.programs.at(stage).calls) {
    const BlockTouches& block = blocks_[call.block];
    for (const std::int64_t bytes : block.beside) out.emplace_back(bytes);
    if (block.beside.empty()) out.insert(out.end(), block.within.size(), Bytes());
  }
  return out;
}

void LiveMemory::draw(std::size_t stage, StageMemory& out) const {
  const auto ops = static_cast<std::size_t>(op_count(plan_, stage));
  const auto& [bytes, filled] = bytes_on(stage);
  std::vector<BytesByClass> delta(ops + 1);
  std::vector<Bytes> kept(ops + 1);  // beside tensors
  for (const Stay& s : stays(stage)) {
    const auto kind = static_cast<std::size_t>(plan_.tensors[s.tensor].kind);
    delta[static_cast<std::size_t>(s.first)][kind] += Bytes(bytes[s.tensor]);
    delta[static_cast<std::size_t>(s.last + 1)][kind] -= Bytes(bytes[s.tensor]);
    kept[static_cast<std::size_t>(s.first)] += Bytes(filled[s.tensor] - bytes[s.tensor]);
    kept[static_cast<std::size_t>(s.last + 1)] -= Bytes(filled[s.tensor] - bytes[s.tensor]);
  }
  const std::vector<Bytes> of_ops = beside_ops(stage);
  BytesByClass live = {};
  Bytes beside;
  for (std::size_t i = 0; i < ops; ++i) {
    for (std::size_t k = 0; k < live.size(); ++k) live[k] += delta[i][k];
    beside += kept[i];
    const Bytes now = beside + of_ops[i];
    if (i == 0 || delta[i] != BytesByClass{} || now != out.curve.back().beside) {
      out.curve.push_back({static_cast<std::int64_t>(i), live, now});
    }
  }
}

std::vector<Stay> stays(const Plan& plan, std::size_t stage, Place place, Role role) {
  return LiveMemory(plan, place, role).stays(stage);
}

StageMemory live_memory(const Plan& plan, std::size_t stage, bool curve, Place place, Role role) {
  return LiveMemory(plan, place, role).of(stage, curve);
}

}  // namespace plait
