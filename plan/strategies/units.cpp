// Units of parameters: their flat buffers, their optimizer state, who uses them.
//
// Bytes per parameter on each of n ranks of the shard axis, with Megatron's mixed precision
// (weights 2, gradients 4, master 4, moments 4 + 4; Rajbhandari et al. 2020, section 3.1, counts
// gradients as 2):
//   stage 0: 18      stage 1: 6 + 12/n      stage 2: 2 + 16/n      stage 3: 16/n, 18/n with a
//   weight shard
#include <algorithm>
#include <set>

#include "plan/calls_met.h"
#include "plan/refusal.h"
#include "plan/schedule.h"
#include "plan/strategies/data_parallel.h"
#include "plan/strategies/require_sharding.h"
#include "plan/unit_names.h"

namespace plait {
namespace {

/// What products write where gradients are sharded.
DType written_gradients(const Draft& d) {
  const Precision& p = d.workload.precision;
  return d.strategy.copies_gradients() ? p.weights : p.reduction;
}

static_assert(kUnitNames.size() == kUnitKinds);

std::string_view name_of(const Draft& d, UnitKind kind) {
  return is_root(d.strategy, kind) ? kRootName : kUnitNames[static_cast<std::size_t>(kind)];
}

class Packer {
 public:
  Packer(Draft& d, UnitKind kind)
      : d_(d),
        unit_(d.unit(kind)),
        name_(name_of(d, kind)),
        in_layers_(in_layers(kind)),
        stage_(unit_.zero_stage) {
    const AxisSet shard = stage_ > 0 ? unit_.shard_axes : AxisSet();
    std::int64_t n = 0;
    for (TensorId w : unit_.weights) n += d.tensors[w].elements(d.mesh());
    const std::int64_t servers = d.strategy.parameter_server.servers;
    whole_ = Dim{round_up(n, servers > 0 ? servers : d.mesh().size_of(shard))};
    share_ = servers > 0 ? Dim{whole_.global / servers} : Dim{whole_.global, shard};
  }

  void pack() { unit_.trained() ? pack_trained() : pack_frozen(); }

