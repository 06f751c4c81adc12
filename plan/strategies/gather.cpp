// Gathering of sharded weights (ZeRO-3, FSDP; Zhao et al. 2023, section 3): every unit is gathered
// before a call that reads it and freed behind it. Gathers run on their own stream, `prefetch` uses
// ahead; the one for use k may start only when use k - prefetch - 1 has finished, which bounds the
// memory held by gathered weights, and not before the unit's last use has. FSDP's root, all that is
// in no layer, stays whole until the backward pass has read it. In pipelines that reduce gradients
// once, nothing is freed behind a backward pass (NoSync). ZeRO-1 and -2 gather what the previous
// step's optimizer updated, at the start of the step when overlapping with the forward pass, else
// behind the optimizer. ZeRO++'s hpZ (Wang et al. 2023, section 3.2) has a forward gather leave a
// second shard, within the node, for the backward one.
#include <algorithm>
#include <array>

#include "plan/strategies/data_parallel.h"

namespace plait {
namespace {

Op all_gather(const Draft& d, AxisSet axes, TensorId buffer, std::vector<Operand> operands) {
  Collective c;
  c.kind = CollectiveKind::kAllGather;
  c.axes = axes;
  c.dtype = d.tensors[buffer].dtype;
  c.elements = d.tensors[buffer].elements(d.mesh());
  return {c, Stream::kParamGather, Phase::kParamGather, std::move(operands)};
}

void gather_shard(Draft& d, Block& block, AxisSet axes, TensorId shard, TensorId buffer) {
  if (d.strategy.zero_plus_plus.quantized_weights) {
    return gather_quantized(d, block, axes, shard, buffer);
  }
  block.ops.push_back(
      all_gather(d, axes, buffer, {{shard, Use::kRead, 0}, {buffer, Use::kWrite, 0}}));
}

/// From the servers.
Block pull_block(const Draft& d, const Unit& unit) {
  Op pull = all_gather(d, Axis::kDp, unit.weight_buffer,
                       {{unit.weight_shard, Use::kRead, 0}, {unit.weight_buffer, Use::kWrite, 0}});
  Collective& c = std::get<Collective>(pull.body);
  c.kind = CollectiveKind::kPull, c.servers = d.strategy.parameter_server.layout();
  return {"pull", {std::move(pull)}};
}

/// The master shard in the type that is gathered.
TensorId cast_shard(Draft& d, Block& block, const Unit& unit) {
  Tensor cast = d.tensors[unit.master];
  cast.name += ".cast", cast.dtype = weight_type(d, unit);
  cast.kind = TensorClass::kBuffer, cast.scope = Scope::kCall, cast.persistent = false;
  const TensorId shard = d.add(cast);
  if (unit.narrow && !scales_early(d)) {
    block.ops.push_back(find_magnitudes(unit, Stream::kParamGather, Phase::kParamGather));
    meet_one_by_one(d, block, unit);
  }
  block.ops.push_back(
      cast_master(d, unit, {shard, Use::kWrite, 0}, Stream::kParamGather, Phase::kParamGather));
  return shard;
}

Block gather_block(Draft& d, UnitKind kind) {
  const Unit& unit = d.unit(kind);
  if (d.strategy.parameter_server.any()) return pull_block(d, unit);
  Block block{"param_gather", {}};
  // What passes does not come and go with a stream of gathers, as ZeRO-3's does: the optimizer's
  // step allocates it, casts its share and sends that from where it lies.
  if (unit.passes) {
    block.ops.push_back(cast_master(d, unit, {unit.weight_buffer, Use::kWrite, 0}, Stream::kCompute,
                                    Phase::kParamGather));
  }
  if (unit.zero_stage == 0) return block;
  const bool in_place = unit.zero_stage < 3;  // its share is up to date there
  if (in_place) {
    block.ops.push_back(all_gather(d, unit.shard_axes, unit.weight_buffer,
                                   {{unit.weight_buffer, Use::kUpdate, 0}}));
    return block;
  }
  TensorId shard = unit.weight_shard;
  if (shard == kNoTensor) shard = cast_shard(d, block, unit);
  gather_shard(d, block, unit.shard_axes, shard, unit.gathers_into());
  if (unit.secondary_shard != kNoTensor) {
    const DType type = d.workload.precision.weights;
    block.ops.push_back(
        {Compute(Cast{0, type, type}),
         Stream::kParamGather,
         Phase::kParamGather,
         {{unit.gathers_into(), Use::kRead, 0}, {unit.secondary_shard, Use::kWrite, 0}}});
  }
  copy_arrived(d, block, unit);
  return block;
}

/// For the backward pass, from what the forward pass left within the node.
Block regather_block(Draft& d, UnitKind kind) {
  const Unit& unit = d.unit(kind);
  Block block{"param_gather.secondary", {}};
  gather_shard(d, block, unit.shard_axes - Axis::kDp, unit.secondary_shard, unit.gathers_into());
  copy_arrived(d, block, unit);
  return block;
}

/// One gather: for the call at index `call` of the program as it is.
struct Gather {
  std::size_t use;  // index among the calls that read weights
  UnitInstance unit;
  bool forward;  // for a forward pass
};

class GatherPlan {
 public:
  GatherPlan(const Draft& d, const Program& program) : d_(d), left_whole_(d) {
    UnitSet held(d), previous(d);
    std::array of_pass = {Latest(d), Latest(d)};  // backward, forward
    for (std::size_t i = 0; i < program.calls.size(); ++i) {
      const UnitList reads = unit_reads(d, program.calls[i]);
      if (reads.empty()) continue;
      const bool forward = is_forward(program.calls[i]);
      Latest& pass = of_pass[forward ? 1 : 0];
      pass.enter(program.calls[i].microbatch);
      for (const UnitInstance& u : reads) {
        if (d.unit(u.kind).zero_stage < 3) continue;
        const bool just_read = previous.contains(u) || pass.units.contains(u);
        if (!just_read && !stays(u, held, forward)) gathers.push_back({uses.size(), u, forward});
        held.insert(u);
        if (forward) {
          left_whole_.erase(u);
        } else {
          left_whole_.insert(u);
        }
        if (is_root(d_.strategy, u.kind)) root_is_done_with_ = !forward;
      }
      previous.clear(), pass.units.clear();
      for (const UnitInstance& u : reads) previous.insert(u), pass.units.insert(u);
      uses.push_back(i), read.push_back(reads);
    }
  }
  std::vector<std::size_t> uses;  // calls that read weights
  std::vector<UnitList> read;     // by each of these
  std::vector<Gather> gathers;

