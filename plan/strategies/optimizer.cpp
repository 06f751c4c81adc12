// The end of a step: what is still owed to gradients is paid, the global gradient norm is formed
// (Pascanu et al. 2013), Adam (Kingma and Ba 2015) updates this rank's share, of which weights that
// are kept narrow are made (narrow_weights.cpp), and ZeRO-1 and -2 without overlap of gathers
// gather the new weights. At the start of a step accumulated gradients are set to zero.
#include <map>

#include "plan/strategies/data_parallel.h"
#include "plan/strategies/stage_tp.h"

namespace plait {
namespace {

class StepEnd {
 public:
  explicit StepEnd(Draft& d)
      : d_(d),
        stage_(d.strategy.zero_stage),
        served_(d.strategy.parameter_server.any()),
        gathers_late_((gathers_updates(stage_) || served_) && !d.strategy.data.gathers_ahead()) {
    Tensor norm;
    norm.name = "gradient_norm", norm.dims[0] = Dim{1}, norm.rank = 1, norm.dtype = DType::kFp32;
    norm.kind = TensorClass::kBuffer, norm.scope = Scope::kRole;
    if (served_) norm.holders = Holders::kAll;
    norm_ = d.gradient_norm = d.add(norm);
    for (UnitKind kind : kAllUnits) {
      const Unit& unit = d.unit(kind);
      if (!unit.present() || !unit.trained()) continue;
      const auto k = static_cast<std::size_t>(kind);
      adam_[k] = d.add_block(adam(unit));
      if (starts_from_zero(unit)) zero_[k] = d.add_block(zero(unit));
      if (!unit.narrow) continue;
      if (unit.zero_stage < 3 || scales_early(d)) magnitudes_[k] = d.add_block(magnitudes(unit));
      if (unit.zero_stage < 3) narrow_[k] = d.add_block(narrow(unit));
    }
    if (gathers_late_) gathers_ = add_gather_blocks(d);
  }

  Program write(const Program& program, const std::vector<UnitInstance>& units, bool shares) {
    Program out;
    out.calls.reserve(program.calls.size() + 2 * units.size() + 4);
    for (const UnitInstance& u : units) {
      if (starts_from_zero(d_.unit(u.kind))) out.calls.push_back(call(zero_, u));
    }
    const auto shift = static_cast<std::int32_t>(out.calls.size());
    for (Call c : program.calls) {
      if (c.after >= 0) c.after += shift;
      out.calls.push_back(c);
    }
    if (stage_ < 2 && !d_.strategy.offload.state()) sum_at_once_over_tp(out, units);
    if (shares) sum_over_ends(out, units);
    if (d_.workload.gradient_clipping) global_norm(out, units);
    for (const UnitInstance& u : units) out.calls.push_back(call(adam_, u));
    make_narrow_weights(out, units);
    if (gathers_late_) {
      for (const UnitInstance& u : units) {
        const Unit& unit = d_.unit(u.kind);  // what passes does so when the next step begins
        if (unit.gathered() && !unit.passes) out.calls.push_back(gather_call(gathers_, u));
      }
    }
    return out;
  }

