// Gradients, optimizer state and parameters off the device. For each unit, of n ranks that shard
// it:
//
//   backward       its gradient, reduced and summed up over microbatches (with sequence
//                  parallelism its norms' over tp), is copied to the host.
//                  zero_stage 2 and 3: after every microbatch, and back to the device to be added
//                  to before the next one is (DeepSpeed stage3.py, partition_grads)
//   the norm       is summed up on the device, gradient by gradient, as they leave
//   optimizer      Adam on the host, unit by unit; its new weights are copied to the device while
//                  the next unit's Adam runs. From drives: state is read one unit ahead, written
//                  behind
//   parameters     a shard is copied to the device each time before it is gathered
//
// Bytes per parameter and step over the host link, with types as in units.cpp: gradients 4/n down,
// weights 2/n up; parameters 2/n (FSDP: the fp32 master, 4/n) up for every gather instead.
#include <algorithm>
#include <optional>

#include "core/error.h"
#include "plan/strategies/call_rewriter.h"
#include "plan/strategies/data_parallel.h"
#include "plan/strategies/offload.h"

namespace plait {
namespace {

Place place_of(Offload o) { return o == Offload::kNvme ? Place::kStorage : Place::kHost; }

/// A unit's state on the host.
struct HostUnit {
  TensorId gradient = kNoTensor;   // what Adam reads
  TensorId weight = kNoTensor;     // what Adam writes for the device; none: the master shard is it
  TensorId on_device = kNoTensor;  // where that is copied; none: it stays
  /// State on drives, and where it is in memory while Adam runs.
  std::vector<std::pair<TensorId, TensorId>> staged;
  std::optional<BlockId> fetch, leave, leave_last, read, write, weights;
};

class StateOffload {
 public:
  explicit StateOffload(Draft& d) : d_(d), norm_(d.gradient_norm) {
    norm_host_ = add_twin(d, norm_, ".host", Place::kHost, false);
    for (UnitKind kind : kAllUnits) {
      if (d.unit(kind).present()) place(d.unit(kind), of(kind));
    }
  }

  void run() {
    for (Block& block : d_.blocks) {
      for (Op& op : block.ops) {
        if (is_adam(op)) to_host(op);
      }
      leave_out_shards(block);
      fetch_parameters(block);
    }
    for (UnitKind kind : kAllUnits) {
      if (d_.unit(kind).present()) add_blocks(kind);
    }
    if (clips()) add_norm_blocks();
    find_effects();
    for (Program& program : d_.programs) program = rewritten(program);
  }

 private:
  /// What a block does to a unit, as seen from the call's layer.
  struct Effect {
    UnitKind kind = UnitKind::kLayer;
    std::int16_t shift = 0;
  };
  struct Effects {
    std::vector<Effect> gradients;  // written: the buffer, or the shard of zero_stage 2 and 3
    std::optional<UnitKind> adam;
    bool norm = false, computes = false;
  };

  HostUnit& of(UnitKind k) { return host_[static_cast<std::size_t>(k)]; }
  bool clips() const { return d_.workload.gradient_clipping; }
  bool has_master() const { return d_.workload.precision.has_master(); }
  static bool is_adam(const Op& op) { return body_of<Adam>(op) != nullptr; }

  // ---- tensors
  void place(Unit& unit, HostUnit& host) {
    const OffloadOptions& o = d_.strategy.offload;
    for (TensorId t : {unit.master, unit.moments[0], unit.moments[1]}) {
      if (t != kNoTensor) move(t, place_of(o.optimizer), host);
    }
    host.gradient = share_of(unit, unit.reduced_gradient(), true);
    if (unit.zero_stage >= 2) d_.tensors[unit.gradient_shard].persistent = false;
    if (unit.zero_stage < 3) {
      host.weight = share_of(unit, unit.weight_buffer, !has_master());
      host.on_device = unit.weight_buffer;
    } else if (unit.weight_shard == kNoTensor) {
      return;  // the master shard is gathered
    } else if (o.parameters != Offload::kNone) {
      host.weight = unit.weight_shard;
      move(unit.weight_shard, place_of(o.parameters), host);
    } else {
      host.weight = share_of(unit, unit.weight_shard, !has_master());
      host.on_device = unit.weight_shard;
    }
  }
  void move(TensorId t, Place place, HostUnit& host) {
    d_.tensors[t].place = place;
    if (place != Place::kStorage) return;
    host.staged.emplace_back(t, add_twin(d_, t, ".staged", Place::kHost, false));
  }
  /// In host memory, as much as this rank's optimizer state covers.
  TensorId share_of(const Unit& unit, TensorId tensor, bool persistent) {
    const TensorId twin = add_twin(d_, tensor, ".host", Place::kHost, persistent);
    d_.tensors[twin].dims = d_.tensors[unit.moments[0]].dims;
    return twin;
  }
  TensorId staged(const HostUnit& host, TensorId t) const {
    for (const auto& [stored, in_memory] : host.staged) {
      if (stored == t) return in_memory;
    }
    return t;
  }

