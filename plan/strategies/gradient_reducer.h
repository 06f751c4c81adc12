#pragma once
// The ops that reduce a bucket of gradients over the data-parallel ranks. Which calls they stand
// behind: reduce.cpp.

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "plan/strategies/data_parallel.h"

namespace plait {

class GradientReducer {
 public:
  explicit GradientReducer(Draft& d) : d_(d), stage_(d.strategy.zero_stage) {}

  /// Ops that reduce a bucket of units, as seen from `layer`.
  Block bucket(const std::vector<UnitInstance>& units, std::int32_t layer) {
    Block block{"grad_sync", {}};
    std::vector<Operand> buffers;
    std::int64_t elements = 0, tensors = 0;
    for (const UnitInstance& u : units) {
      const Unit& unit = d_.unit(u.kind);
      const TensorId wire = wire_of(u.kind);
      buffers.push_back({wire, Use::kUpdate, shift(u, layer)});
      elements += d_.tensors[unit.gradient_buffer].elements(d_.mesh());
      for (TensorId g : unit.gradients) tensors += parameters_in(d_.tensors[g]);
      if (wire != unit.gradient_buffer) cast(block, unit.gradient_buffer, wire, shift(u, layer));
    }
    const Bytes bytes(elements * size_of(d_.tensors[buffers[0].tensor].dtype));
    const std::int64_t wanted = std::max<std::int64_t>(
        1, bytes.value / std::max<std::int64_t>(1, d_.strategy.data.bucket.value));
    // A parameter is never split over buckets.
    const std::int64_t pieces = std::min(wanted, tensors);
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t share = elements * (i + 1) / pieces - elements * i / pieces;
      reduce(block, buffers, elements * i / pieces, share, units.front());
    }
    for (const UnitInstance& u : units) {
      const Unit& unit = d_.unit(u.kind);
      if (wire_of(u.kind) == unit.gradient_buffer) continue;
      cast(block, wire_of(u.kind), unit.gradient_buffer, shift(u, layer));
    }
    return block;
  }

  /// A unit with a matrix that another stage holds too.
  bool has_tied_copy(const UnitInstance& u) const { return tied_apart(d_) && !in_layers(u.kind); }
  /// Its buckets hold nothing else.
  bool stands_alone(const UnitInstance& u) const { return stage_ == 1 && has_tied_copy(u); }

  /// Both ways, stage 2 and 3: what the other stage that holds the unit has is added.
  Block sum_of_copies(UnitKind kind) {
    const TensorId gradient = d_.unit(kind).reduced_gradient();
    Block block{"grad_sync.copies", {}};
    block.ops.push_back(collective(CollectiveKind::kAllReduce, Axis::kPp, d_.tensors[gradient],
                                   {{gradient, Use::kUpdate, 0}}));
    std::get<Collective>(block.ops.back().body).stages = Stages::kMirrored;
    return block;
  }

  /// Stage 2 and 3: one unit of one microbatch, or of all, into its shard.
  Block scatter(UnitKind kind, bool first, bool last) {
    const Unit& unit = d_.unit(kind);
    Block block{first ? "grad_scatter" : "grad_scatter.accumulate", {}};
    sum_over_tp(d_, block, unit);
    const bool direct = first && d_.workload.precision.reduction == d_.workload.precision.gradients;
    TensorId target = unit.gradient_shard;
    if (!direct) target = incoming(kind);
    copy_gradients(d_, block, unit);
    TensorId from = unit.reduces_from();
    if (from == unit.gradient_buffer && wire_of(kind) != from) {
      cast(block, from, wire_of(kind), 0);
      from = wire_of(kind);
    }
    if (d_.strategy.zero_plus_plus.quantized_gradients) {
      reduce_quantized(d_, block, unit.shard_axes, from, target);
    } else {
      block.ops.push_back(collective(CollectiveKind::kReduceScatter, unit.shard_axes,
                                     d_.tensors[from],
                                     {{from, Use::kRead, 0}, {target, Use::kWrite, 0}}));
      if (unit.zero_stage == 3) block.ops.back().stream = Stream::kParamGather;
    }
    const bool each = d_.strategy.fsdp.replica_sums == ReplicaSums::kEachMicrobatch;
    if (each) sum_over_replicas(block, unit, target);
    if (!direct) accumulate(block, target, unit.gradient_shard, first);
    if (!each && last) sum_over_replicas(block, unit, unit.gradient_shard);
    return block;
  }

