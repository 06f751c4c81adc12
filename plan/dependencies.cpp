#include "plan/dependencies.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "plan/member_table.h"

namespace plait {
namespace {

/// What a block's ops first .. last, all of one stream, do to a storage that several streams touch.
struct Touch {
  std::uint16_t first, last;
  TensorId root;
  std::int16_t shift;
  Use use;
  Stream stream;
};

/// A view written whole leaves the rest of its storage as it is, so it counts as an update of it.
Use use_of_root(const Plan& plan, const Operand& o) {
  if (o.use == Use::kWrite && plan.tensors[o.tensor].is_view()) return Use::kUpdate;
  return o.use;
}

/// The latest ops of other streams that a block's ops conflict with: streams are in order.
class WithinBlocks {
 public:
  explicit WithinBlocks(const Plan& plan) : plan_(plan), latest_(plan.tensors.size(), -1) {}

  BlockDependencies of(const Block& block) {
    BlockDependencies out;
    out.first.reserve(block.ops.size() + 1);
    out.first.push_back(0);
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      for (const int j : conflicts(block, block.ops[i])) {
        if (j >= 0) out.before.push_back(static_cast<std::uint16_t>(j));
      }
      out.first.push_back(static_cast<std::uint16_t>(out.before.size()));
      for (const Operand& o : block.ops[i].operands) mention(static_cast<int>(i), o);
    }
    forget();
    return out;
  }

 private:
  struct Mention {
    int op;
    Operand operand;
    std::int32_t previous;  // of the same storage
  };
  void mention(int op, const Operand& o) {
    std::int32_t& latest = latest_[storage_of(plan_, o.tensor)];
    mentions_.push_back({op, o, std::exchange(latest, static_cast<int>(mentions_.size()))});
  }
  void forget() {
    for (const Mention& m : mentions_) latest_[storage_of(plan_, m.operand.tensor)] = -1;
    mentions_.clear();
  }
  /// By stream; -1: none.
  std::array<int, kStreams> conflicts(const Block& block, const Op& op) const {
    std::array<int, kStreams> out;
    out.fill(-1);
    for (const Operand& a : op.operands) {
      for (std::int32_t m = latest_[storage_of(plan_, a.tensor)]; m >= 0; m = at(m).previous) {
        const auto& [earlier, b, previous] = at(m);
        const Stream stream = block.ops[static_cast<std::size_t>(earlier)].stream;
        const bool conflict = a.use != Use::kRead || b.use != Use::kRead;
        int& last = out[static_cast<std::size_t>(stream)];
        if (stream != op.stream && conflict && a.shift == b.shift) last = std::max(last, earlier);
      }
    }
    return out;
  }

  const Mention& at(std::int32_t m) const { return mentions_[static_cast<std::size_t>(m)]; }

  const Plan& plan_;
  std::vector<std::int32_t> latest_;  // mention of each storage
  std::vector<Mention> mentions_;
};

class ProgramLinker {
 public:
  ProgramLinker(const Plan& plan, const std::vector<std::vector<Touch>>& touches,
                std::vector<std::uint32_t>& message_ids, std::uint32_t& messages)
      : plan_(plan),
        touches_(touches),
        message_ids_(message_ids),
        messages_(messages),
        members_(plan) {}

  ProgramDependencies link(const Program& program) {
    number_ops(program);
    for (std::size_t c = 0; c < program.calls.size(); ++c) {
      const Call& call = program.calls[c];
      wait_first_.push_back(static_cast<std::uint32_t>(waits_.size()));
      if (call.after >= 0) wait_for_call(program, static_cast<std::size_t>(call.after));
      for (const Touch& t : touches_[call.block]) touch(c, call, t);
    }
    wait_first_.push_back(static_cast<std::uint32_t>(waits_.size()));
    return finish(program);
  }