  // ---- ops
  UnitKind unit_of(const Op& adam) const {
    for (UnitKind kind : kAllUnits) {
      const Unit& u = d_.unit(kind);
      if (u.present() && adam.operands.back().tensor == u.moments[1]) return kind;
    }
    PLAIT_CHECK(false, "an optimizer op without a unit");
  }
  void to_host(Op& op) {
    const UnitKind kind = unit_of(op);
    const Unit& unit = d_.unit(kind);
    const HostUnit& host = of(kind);
    op.stream = Stream::kHost;
    for (Operand& o : op.operands) {
      if (o.tensor == unit.reduced_gradient()) o.tensor = host.gradient;
      if (o.tensor == norm_) o.tensor = norm_host_;
      const bool weight = o.tensor == unit.weight_buffer || o.tensor == unit.weight_shard;
      if (weight) o = {host.weight, has_master() ? Use::kWrite : Use::kUpdate, 0};
      o.tensor = staged(host, o.tensor);
    }
  }
  /// Gradient shards are gone by the end of the step: their squares have been summed up before.
  void leave_out_shards(Block& block) {
    for (Op& op : block.ops) {
      SquaredNorm* squares = body_of<SquaredNorm>(op);
      if (squares == nullptr) continue;
      std::erase_if(op.operands, [&](const Operand& o) {
        if (!is_gradient_shard(o.tensor)) return false;
        squares->elements -= d_.tensors[o.tensor].elements(d_.mesh());
        op.operands[0].use = Use::kUpdate;
        return true;
      });
    }
    std::erase_if(block.ops,
                  [](const Op& op) { return op.operands.size() == 1 && is_squares(op); });
  }
  static bool is_squares(const Op& op) { return body_of<SquaredNorm>(op) != nullptr; }
  bool is_gradient_shard(TensorId t) const {
    return std::ranges::any_of(d_.units, [t](const Unit& u) {
      return u.present() && u.zero_stage >= 2 && u.gradient_shard == t;
    });
  }
  /// What device ops read of host memory or drives is copied in front of them.
  void fetch_parameters(Block& block) {
    bool fetches = false;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      if (is_adam(block.ops[i]) || std::holds_alternative<Copy>(block.ops[i].body)) continue;
      for (std::size_t k = 0; k < block.ops[i].operands.size(); ++k) {
        const Operand o = block.ops[i].operands[k];
        if (d_.tensors[o.tensor].place == Place::kDevice) continue;
        fetches = true;
        std::vector<Op> copies = fetched(block.ops[i].operands[k]);
        if (brings(block.ops[i])) {  // with the last of these it is done
          copies.back().operands[1] = block.ops[i].operands[1];
          block.ops[i] = copies.back(), copies.pop_back();
        }
        block.ops.insert(block.ops.begin() + static_cast<std::ptrdiff_t>(i), copies.begin(),
                         copies.end());
        i += copies.size();
      }
    }
    if (fetches) fit_sizes(d_, block);
  }
  /// A copy as it is (meet_alone.cpp).
  static bool brings(const Op& op) {
    const Cast* cast = body_of<Cast>(op);
    return cast != nullptr && cast->from == cast->to;
  }
  std::vector<Op> fetched(Operand& o) {
    std::vector<Op> copies;
    const auto step = [&](Stream stream, const char* suffix, Place to) {
      const TensorId there = add_twin(d_, o.tensor, suffix, to, false);
      d_.tensors[there].scope = Scope::kCall;
      copies.push_back(copy_op(stream, Phase::kParamGather, {o.tensor, Use::kRead, o.shift},
                               {there, Use::kWrite, 0}));
      o.tensor = there;
    };
    if (d_.tensors[o.tensor].place == Place::kStorage) {
      step(Stream::kStorageRead, ".read", Place::kHost);
    }
    step(Stream::kHostToDevice, ".staged", Place::kDevice);
    return copies;
  }