 private:
  void pack_trained() {
    const Precision& p = d_.workload.precision;
    const bool served = d_.strategy.parameter_server.any();
    const bool sharded_weights = stage_ == 3, sharded_gradients = stage_ >= 2;
    const bool afresh = sharded_gradients && !d_.sums_whole_gradients();
    unit_.weight_buffer = flat(".weights", whole_, weight_type(d_, unit_), TensorClass::kWeight,
                               !sharded_weights && !unit_.passes);
    const DType sums = type_of_whole_sums(d_.strategy.fsdp.copies, stage_, p);
    const DType written = afresh ? written_gradients(d_) : sums;
    unit_.gradient_buffer = flat(".gradients", whole_, written, TensorClass::kGradient, !afresh);
    view(unit_.weights, unit_.weight_buffer);
    view(unit_.gradients, unit_.gradient_buffer);
    mark_copies();
    if (sharded_gradients || served) {
      unit_.gradient_shard = share(".gradient_shard", p.gradients, TensorClass::kGradient);
    }
    if (afresh) {
      per_microbatch(unit_.gradient_buffer);
      for (TensorId g : unit_.gradients) per_microbatch(g);
    }
    const bool has_master = p.has_master() || unit_.narrow || unit_.passes;
    if (served || (sharded_weights && (d_.strategy.keep_weight_shard || !has_master))) {
      unit_.weight_shard = share(".weight_shard", p.weights, TensorClass::kWeight);
    }
    if (sharded_weights && d_.strategy.zero_plus_plus.secondary_shard) {
      const Dim within{whole_.global, unit_.shard_axes - Axis::kDp};
      unit_.secondary_shard =
          flat(".secondary_shard", within, p.weights, TensorClass::kWeight, true);
    }
    add_copy_buffers(d_, unit_);
    // Narrow weights are no upper halves, and one master is of one kind for all (NeMo r1.23,
    // megatron_gpt_model.py, setup_optimization: store_params where there are fp8_params).
    const DType master = p.keeps_narrow() ? p.master : p.kept_master();
    if (has_master) unit_.master = share(".master", master, TensorClass::kOptimizer);
    if (unit_.narrow) add_magnitudes(d_, unit_);
    unit_.moments[0] = share(".moment1", p.moments, TensorClass::kOptimizer);
    unit_.moments[1] = share(".moment2", p.moments, TensorClass::kOptimizer);
  }
  /// Weights alone, of which zero_stage 3 leaves a rank its share.
  void pack_frozen() {
    const DType weights = weight_type(d_, unit_);
    const bool sharded = stage_ == 3;
    unit_.weight_buffer = flat(".weights", whole_, weights, TensorClass::kWeight, !sharded);
    view(unit_.weights, unit_.weight_buffer);
    mark_copies();
    if (!sharded) return;
    unit_.weight_shard = share(".weight_shard", weights, TensorClass::kWeight);
    add_copy_buffers(d_, unit_);
  }
  TensorId flat(const char* what, Dim dim, DType dtype, TensorClass kind, bool persistent) {
    Tensor t;
    t.name = name_ + what;
    t.dims[0] = dim, t.rank = 1;
    t.dtype = dtype, t.kind = kind, t.persistent = persistent;
    t.scope = in_layers_ ? Scope::kLayer : Scope::kRole;
    return d_.add(t);
  }
  /// What a rank, or a server, has of the unit.
  TensorId share(const char* what, DType dtype, TensorClass kind) {
    const TensorId id = flat(what, share_, dtype, kind, true);
    if (d_.strategy.parameter_server.any()) d_.tensors[id].holders = Holders::kServers;
    return id;
  }
  void view(const std::vector<TensorId>& parts, TensorId buffer) {
    std::int64_t offset = 0;
    for (TensorId part : parts) {
      Tensor& t = d_.tensors[part];
      t.storage = buffer, t.offset = offset, t.dtype = d_.tensors[buffer].dtype;
      offset += t.elements(d_.mesh());
    }
  }
  /// What tp leaves whole stands on each of its ranks, a tied matrix on the first and the last
  /// stage, as an embedding that both look up, and everything on two stages where microbatches go
  /// both ways.
  void mark_copies() {
    const bool two_copies = tied_apart(d_);
    for (std::size_t i = 0; i < unit_.weights.size(); ++i) {
      const Tensor& weight = d_.tensors[unit_.weights[i]];
      AxisSet copies = d_.mesh().present(kTensorAxes);
      for (const Dim& dim : weight.dims) copies = copies - dim.sharded;
      // The norm runs over ranks with other experts, which hold the rest of the model alike.
      for (Axis a : {Axis::kCp, Axis::kUlysses, Axis::kEp}) {
        const bool apart =
            d_.strategy.axes_of_experts().has(a) && d_.unit(UnitKind::kExperts).present();
        if (apart && stage_ == 0 && unit_.data_axes.has(a)) copies = copies | a;
      }
      const bool table = weight.name == "embedding.weight";
      const bool tied = table || weight.name == "output.weight";
      const bool mirrored = both_ways(d_.strategy);
      if (mirrored || (two_copies && tied) || (embeds_twice(d_) && table)) {
        copies = copies | Axis::kPp;
      }
      const auto mark = [&](TensorId t) {
        d_.tensors[t].counted_once = copies;
        if (mirrored) d_.tensors[t].copies = Stages::kMirrored;
      };
      mark(unit_.weights[i]);
      if (unit_.trained()) mark(unit_.gradients[i]);
    }
  }
  void per_microbatch(TensorId t) {
    d_.tensors[t].scope = in_layers_ ? Scope::kLayerMicrobatch : Scope::kMicrobatch;
  }

