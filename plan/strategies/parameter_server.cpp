// Data parallelism by parameter servers (Li et al. 2014, OSDI; Jiang et al. 2020, BytePS, OSDI):
// each server keeps an equal share of every unit's weights and optimizer state. Workers push a
// unit's gradient when its last microbatch has completed it; the servers add what comes in, step
// the optimizer, and workers pull the weights for the next step: at its start, unit by unit beside
// the forward pass, or behind the optimizer without overlap.
//
//   staleness 0   the weights of step t are those behind all gradients up to t - 1: what one rank
//                 computes
//   staleness 1   the gradients of step t - 1 are pushed and applied while step t computes, with
//                 weights that lack them: the bound of Ho et al. 2013 (SSP, section 2), reached in
//                 every step, so that the interleaving is the same whatever the ranks' speeds. The
//                 first step pushes zeros
#include "plan/refusal.h"
#include "plan/strategies/call_rewriter.h"
#include "plan/strategies/data_parallel.h"

namespace plait {
namespace {

class Pushes {
 public:
  explicit Pushes(Draft& d) : d_(d), stale_(d.strategy.parameter_server.staleness > 0) {
    for (const UnitKind kind : kAllUnits) {
      if (!d.unit(kind).present()) continue;
      blocks_[static_cast<std::size_t>(kind)] = d.add_block(push_block(d.unit(kind)));
    }
  }

  Program added_to(const Program& program) const {
    return stale_ ? before(program) : behind(program);
  }

 private:
  /// What the step before has left, in the order in which this one needs the room.
  Program before(const Program& program) const {
    Program out;
    CallRewriter rewriter(out);
    UnitSet pushed(d_);
    for (const Call& call : program.calls) {
      for (const UnitInstance& u : unit_grades(d_, call)) {
        if (pushed.insert(u)) out.calls.push_back(push(u, {}));
      }
    }
    for (const Call& call : program.calls) rewriter.keep(call);
    return out;
  }
  /// Each unit when it is complete.
  Program behind(const Program& program) const {
    const std::vector<Ready> ready = completions(d_, program, false);
    Program out;
    CallRewriter rewriter(out);
    std::vector<Call> late;
    std::size_t next = 0;
    for (std::size_t i = 0; i < program.calls.size(); ++i) {
      rewriter.keep(program.calls[i]);
      if (next == ready.size() || ready[next].call != i) continue;
      std::vector<Call>& to = d_.strategy.data.overlap ? out.calls : late;
      for (const UnitInstance& u : ready[next].units) to.push_back(push(u, program.calls[i]));
      ++next;
    }
    const std::int32_t last = rewriter.next() - 1;
    for (Call& call : late) call.after = last, out.calls.push_back(call);
    return out;
  }
  Call push(const UnitInstance& u, const Call& at) const {
    return {blocks_[static_cast<std::size_t>(u.kind)], at.chunk, u.layer, at.microbatch, -1};
  }

  /// Gradients travel, and are added, in the type of workload.precision.reduction.
  Block push_block(const Unit& unit) {
    Block block{"push", {}};
    const Precision& p = d_.workload.precision;
    TensorId from = unit.gradient_buffer, to = unit.gradient_shard;
    if (p.reduction != p.gradients) {
      from = on_the_wire(from), to = on_the_wire(to);
      cast(block, unit.gradient_buffer, from);
    }
    Collective c;
    c.kind = CollectiveKind::kPush, c.axes = Axis::kDp;
    c.dtype = d_.tensors[from].dtype, c.elements = d_.tensors[from].elements(d_.mesh());
    c.servers = d_.strategy.parameter_server.layout();
    add(block, c, {{from, Use::kRead, 0}, {to, Use::kWrite, 0}});
    if (to != unit.gradient_shard) cast(block, to, unit.gradient_shard);
    if (!stale_) return block;
    const Fill zeros{0, d_.tensors[unit.gradient_buffer].dtype};
    add(block, Compute(zeros), {{unit.gradient_buffer, Use::kWrite, 0}});
    return block;
  }
  TensorId on_the_wire(TensorId of) {
    Tensor t = d_.tensors[of];
    t.name += ".wire", t.dtype = d_.workload.precision.reduction;
    t.kind = TensorClass::kBuffer, t.scope = Scope::kCall, t.persistent = false;
    return d_.add(t);
  }
  void cast(Block& block, TensorId from, TensorId to) const {
    const Cast body{0, d_.tensors[from].dtype, d_.tensors[to].dtype};
    add(block, Compute(body), {{from, Use::kRead, 0}, {to, Use::kWrite, 0}});
  }
  static void add(Block& block, const Body& body, std::vector<Operand> operands) {
    block.ops.push_back({body, Stream::kGradSync, Phase::kGradSync, std::move(operands)});
  }

  Draft& d_;
  bool stale_;
  std::array<BlockId, kUnitKinds> blocks_ = {};
};

}  // namespace

void push_gradients(Draft& d, Program& program) { program = Pushes(d).added_to(program); }

void require_parameter_server(const Strategy& s) {
  const ParameterServerOptions& o = s.parameter_server;
  if (!o.any()) {
    if (!o.dedicated && o.staleness == 0) return;
    throw refusal("S110", "there are no parameter servers", "strategy.parameter_server.servers",
                  "1 or more", "set it, or remove strategy.parameter_server");
  }
  const std::int64_t members = s.mesh[Axis::kDp], workers = o.layout().workers(members);
  if (s.mesh.world_size() != members || s.zero_stage > 0 || s.offload.any()) {
    throw refusal("S111", "parameter servers are planned for data parallelism alone",
                  "strategy.parameter_server",
                  "pp, fsdp, cp, ep and tp of 1, zero_stage 0 and no offload",
                  "set these so, or remove strategy.parameter_server",
                  {"strategy.pp", "strategy.fsdp", "strategy.cp", "strategy.ep", "strategy.tp",
                   "strategy.zero_stage", "strategy.offload"});
  }
  if (o.servers > workers || members < 2) {
    throw refusal(
        "S112", std::to_string(o.servers) + " servers for " + std::to_string(workers) + " workers",
        "strategy.parameter_server.servers", "at most strategy.dp of them, and two ranks or more",
        "set strategy.parameter_server.servers to strategy.dp or less", {"strategy.dp"});
  }
  if (o.staleness > 1) {
    throw refusal("S113", "a staleness of " + std::to_string(o.staleness) + " steps",
                  "strategy.parameter_server.staleness",
                  "0 or 1: a step hides the messages of the one before, and has none to hide more",
                  "set it to 1");
  }
}

}  // namespace plait