 private:
  struct Ref {
    std::int32_t call = -1;
    std::uint16_t op = 0;
    Stream stream = Stream::kCompute;
  };
  struct Read {
    Ref ref;
    std::int32_t next;  // of the same member, on a later stream
  };
  struct Member {
    Ref writer;
    std::uint16_t waited = 0;  // streams that waited for the writer already, a bit each
    std::int32_t reads = -1;   // since the last write: of each stream the latest
  };
  static std::uint16_t bit(Stream s) {
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(s));
  }

  void number_ops(const Program& program) {
    std::uint32_t n = 0;
    first_op_.reserve(program.calls.size());
    wait_first_.reserve(program.calls.size() + 1);
    waits_.reserve(2 * program.calls.size());
    signalled_.reserve(program.calls.size());
    for (const Call& call : program.calls) {
      first_op_.push_back(n);
      n += static_cast<std::uint32_t>(plan_.blocks[call.block].ops.size());
    }
    event_of_op_.assign(n, kNoEvent);
  }

  void touch(std::size_t c, const Call& call, const Touch& t) {
    Member& m = members_.at(t.root, call.layer + t.shift, call.microbatch);
    const auto here = static_cast<std::int32_t>(c);
    if (m.writer.call >= 0 && m.writer.call != here && m.writer.stream != t.stream &&
        (m.waited & bit(t.stream)) == 0) {
      wait(t.first, m.writer);
    }
    m.waited = static_cast<std::uint16_t>(m.waited | bit(t.stream));
    const Ref ref{here, t.last, t.stream};
    if (t.use == Use::kRead) {
      read(m, ref);
      return;
    }
    for (std::int32_t r = m.reads; r >= 0; r = at(r).next) {
      const Ref& reader = at(r).ref;
      if (reader.call != here && reader.stream != t.stream) wait(t.first, reader);
    }
    m.reads = -1;
    m.writer = ref;
    m.waited = 0;
  }

  void read(Member& m, const Ref& ref) {
    std::int32_t* place = &m.reads;
    while (*place >= 0 && at(*place).ref.stream < ref.stream) place = &at(*place).next;
    if (*place >= 0 && at(*place).ref.stream == ref.stream) {
      at(*place).ref = ref;
      return;
    }
    const std::int32_t next = std::exchange(*place, static_cast<std::int32_t>(reads_.size()));
    reads_.push_back({ref, next});
  }
  Read& at(std::int32_t r) { return reads_[static_cast<std::size_t>(r)]; }

  void wait_for_call(const Program& program, std::size_t earlier) {
    const std::vector<Op>& ops = plan_.blocks[program.calls[earlier].block].ops;
    std::uint16_t seen = 0;  // the last op of each stream
    for (std::size_t i = ops.size(); i-- > 0;) {
      if ((seen & bit(ops[i].stream)) != 0) continue;
      seen = static_cast<std::uint16_t>(seen | bit(ops[i].stream));
      wait(0, {static_cast<std::int32_t>(earlier), static_cast<std::uint16_t>(i), ops[i].stream});
    }
  }

  void wait(std::uint16_t op, const Ref& on) {
    const std::size_t flat = first_op_[static_cast<std::size_t>(on.call)] + on.op;
    if (event_of_op_[flat] == kNoEvent) {
      event_of_op_[flat] = static_cast<std::uint32_t>(signalled_.size());
      signalled_.push_back(on);
    }
    waits_.push_back({op, event_of_op_[flat], static_cast<std::uint32_t>(flat)});
  }