  Draft& d_;
  Unit& unit_;
  std::string name_;
  bool in_layers_;
  int stage_;
  Dim whole_, share_;
};

UnitList instances(std::uint32_t mask, std::int32_t layer) {
  UnitList out;
  for (UnitKind kind : kAllUnits) {
    if ((mask >> static_cast<unsigned>(kind) & 1U) == 0) continue;
    out.units[out.count++] = {kind, in_layers(kind) ? layer : 0};
  }
  return out;
}

/// Lower halves of the master weights complete the weights that a rank has.
void require_weights_to_split(const Draft& d) {
  const Precision& p = d.workload.precision;
  if (!p.split_master || p.keeps_narrow()) return;
  const bool halves = p.weights == DType::kBf16 && p.master == DType::kFp32;
  const bool beside = !d.strategy.offload.state() && !d.strategy.parameter_server.any();
  if (halves && beside && d.strategy.zero_stage < 3) return;
  throw refusal("S070", "lower halves of the master weights need the weights as their upper ones",
                "workload.precision.split_master",
                "bf16 weights on the device, an fp32 master, zero_stage below 3",
                "remove workload.precision.split_master",
                {"workload.precision.weights", "workload.precision.master", "strategy.zero_stage",
                 "strategy.offload", "strategy.parameter_server"});
}

/// The buffer is one of a unit whose gradients are sharded.
bool is_sharded(const Draft& d, TensorId buffer) {
  return std::any_of(d.units.begin(), d.units.end(), [buffer](const Unit& u) {
    return u.gradient_buffer == buffer && u.zero_stage >= 2;
  });
}

/// Gradients that rows are added to, token by token: of the tables that tokens and positions are
/// looked up in.
std::set<TensorId> scattered_gradients(const Draft& d) {
  std::set<TensorId> out;
  for (const Op& op : d.embed_backward.ops) {
    if (body_of<Embedding>(op) == nullptr) continue;
    for (const Operand& o : op.operands) {
      if (d.tensors[o.tensor].kind == TensorClass::kGradient) out.insert(o.tensor);
    }
  }
  return out;
}

/// Zeros to begin with, all at once where they are all that the buffer has.
Op start_from_zero(const Draft& d, const std::set<TensorId>& gradients) {
  const Unit& unit = d.unit(UnitKind::kEmbedding);
  Op fill{Compute(Fill{0, written_gradients(d)}), Stream::kCompute, Phase::kBackward, {}};
  if (gradients.size() == unit.gradients.size()) {
    fill.operands.push_back({unit.gradient_buffer, Use::kWrite, 0});
  } else {
    for (TensorId g : gradients) fill.operands.push_back({g, Use::kWrite, 0});
  }
  return fill;
}

/// The embedding's gradient is scattered into, so it starts from zero: in front of the head where
/// that is tied to it, or modules behind the head look up tokens; and where the pass of the
/// embedding's piece is not behind the head's. There a norm of the embedding starts from zero too,
/// since behind the head's pass no other writes its gradient.
void start_tables_from_zero(Draft& d, const std::set<TensorId>& tables) {
  if (!d.unit(UnitKind::kEmbedding).trained()) return;
  const bool looked_up = d.model.mtp_layers > 0 && !d.model.tied_embeddings;
  const bool shared = looked_up || (d.model.tied_embeddings && !tied_apart(d));
  const auto start = [&](Block& block, const std::set<TensorId>& gradients) {
    block.ops.insert(block.ops.begin(), start_from_zero(d, gradients));
  };
  const std::vector<TensorId>& own = d.unit(UnitKind::kEmbedding).gradients;
  const bool apart = ends_pass_apart(d);
  if (shared) start(d.head_backward, apart ? std::set(own.begin(), own.end()) : tables);
  if (!shared || embeds_twice(d) || apart) start(d.embed_backward, tables);
}

/// With sharded gradients each microbatch writes its own buffer, so nothing accumulates into it.
void write_gradients_afresh(Draft& d) {
  const std::set<TensorId> tables = scattered_gradients(d);
  const TensorId of_head = d.unit(head_unit(d.strategy)).gradient_buffer;
  d.for_each_block([&](Block& block) {
    std::set<TensorId> made;  // in this block
    for (Op& op : block.ops) {
      bool added = false, sharded = false;
      for (Operand& o : op.operands) {
        const Tensor& t = d.tensors[o.tensor];
        if (t.kind != TensorClass::kGradient || o.use != Use::kUpdate) continue;
        sharded = is_sharded(d, t.storage);
        if (!sharded) continue;
        // The output matrix's is written by the model's head, which comes before the others.
        const bool again = &block == &d.mtp_head.backward && t.storage == of_head;
        added = !made.insert(o.tensor).second || again || tables.contains(o.tensor);
        if (!added) o.use = Use::kWrite;
      }
      if (Cast* c = body_of<Cast>(op); c != nullptr && sharded) {
        c->to = written_gradients(d), c->accumulate = added;
      }
      if (Embedding* e = body_of<Embedding>(op)) e->accumulate = !sharded;
      MatMul* g = body_of<MatMul>(op);
      if (g != nullptr && g->pass == Pass::kWeightGrad && sharded) {
        g->out = written_gradients(d);
        g->accumulate = added;
      }
    }
  });
  start_tables_from_zero(d, tables);
}

/// Without synchronization all microbatches add to one buffer, in a type of its own.
void add_gradients_in(Draft& d, DType type) {
  const auto is_of_shards = [&d](const Operand& o) {
    const Tensor& t = d.tensors[o.tensor];
    return t.kind == TensorClass::kGradient && o.use != Use::kRead && is_sharded(d, t.storage);
  };
  d.for_each_block([&](Block& block) {
    for (Op& op : block.ops) {
      if (std::ranges::none_of(op.operands, is_of_shards)) continue;
      if (Cast* c = body_of<Cast>(op)) c->to = type;
      if (MatMul* g = body_of<MatMul>(op)) g->out = type;
      if (BiasGrad* g = body_of<BiasGrad>(op)) g->grad_dtype = type;
      if (Embedding* e = body_of<Embedding>(op)) e->grad_dtype = type;
    }
  });
}

}  // namespace

AxisSet data_axes(const Draft& d) {
  AxisSet axes;
  for (Axis a : {Axis::kDp, Axis::kFsdp, Axis::kCp, Axis::kUlysses, Axis::kEp}) {
    if (d.mesh()[a] > 1) axes = axes | a;
  }
  return axes;
}

UnitKind head_unit(const Strategy& s) {
  const bool root = s.fsdp.root && s.zero_stage == 3 && s.mesh[Axis::kPp] == 1;
  return root ? UnitKind::kEmbedding : UnitKind::kHead;
}

bool tied_apart(const Draft& d) { return d.model.tied_embeddings && !ends_meet(d.strategy); }

bool embeds_twice(const Draft& d) {
  return d.model.mtp_layers > 0 && !d.model.tied_embeddings && !ends_meet(d.strategy);
}

bool ends_pass_apart(const Draft& d) { return d.mesh()[Axis::kPp] > 1 && ends_meet(d.strategy); }

DType weight_type(const Draft& d, const Unit& unit) {
  const Precision& p = d.workload.precision;
  if (unit.quantized) return DType::kNf4;
  return unit.narrow ? p.products() : p.weights;
}

void pack_units(Draft& d) {
  require_sharding(d);
  require_weights_to_split(d);
  for (UnitKind kind : kAllUnits) {
    Unit& unit = d.unit(kind);
    if (!unit.present()) continue;
    const AxisSet apart = kind == UnitKind::kExperts ? d.strategy.axes_of_experts() : AxisSet();
    unit.data_axes = data_axes(d) - apart;
    unit.shard_axes = d.strategy.shard_axes() - apart;
    const bool parts = d.mesh().size_of(unit.shard_axes) > 1 || d.strategy.fetches_shards();
    unit.zero_stage = parts ? d.strategy.zero_stage : 0;
    if (!unit.trained() && unit.zero_stage < 3) unit.zero_stage = 0;  // which shards no weights
    Packer(d, kind).pack();
  }
  if (d.strategy.zero_stage < 2) return;
  if (!d.sums_whole_gradients()) return write_gradients_afresh(d);
  const Precision& p = d.workload.precision;
  const DType sums = type_of_whole_sums(d.strategy.fsdp.copies, d.strategy.zero_stage, p);
  if (sums != p.gradients) add_gradients_in(d, sums);
}

BlockId Draft::add_block(Block block) {
  fit_sizes(*this, block);
  UnitMask mask;
  for (const Op& op : block.ops) {
    for (const Operand& o : op.operands) {
      const TensorId root = tensors[o.tensor].is_view() ? tensors[o.tensor].storage : o.tensor;
      for (std::size_t k = 0; k < kUnitKinds; ++k) {
        const auto bit = static_cast<std::uint32_t>(1U << k);
        if (root == units[k].weight_buffer) mask.reads |= bit;
        if (root == units[k].gradient_buffer) mask.grades |= bit;
      }
    }
  }
  blocks.push_back(std::move(block));
  block_units.push_back(mask);
  return static_cast<BlockId>(blocks.size() - 1);
}

UnitList unit_reads(const Draft& d, const Call& call) {
  return instances(d.block_units[call.block].reads, call.layer);
}
UnitList unit_grades(const Draft& d, const Call& call) {
  return instances(d.block_units[call.block].grades, call.layer);
}

std::vector<UnitInstance> units_of(const Draft& d, const Program& program) {
  std::vector<UnitInstance> out;
  UnitSet seen(d);
  const auto add = [&](const UnitList& units) {
    for (const UnitInstance& u : units) {
      if (seen.insert(u)) out.push_back(u);
    }
  };
  CallsMet met(d.block_units.size(), d.last_stream());
  for (const Call& call : program.calls) {  // other microbatches have the same units
    if (!met.insert(call)) continue;
    add(unit_reads(d, call));
    add(unit_grades(d, call));
  }
  return out;
}

}  // namespace plait