 private:
  using UnitBlocks = std::array<BlockId, kUnitKinds>;
  static Call call(const UnitBlocks& blocks, const UnitInstance& u) {
    return {blocks[static_cast<std::size_t>(u.kind)], 0, u.layer, 0, -1};
  }
  /// Stale gradients are set to zero when they have been pushed.
  bool starts_from_zero(const Unit& unit) const {
    const bool adds_up = unit.zero_stage < 2 || d_.sums_whole_gradients();
    return adds_up && d_.strategy.parameter_server.staleness == 0;
  }
  Block zero(const Unit& unit) const {
    const TensorId g = unit.gradient_buffer;
    return {"zero_gradients",
            {{Compute(Fill{0, d_.tensors[g].dtype}),
              Stream::kCompute,
              Phase::kOptimizer,
              {{g, Use::kWrite, 0}}}}};
  }
  Block adam(const Unit& unit) const {
    const Precision& p = d_.workload.precision;
    Adam body;
    body.weight = p.weights, body.grad = p.gradients, body.master = p.master,
    body.moments = p.moments, body.split = p.split_master && !p.keeps_narrow();
    std::vector<Operand> o = {{unit.reduced_gradient(), Use::kRead, 0}};
    if (d_.workload.gradient_clipping) o.push_back({norm_, Use::kRead, 0});
    const bool whole = unit.zero_stage < 3 && !served_ && !unit.narrow && !unit.passes;
    if (whole) o.push_back({unit.weight_buffer, Use::kUpdate, 0});
    if (unit.weight_shard != kNoTensor) o.push_back({unit.weight_shard, Use::kUpdate, 0});
    if (unit.weight_shard == kNoTensor && !whole) body.weight = p.master;
    if (unit.master != kNoTensor) o.push_back({unit.master, Use::kUpdate, 0});
    for (TensorId m : unit.moments) o.push_back({m, Use::kUpdate, 0});
    return {"optimizer", {{Compute(body), Stream::kCompute, Phase::kOptimizer, std::move(o)}}};
  }
  Block magnitudes(const Unit& unit) const {
    return {"magnitudes", {find_magnitudes(unit, Stream::kCompute, Phase::kOptimizer)}};
  }
  /// This rank's share, in place.
  Block narrow(const Unit& unit) const {
    return {"narrow_weights",
            {cast_master(d_, unit, {unit.weight_buffer, Use::kUpdate, 0}, Stream::kCompute,
                         Phase::kOptimizer)}};
  }
  /// Of what Adam has updated: magnitudes of all weights, which ranks with other shares have in one
  /// message, and the casts; of zero_stage 3 the magnitudes alone, unless gathers find theirs.
  void make_narrow_weights(Program& out, const std::vector<UnitInstance>& units) {
    std::vector<UnitInstance> narrow, of_experts;  // which are sharded over other ranks
    for (const UnitInstance& u : units) {
      const Unit& unit = d_.unit(u.kind);
      if (!unit.narrow || (unit.zero_stage == 3 && !scales_early(d_))) continue;
      (u.kind == UnitKind::kExperts ? of_experts : narrow).push_back(u);
      out.calls.push_back(call(magnitudes_, u));
    }
    for (const std::vector<UnitInstance>* group : {&narrow, &of_experts}) {
      if (group->empty()) continue;
      meet_at_once(out, *group);
    }
    for (const UnitInstance& u : units) {
      const Unit& unit = d_.unit(u.kind);
      if (unit.narrow && unit.zero_stage < 3) out.calls.push_back(call(narrow_, u));
    }
  }
  void meet_at_once(Program& out, const std::vector<UnitInstance>& units) {
    const Unit& first = d_.unit(units.front().kind);
    if (first.zero_stage == 0) return;  // every rank has all
    Collective c;
    c.axes = first.shard_axes, c.reduction = Reduction::kMax, c.dtype = DType::kFp32;
    std::vector<Operand> operands;
    const std::int32_t layer = first_layer(units);
    for (const UnitInstance& u : units) {
      const TensorId m = d_.unit(u.kind).magnitudes;
      operands.push_back({m, Use::kUpdate, shift(u, layer)});
      c.elements += d_.tensors[m].elements(d_.mesh());
    }
    append(out, "all_magnitudes", {c, Stream::kGradSync, Phase::kOptimizer, std::move(operands)},
           layer);
  }
  /// Norm gradients from sequence shards, all layers in one message as Megatron-LM does. Those that
  /// leave the device are summed unit by unit before (offload_state.cpp).
  void sum_at_once_over_tp(Program& out, const std::vector<UnitInstance>& units) {
    Collective c;
    c.axes = d_.mesh().present(kTensorAxes);
    std::vector<Operand> operands;
    const std::int32_t layer = first_layer(units);
    for (const UnitInstance& u : units) {
      for (TensorId g : d_.unit(u.kind).gradients) {
        const Tensor& t = d_.tensors[g];
        if (!t.partial.has(Axis::kTp)) continue;
        operands.push_back({g, Use::kUpdate, shift(u, layer)});
        c.elements += t.elements(d_.mesh()), c.dtype = t.dtype;
      }
    }
    if (operands.empty()) return;
    append(out, "norm_gradients", {c, Stream::kTp, Phase::kGradSync, std::move(operands)}, layer);
  }
  /// First and last stage each hold the tied matrix, or the embedding; their gradients are summed.
  void sum_over_ends(Program& out, const std::vector<UnitInstance>& units) {
    for (const UnitInstance& u : units) {
      if (in_layers(u.kind)) continue;
      const Unit& unit = d_.unit(u.kind);
      for (TensorId g : unit.gradients) {
        if (!d_.tensors[g].counted_once.has(Axis::kPp)) continue;
        if (unit.zero_stage >= 2) g = unit.gradient_shard;  // the embedding alone is in its unit
        Collective c;
        c.axes = Axis::kPp, c.stages = Stages::kEnds;
        c.dtype = d_.tensors[g].dtype;
        c.elements = d_.tensors[g].elements(d_.mesh());
        append(out, tied_apart(d_) ? "tied_gradients" : "embedding_gradients",
               {c, Stream::kGradSync, Phase::kGradSync, {{g, Use::kUpdate, 0}}}, 0);
      }
    }
  }
  /// Each rank sums over its share of every unit, without the elements that another rank counts
  /// (Tensor::counted_once). Ranks along dp hold and sum the same, so the sum does not run over dp
  /// unless zero_stage shards over it.
  void global_norm(Program& out, const std::vector<UnitInstance>& units) {
    const std::int32_t layer = first_layer(units);
    SquaredNorm body{0, d_.workload.precision.gradients};
    std::vector<Operand> o = {{norm_, Use::kWrite, 0}};
    for (const UnitInstance& u : units) {
      const Unit& unit = d_.unit(u.kind);
      o.push_back({unit.reduced_gradient(), Use::kRead, shift(u, layer)});
      body.elements += d_.tensors[unit.moments[0]].elements(d_.mesh());  // this rank's share
    }
    Block block{"gradient_norm", {}};
    if (served_) {  // those that serve nothing add nothing
      o[0].use = Use::kUpdate;
      block.ops.push_back({Compute(Fill{0, DType::kFp32}),
                           Stream::kCompute,
                           Phase::kOptimizer,
                           {{norm_, Use::kWrite, 0}}});
    }
    block.ops.push_back({Compute(body), Stream::kCompute, Phase::kOptimizer, std::move(o)});
    AxisSet axes = d_.mesh().present(kTensorAxes | Axis::kPp);
    if (stages_differ(d_.strategy)) axes = axes | Axis::kTp;  // of which this stage may have one
    if (d_.unit(UnitKind::kExperts).present()) {              // other experts on other ranks
      for (Axis a : {Axis::kCp, Axis::kUlysses, Axis::kEp}) {
        if (d_.mesh()[a] > 1 && d_.strategy.axes_of_experts().has(a)) axes = axes | a;
      }
    }
    if (stage_ > 0) axes = axes | d_.strategy.shard_axes();
    if (d_.strategy.parameter_server.servers > 1) axes = axes | Axis::kDp;  // one has all shares
    if (!axes.empty()) {
      Collective c;
      c.axes = axes, c.dtype = DType::kFp32, c.elements = 1;
      block.ops.push_back({c, Stream::kGradSync, Phase::kOptimizer, {{norm_, Use::kUpdate, 0}}});
    }
    append(out, std::move(block), layer);
  }
  static std::int32_t first_layer(const std::vector<UnitInstance>& units) {
    for (const UnitInstance& u : units) {
      if (in_layers(u.kind)) return u.layer;
    }
    return 0;
  }
  static std::int16_t shift(const UnitInstance& u, std::int32_t layer) {
    return static_cast<std::int16_t>(in_layers(u.kind) ? u.layer - layer : 0);
  }
  void append(Program& out, const char* name, Op op, std::int32_t layer) {
    append(out, Block{name, {std::move(op)}}, layer);
  }
  /// Stages that hold the same units relative to their first layer share the block.
  void append(Program& out, Block block, std::int32_t layer) {
    std::vector<std::int32_t> key;
    for (const Op& op : block.ops) {
      for (const Operand& o : op.operands) key.push_back(o.tensor), key.push_back(o.shift);
    }
    const auto found = known_.find({block.name, key});
    BlockId id;
    if (found != known_.end()) {
      id = found->second;
    } else {
      const std::string name = block.name;
      id = known_[{name, key}] = d_.add_block(std::move(block));
    }
    out.calls.push_back({id, 0, layer, 0, -1});
  }

  Draft& d_;
  int stage_;
  bool served_;        // by parameter servers
  bool gathers_late_;  // without overlap: ZeRO-1 and -2, and from servers
  TensorId norm_ = kNoTensor;
  UnitBlocks adam_{}, zero_{}, magnitudes_{}, narrow_{};
  GatherBlocks gathers_{};
  std::map<std::pair<std::string, std::vector<std::int32_t>>, BlockId> known_;
};

std::vector<UnitInstance> trained(const Draft& d, std::vector<UnitInstance> units) {
  std::erase_if(units, [&d](const UnitInstance& u) { return !d.unit(u.kind).trained(); });
  return units;
}

}  // namespace

void apply_optimizer(Draft& d) {
  StepEnd end(d);
  const std::size_t stages = d.programs.size();
  for (std::size_t i = 0; i < stages; ++i) {
    const bool is_end = i == 0 || i + 1 == stages;
    const bool shares = is_end && (tied_apart(d) || embeds_twice(d));
    d.programs[i] = end.write(d.programs[i], trained(d, d.program_units[i]), shares);
  }
}

}  // namespace plait