 private:
  static std::int16_t shift(const UnitInstance& u, std::int32_t layer) {
    return static_cast<std::int16_t>(in_layers(u.kind) ? u.layer - layer : 0);
  }
  /// Experts are parameters of their own.
  std::int64_t parameters_in(const Tensor& t) const {
    return t.rank == 3 ? t.dims[0].local(d_.mesh()) : 1;
  }
  Op collective(CollectiveKind kind, AxisSet axes, const Tensor& full,
                std::vector<Operand> operands) {
    Collective c;
    c.kind = kind, c.axes = axes, c.dtype = full.dtype, c.elements = full.elements(d_.mesh());
    return {c, Stream::kGradSync, Phase::kGradSync, std::move(operands)};
  }
  void reduce(Block& block, const std::vector<Operand>& buffers, std::int64_t first,
              std::int64_t elements, const UnitInstance& of) {
    const Unit& unit = d_.unit(of.kind);
    Collective c;
    c.first = first;
    c.dtype = d_.tensors[buffers[0].tensor].dtype;
    c.elements = elements;
    const bool whole = d_.strategy.data.all_reduce || has_tied_copy(of);
    const bool scatters = unit.zero_stage == 1 && !whole;
    const AxisSet shard = scatters ? unit.shard_axes : AxisSet();
    if (scatters) {
      c.kind = CollectiveKind::kReduceScatter, c.axes = shard;
      block.ops.push_back({c, Stream::kGradSync, Phase::kGradSync, buffers});
      c.elements /= d_.mesh().size_of(shard);
    }
    AxisSet others = unit.data_axes - shard;
    if (both_ways(d_.strategy)) others = others | Axis::kPp, c.stages = Stages::kMirrored;
    if (others.empty()) return;
    c.kind = CollectiveKind::kAllReduce, c.axes = others;
    block.ops.push_back({c, Stream::kGradSync, Phase::kGradSync, buffers});
  }
  void cast(Block& block, TensorId from, TensorId to, std::int16_t at) {
    const Cast body{0, d_.tensors[from].dtype, d_.tensors[to].dtype};
    block.ops.push_back({Compute(body),
                         Stream::kGradSync,
                         Phase::kGradSync,
                         {{from, Use::kRead, at}, {to, Use::kWrite, at}}});
  }
  /// Where gradients lie in the type that travels.
  TensorId wire_of(UnitKind kind) {
    const TensorId buffer = d_.unit(kind).gradient_buffer;
    const Precision& p = d_.workload.precision;
    if (d_.tensors[buffer].dtype == p.reduction) return buffer;
    return once(wires_, kind, d_.tensors[buffer], ".wire", p.reduction, d_.tensors[buffer].scope);
  }
  TensorId incoming(UnitKind kind) {
    return once(incoming_, kind, d_.tensors[d_.unit(kind).gradient_shard], ".incoming",
                d_.workload.precision.reduction, Scope::kCall);
  }
  TensorId once(std::map<UnitKind, TensorId>& known, UnitKind kind, Tensor t, const char* suffix,
                DType dtype, Scope scope) {
    const auto found = known.find(kind);
    if (found != known.end()) return found->second;
    t.name += suffix, t.dtype = dtype, t.scope = scope, t.persistent = false;
    t.kind = TensorClass::kBuffer;
    return known[kind] = d_.add(t);
  }
  void accumulate(Block& block, TensorId from, TensorId shard, bool first) {
    if (first) return cast(block, from, shard, 0);
    Add add;
    add.rows = 1, add.width = d_.tensors[shard].elements(d_.mesh()), add.dtype = DType::kFp32;
    block.ops.push_back({Compute(add),
                         Stream::kGradSync,
                         Phase::kGradSync,
                         {{from, Use::kRead, 0}, {shard, Use::kUpdate, 0}}});
  }
  /// Of a shard, over the ranks that have the same one.
  void sum_over_replicas(Block& block, const Unit& unit, TensorId shard) {
    const AxisSet replicas = unit.data_axes - unit.shard_axes;
    if (replicas.empty()) return;
    block.ops.push_back(collective(CollectiveKind::kAllReduce, replicas, d_.tensors[shard],
                                   {{shard, Use::kUpdate, 0}}));
  }
  Draft& d_;
  int stage_;
  std::map<UnitKind, TensorId> wires_, incoming_;
};

}  // namespace plait