  // ---- blocks
  BlockId block(const char* name, std::vector<Op> ops) {
    return d_.add_block({name, std::move(ops)});
  }
  void add_blocks(UnitKind kind) {
    const Unit& unit = d_.unit(kind);
    HostUnit& host = of(kind);
    const TensorId gradient = unit.reduced_gradient();
    const Op leave = copy_op(Stream::kDeviceToHost, Phase::kGradSync, {gradient, Use::kRead, 0},
                             {host.gradient, Use::kWrite, 0});
    Block leaves{"offload.gradients", {}};
    if (unit.zero_stage < 2) sum_over_tp(d_, leaves, unit);
    leaves.ops.push_back(leave);
    host.leave = host.leave_last = d_.add_block(std::move(leaves));
    if (unit.zero_stage >= 2) {
      host.fetch = block("offload.fetch_gradients",
                         {copy_op(Stream::kHostToDevice, Phase::kGradSync,
                                  {host.gradient, Use::kRead, 0}, {gradient, Use::kWrite, 0})});
      if (clips()) {
        const SquaredNorm squares{d_.tensors[gradient].elements(d_.mesh()),
                                  d_.workload.precision.gradients};
        host.leave_last = block("offload.last_gradients",
                                {{Compute(squares),
                                  Stream::kGradSync,
                                  Phase::kOptimizer,
                                  {{norm_, Use::kUpdate, 0}, {gradient, Use::kRead, 0}}},
                                 leave});
      }
    }
    if (host.on_device != kNoTensor) {
      const bool whole = d_.tensors[host.on_device].elements(d_.mesh()) ==
                         d_.tensors[host.weight].elements(d_.mesh());
      host.weights =
          block("offload.weights",
                {copy_op(Stream::kHostToDevice, Phase::kOptimizer, {host.weight, Use::kRead, 0},
                         {host.on_device, whole ? Use::kWrite : Use::kUpdate, 0})});
    }
    if (!host.staged.empty()) add_storage_blocks(host);
  }
  void add_storage_blocks(HostUnit& host) {
    std::vector<Op> reads, writes;
    for (const auto& [stored, in_memory] : host.staged) {
      const bool made_here = stored == host.weight && has_master();
      if (!made_here) {
        reads.push_back(copy_op(Stream::kStorageRead, Phase::kOptimizer, {stored, Use::kRead, 0},
                                {in_memory, Use::kWrite, 0}));
      }
      writes.push_back(copy_op(Stream::kStorageWrite, Phase::kOptimizer, {in_memory, Use::kRead, 0},
                               {stored, Use::kWrite, 0}));
    }
    if (!reads.empty()) host.read = block("offload.read_optimizer", std::move(reads));
    host.write = block("offload.write_optimizer", std::move(writes));
  }
  void add_norm_blocks() {
    norm_leaves_ =
        block("offload.norm", {copy_op(Stream::kDeviceToHost, Phase::kOptimizer,
                                       {norm_, Use::kRead, 0}, {norm_host_, Use::kWrite, 0})});
    zero_norm_ = block("offload.zero_norm", {{Compute(Fill{0, d_.tensors[norm_].dtype}),
                                              Stream::kGradSync,
                                              Phase::kOptimizer,
                                              {{norm_, Use::kWrite, 0}}}});
  }

  // ---- programs
  void find_effects() {
    for (const Block& b : d_.blocks) effects_.push_back(effects_of(b));
  }
  Effects effects_of(const Block& block) const {
    Effects out;
    out.norm = clips() && block.name == "gradient_norm";
    for (const Op& op : block.ops) {
      if (is_adam(op)) {
        for (UnitKind kind : kAllUnits) {
          const HostUnit& host = host_[static_cast<std::size_t>(kind)];
          if (op.operands[0].tensor == host.gradient) out.adam = kind;
        }
      }
      out.computes = out.computes || op.stream == Stream::kCompute;
      for (const Operand& o : op.operands) {
        if (o.use != Use::kRead) note_gradient(out, o);
      }
    }
    return out;
  }
  void note_gradient(Effects& out, const Operand& o) const {
    const Tensor& t = d_.tensors[o.tensor];
    const TensorId root = t.is_view() ? t.storage : o.tensor;
    for (UnitKind kind : kAllUnits) {
      const Unit& u = d_.unit(kind);
      if (!u.present() || u.reduced_gradient() != root) continue;
      const bool known = std::ranges::any_of(
          out.gradients, [&](const Effect& e) { return e.kind == kind && e.shift == o.shift; });
      if (!known) out.gradients.push_back({kind, o.shift});
    }
  }
  static UnitInstance instance(const Effect& e, const Call& call) {
    return {e.kind, in_layers(e.kind) ? call.layer + e.shift : 0};
  }
  /// Units whose gradients nothing writes behind each call.
  std::vector<std::vector<UnitInstance>> last_writes(const Program& program) const {
    std::vector<std::vector<UnitInstance>> out(program.calls.size());
    UnitSet seen(d_);
    for (std::size_t i = program.calls.size(); i-- > 0;) {
      for (const Effect& e : effects_[program.calls[i].block].gradients) {
        const UnitInstance u = instance(e, program.calls[i]);
        if (seen.insert(u)) out[i].push_back(u);
      }
    }
    return out;
  }