  /// Sorts signals by call and renumbers events into reusable cells.
  ProgramDependencies finish(const Program& program) {
    const std::size_t calls = program.calls.size();
    ProgramDependencies out;
    out.signal_first.assign(calls + 1, 0);
    for (const Ref& s : signalled_) ++out.signal_first[static_cast<std::size_t>(s.call) + 1];
    for (std::size_t c = 0; c < calls; ++c) out.signal_first[c + 1] += out.signal_first[c];
    out.signals.resize(signalled_.size());
    std::vector<std::uint32_t> next(out.signal_first.begin(), out.signal_first.end() - 1);
    for (std::size_t e = 0; e < signalled_.size(); ++e) {
      const Ref& s = signalled_[e];
      out.signals[next[static_cast<std::size_t>(s.call)]++] = {s.op, static_cast<std::uint32_t>(e),
                                                               0};
    }
    for (std::size_t c = 0; c < calls; ++c) {
      std::ranges::sort(out.signals.begin() + out.signal_first[c],
                        out.signals.begin() + out.signal_first[c + 1], {}, &EventUse::op);
    }
    out.waits = std::move(waits_);
    out.wait_first = std::move(wait_first_);
    out.events = static_cast<std::uint32_t>(signalled_.size());
    number_messages(program, out);
    return out;
  }
  void number_messages(const Program& program, ProgramDependencies& out) {
    const std::vector<const Operand*> sent = sent_by_blocks();
    out.message.assign(program.calls.size(), kNoMessage);
    for (std::size_t c = 0; c < program.calls.size(); ++c) {
      const Call& call = program.calls[c];
      const Operand* o = sent[call.block];
      if (o == nullptr) continue;
      const auto key =
          (static_cast<std::size_t>(o->tensor) * static_cast<std::size_t>(plan_.layers + 2) +
           static_cast<std::size_t>(call.layer + o->shift)) *
              static_cast<std::size_t>(plan_.microbatches) +
          static_cast<std::size_t>(call.microbatch);
      if (message_ids_.size() <= key) message_ids_.resize(key + 1, kNoMessage);
      if (message_ids_[key] == kNoMessage) message_ids_[key] = messages_++;
      out.message[c] = message_ids_[key];
    }
  }
  /// What travels in each block's Send or Recv; null where it has none.
  std::vector<const Operand*> sent_by_blocks() const {
    std::vector<const Operand*> out(plan_.blocks.size(), nullptr);
    for (std::size_t b = 0; b < out.size(); ++b) {
      for (const Op& op : plan_.blocks[b].ops) {
        if (is_message(op)) out[b] = &op.operands.at(0);
      }
    }
    return out;
  }

  static constexpr std::uint32_t kNoEvent = 0xFFFFFFFF;
  const Plan& plan_;
  const std::vector<std::vector<Touch>>& touches_;
  std::vector<std::uint32_t>& message_ids_;
  std::uint32_t& messages_;
  std::vector<std::uint32_t> first_op_, event_of_op_, wait_first_;
  MemberTable<Member> members_;
  std::vector<Read> reads_;
  std::vector<Ref> signalled_;
  std::vector<EventUse> waits_;
};

/// Appends a touch, or merges it into the previous one of the same member: ops of one stream run in
/// order, so what the first waits for holds for all, and the last ends last.
void add_touch(std::vector<Touch>& touches, const Touch& t) {
  const auto previous = std::find_if(touches.rbegin(), touches.rend(), [&t](const Touch& p) {
    return p.root == t.root && p.shift == t.shift;
  });
  const bool both_read =
      previous != touches.rend() && previous->use == Use::kRead && t.use == Use::kRead;
  const bool both_write =
      previous != touches.rend() && previous->use != Use::kRead && t.use != Use::kRead;
  if ((both_read || both_write) && previous->stream == t.stream) {
    previous->last = t.last;
    return;
  }
  touches.push_back(t);
}

/// For each op of a block whether it is compute, or behind a compute op of the block and before
/// another: then it is in order with all calls before and behind, as compute is.
std::vector<bool> within_compute(const std::vector<Op>& ops, const BlockDependencies& d) {
  std::vector<bool> behind(ops.size()), before(ops.size());
  std::array<bool, kStreams> stream_behind = {}, stream_before = {};
  const auto of_stream = [&](auto& flags, std::size_t i) -> bool& {
    return flags[static_cast<std::size_t>(ops[i].stream)];
  };
  const auto waits = std::span(d.before);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    bool& known = of_stream(stream_behind, i);
    known = known || ops[i].stream == Stream::kCompute;
    for (std::size_t k = d.first[i]; k < d.first[i + 1]; ++k) known = known || behind[waits[k]];
    behind[i] = known;
  }
  for (std::size_t i = ops.size(); i-- > 0;) {
    bool& known = of_stream(stream_before, i);
    known = known || before[i] || ops[i].stream == Stream::kCompute;
    before[i] = known;
    for (std::size_t k = d.first[i]; known && k < d.first[i + 1]; ++k) before[waits[k]] = true;
  }
  std::vector<bool> out;
  for (std::size_t i = 0; i < ops.size(); ++i) out.push_back(behind[i] && before[i]);
  return out;
}