 private:
  /// What the latest call of a microbatch's forward or backward pass read; between two calls of it
  /// another pass may have its turn.
  struct Latest {
    explicit Latest(const Draft& d) : units(d) {}
    void enter(std::int32_t of) {
      if (of != microbatch) units.clear();
      microbatch = of;
    }
    UnitSet units;
    std::int32_t microbatch = -1;
  };
  bool is_forward(const Call& c) const {
    const Phase p = d_.blocks[c.block].ops.back().phase;
    return p == Phase::kForward;
  }
  /// Weights still there from an earlier use.
  bool stays(const UnitInstance& u, const UnitSet& held, bool forward) const {
    if (!held.contains(u)) return false;
    if (is_root(d_.strategy, u.kind)) return !forward || !root_is_done_with_;
    const bool pipelines = d_.mesh()[Axis::kPp] > 1;
    if (pipelines && d_.sums_whole_gradients() && left_whole_.contains(u)) return true;
    if (reshards(u)) return false;
    return pipelines || !forward;
  }
  bool reshards(const UnitInstance& u) const {
    const FsdpOptions& options = d_.strategy.fsdp;
    const bool last_layer = in_layers(u.kind) && u.layer == d_.model.layers - 1;
    return options.reshard_after_forward && (options.reshard_last_layer || !last_layer);
  }
  const Draft& d_;
  UnitSet left_whole_;              // the last use was a backward pass
  bool root_is_done_with_ = false;  // the backward pass of a microbatch has read it
};

}  // namespace

GatherBlocks add_gather_blocks(Draft& d) {
  GatherBlocks blocks{};
  for (UnitKind kind : kAllUnits) {
    if (!d.unit(kind).gathered()) continue;
    const auto k = static_cast<std::size_t>(kind);
    blocks.forward[k] = blocks.backward[k] = d.add_block(gather_block(d, kind));
    if (copies_out(d, d.unit(kind)))
      blocks.copy_out[k] = d.add_block(copy_out_block(d, d.unit(kind)));
    if (d.unit(kind).secondary_shard == kNoTensor) continue;
    blocks.backward[k] = d.add_block(regather_block(d, kind));
  }
  return blocks;
}

Call gather_call(const GatherBlocks& blocks, const UnitInstance& unit, bool forward) {
  const auto& of_pass = forward ? blocks.forward : blocks.backward;
  return {of_pass[static_cast<std::size_t>(unit.kind)], 0, unit.layer, 0, -1};
}

Program gather_before_use(const Draft& d, const GatherBlocks& blocks, const Program& program) {
  const GatherPlan plan(d, program);
  const auto ahead = static_cast<std::size_t>(std::max<std::int64_t>(0, d.strategy.fsdp.prefetch));
  Program out;
  std::size_t issued = 0, copied = 0, use = 0;
  std::int32_t behind = -1;  // what the next gathers start behind
  const auto microbatch_of = [&](const Gather& g) {
    return program.calls[plan.uses[g.use]].microbatch;
  };
  /// From the next use on: it is there as it was gathered last.
  const auto is_read_before = [&](const Gather& g) {
    for (std::size_t earlier = use; earlier < g.use; ++earlier) {
      const UnitList& units = plan.read[earlier];
      if (std::find(units.begin(), units.end(), g.unit) != units.end()) return true;
    }
    return false;
  };
  const auto issue = [&](std::size_t last_use) {
    for (; issued < plan.gathers.size() && plan.gathers[issued].use <= last_use; ++issued) {
      const Gather& g = plan.gathers[issued];
      if (is_read_before(g)) return;
      Call call = gather_call(blocks, g.unit, g.forward);
      call.microbatch = microbatch_of(g), call.after = behind;
      out.calls.push_back(call);
    }
  };
  const auto copy_out = [&] {  // which frees what the gathers after it fill
    for (; copied < issued && plan.gathers[copied].use <= use; ++copied) {
      const Gather& g = plan.gathers[copied];
      if (!copies_out(d, d.unit(g.unit.kind))) continue;
      behind = static_cast<std::int32_t>(out.calls.size());
      const BlockId block = blocks.copy_out[static_cast<std::size_t>(g.unit.kind)];
      out.calls.push_back({block, 0, g.unit.layer, microbatch_of(g), -1});
    }
  };
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    const bool reads = use < plan.uses.size() && plan.uses[use] == i;
    if (reads) {  // issued before use k: every gather for uses up to k + ahead
      issue(use);
      copy_out();
      issue(use + ahead);
      behind = static_cast<std::int32_t>(out.calls.size());
      ++use;
    }
    out.calls.push_back(program.calls[i]);
  }
  return out;
}

}  // namespace plait