  Program rewritten(const Program& program) {
    Program out;
    CallRewriter to(out);
    const auto last = last_writes(program);
    UnitSet on_host(d_);
    std::vector<UnitInstance> steps;
    for (const Call& c : program.calls) {
      if (const auto kind = effects_[c.block].adam) steps.push_back({*kind, c.layer});
    }
    std::size_t step = 0;
    const bool sums_early = clips() && d_.strategy.zero_stage >= 2;
    if (sums_early) to.add({*zero_norm_, 0, 0, 0, -1});
    Adams adams;
    for (std::size_t i = 0; i < program.calls.size(); ++i) {
      const Call& c = program.calls[i];
      const Effects& e = effects_[c.block];
      if (e.adam) {
        adam(to, c, steps, step++, adams);
        continue;
      }
      fetch_gradients(to, c, on_host);
      if (e.computes) adams.behind = to.next();
      to.keep(c);
      leave_gradients(to, c, last[i], on_host);
      if (e.norm) to.add({*norm_leaves_, 0, 0, 0, -1});
    }
    return out;
  }
  void fetch_gradients(CallRewriter& to, const Call& c, const UnitSet& on_host) {
    for (const Effect& e : effects_[c.block].gradients) {
      const UnitInstance u = instance(e, c);
      if (d_.unit(e.kind).zero_stage < 2 || !on_host.contains(u)) continue;
      to.add({*of(e.kind).fetch, c.chunk, u.layer, c.microbatch, -1});
    }
  }
  void leave_gradients(CallRewriter& to, const Call& c, const std::vector<UnitInstance>& last,
                       UnitSet& on_host) {
    for (const Effect& e : effects_[c.block].gradients) {
      const UnitInstance u = instance(e, c);
      const bool ends = std::ranges::find(last, u) != last.end();
      if (d_.unit(e.kind).zero_stage < 2 && !ends) continue;
      const HostUnit& host = of(e.kind);
      to.add({ends ? *host.leave_last : *host.leave, c.chunk, u.layer, c.microbatch, -1});
      on_host.insert(u);
    }
  }

  /// The optimizer's calls on the way. `behind`: of the step's last pass, which all of them follow.
  struct Adams {
    std::int32_t behind = -1;
    std::size_t read = 0;                // units whose state has been asked for
    std::vector<std::int32_t> finished;  // calls that wrote state back
  };
  void adam(CallRewriter& to, const Call& c, const std::vector<UnitInstance>& steps,
            std::size_t step, Adams& adams) {
    for (; adams.read < std::min(step + 2, steps.size()); ++adams.read) {
      const UnitInstance& u = steps[adams.read];
      if (!of(u.kind).read) continue;
      const std::size_t n = adams.finished.size();  // three units at a time are in memory
      const std::int32_t after = n >= 2 ? adams.finished[n - 2] : adams.behind;
      to.add({*of(u.kind).read, 0, u.layer, 0, after});
    }
    to.keep(c);
    if (to.last().after < 0) to.last().after = adams.behind;
    const HostUnit& host = of(steps[step].kind);
    if (host.weights) to.add({*host.weights, 0, c.layer, 0, -1});
    if (!host.write) return;
    adams.finished.push_back(to.next());
    to.add({*host.write, 0, c.layer, 0, -1});
  }

  Draft& d_;
  TensorId norm_, norm_host_ = kNoTensor;
  std::array<HostUnit, kUnitKinds> host_;
  std::optional<BlockId> norm_leaves_, zero_norm_;
  std::vector<Effects> effects_;
};

}  // namespace

void offload_state(Draft& d) { StateOffload(d).run(); }

}  // namespace plait