/// For each storage whether several streams touch it, and one of them out of order.
std::vector<bool> needs_events(const Plan& plan, const std::vector<BlockDependencies>& within) {
  std::vector<std::uint32_t> streams(plan.tensors.size(), 0);
  std::vector<bool> out_of_order(plan.tensors.size());
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    const std::vector<Op>& ops = plan.blocks[b].ops;
    const std::vector<bool> in_order = within_compute(ops, within[b]);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      for (const Operand& o : ops[i].operands) {
        const TensorId root = storage_of(plan, o.tensor);
        streams[root] |= 1U << static_cast<unsigned>(ops[i].stream);
        if (!in_order[i]) out_of_order[root] = true;
      }
    }
  }
  for (std::size_t t = 0; t < streams.size(); ++t) {
    const bool several = (streams[t] & (streams[t] - 1)) != 0;
    out_of_order[t] = out_of_order[t] && several;
  }
  return out_of_order;
}

/// Per block, its touches of storages that outlive a call and that need events.
std::vector<std::vector<Touch>> shared_touches(const Plan& plan,
                                               const std::vector<BlockDependencies>& within) {
  const std::vector<bool> shared = needs_events(plan, within);
  std::vector<std::vector<Touch>> out(plan.blocks.size());
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    const std::vector<Op>& ops = plan.blocks[b].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      for (const Operand& o : ops[i].operands) {
        const TensorId root = storage_of(plan, o.tensor);
        if (!shared[root] || plan.tensors[root].scope == Scope::kCall) continue;
        const auto op = static_cast<std::uint16_t>(i);
        add_touch(out[b], {op, op, root, o.shift, use_of_root(plan, o), ops[i].stream});
      }
    }
  }
  return out;
}

}  // namespace

std::vector<BlockDependencies> dependencies_within_blocks(const Plan& plan) {
  WithinBlocks within(plan);
  std::vector<BlockDependencies> out;
  out.reserve(plan.blocks.size());
  for (const Block& block : plan.blocks) out.push_back(within.of(block));
  return out;
}

Dependencies dependencies(const Plan& plan) {
  Dependencies out = {.blocks = dependencies_within_blocks(plan), .programs = {}};
  const std::vector<std::vector<Touch>> touches = shared_touches(plan, out.blocks);
  std::vector<std::uint32_t> message_ids;
  for (const Program& program : plan.programs) {
    out.programs.push_back(ProgramLinker(plan, touches, message_ids, out.messages).link(program));
  }
  return out;
}

void reuse_events(ProgramDependencies& p) {
  const std::size_t calls = p.message.size();
  std::vector<std::uint32_t> waiting(p.events, 0), cell(p.events, 0), free, released;
  for (const EventUse& w : p.waits) ++waiting[w.event];
  p.events = 0;
  for (std::size_t c = 0; c < calls; ++c) {
    for (std::uint32_t s = p.signal_first[c]; s < p.signal_first[c + 1]; ++s) {
      std::uint32_t& event = p.signals[s].event;
      if (free.empty()) free.push_back(p.events++);
      cell[event] = free.back();
      free.pop_back();
      event = cell[event];
    }
    for (std::uint32_t w = p.wait_first[c]; w < p.wait_first[c + 1]; ++w) {
      std::uint32_t& event = p.waits[w].event;
      if (--waiting[event] == 0) released.push_back(cell[event]);
      event = cell[event];
    }
    // What this call releases may be taken by the next one at the earliest.
    free.insert(free.end(), released.begin(), released.end());
    released.clear();
  }
}

}  // namespace plait
