// Reduction of gradients over the data-parallel ranks (Li et al. 2020, section 3.2): units whose
// gradients are complete fill a bucket; a full bucket is reduced on its own stream while the
// backward pass goes on.
//
//   stage 0     all_reduce over dp and fsdp, in the last microbatch only
//   stage 1     reduce_scatter over the shard axis, in place; all_reduce of the share over the
//               other axis; a tied matrix on two stages, whose shards there are not the same
//               elements, is in a bucket of its own and reduced whole, as all are on request
//   stage 2, 3  reduce_scatter in every microbatch into the gradient shard, which accumulates,
//               and all_reduce of the share over the other axis, in each or in the last one
//               (ReplicaSums); at stage 2 without overlap the backward pass waits for it; without
//               synchronization (NoSync) once, of what has added up whole: in the last microbatch,
//               in a pipeline behind the last pass and message of each piece
//
// Where microbatches go both ways through the stages, two stages hold each unit and sum their
// gradients too: at the end of the step, since the two complete them in different orders. Stages 0
// and 1 do so together with the replicas, 2 and 3 with what the shard has accumulated.
//
// Where weights are gathered over the same ranks, the reduce_scatters take turns with the gathers:
// frameworks use one communicator for both, and NCCL carries out the collectives of one
// communicator one after the other, whatever their streams (NVIDIA/nccl issue 574;
// pytorch/pytorch issue 65299 and, of a second communicator on request, pull request 186335).
#include <algorithm>
#include <map>
#include <utility>

#include "plan/schedule.h"
#include "plan/strategies/call_rewriter.h"
#include "plan/strategies/data_parallel.h"

namespace plait {
namespace {

class Reducer {
 public:
  explicit Reducer(Draft& d) : d_(d), stage_(d.strategy.zero_stage) {}

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
    sum_over_tp(block, unit);
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
  /// Norm gradients from a sequence shard are partial sums over tp.
  void sum_over_tp(Block& block, const Unit& unit) {
    Collective c;
    c.axes = d_.mesh().present(kTensorAxes);
    std::vector<Operand> operands;
    for (TensorId g : unit.gradients) {
      if (!d_.tensors[g].partial.has(Axis::kTp)) continue;
      operands.push_back({g, Use::kUpdate, 0});
      c.elements += d_.tensors[g].elements(d_.mesh());
      c.dtype = d_.tensors[g].dtype;
    }
    if (operands.empty()) return;
    block.ops.push_back({c, Stream::kTp, Phase::kBackward, std::move(operands)});
  }

  Draft& d_;
  int stage_;
  std::map<UnitKind, TensorId> wires_, incoming_;
};

/// Blocks that were made already, by what they reduce.
class BlockCache {
 public:
  template <class Make>
  BlockId get(Draft& d, const std::vector<std::int32_t>& key, Make&& make) {
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_[key] = d.add_block(make());
  }

 private:
  std::map<std::vector<std::int32_t>, BlockId> known_;
};

}  // namespace

struct GradientReduction::Parts {
  Draft& d;
  Reducer reducer;
  BlockCache cache;
};

GradientReduction::GradientReduction(Draft& d)
    : parts_(std::make_unique<Parts>(Parts{d, Reducer(d), {}})) {}
GradientReduction::~GradientReduction() = default;

namespace {

/// Collects units until a bucket is full and writes the call that reduces it.
class Filling {
 public:
  Filling(Draft& d, Reducer& reducer, BlockCache& cache)
      : d_(d), reducer_(reducer), cache_(cache) {}

  /// `at`: the call that the unit's gradients are complete behind.
  void add(const UnitInstance& u, const Call& at) {
    if (reducer_.stands_alone(u)) flush(at);
    units_.push_back(u);
    bytes_ += d_.tensors[d_.unit(u.kind).gradient_buffer].bytes(d_.mesh()).value;
    if (reducer_.stands_alone(u)) flush(at);
  }
  bool full() const { return bytes_ >= d_.strategy.data.bucket.value; }
  void flush(const Call& at) {
    if (units_.empty()) return;
    const std::int32_t layer = units_.back().layer;
    std::vector<std::int32_t> key;
    for (const UnitInstance& u : units_) {
      key.push_back(static_cast<std::int32_t>(u.kind)), key.push_back(u.layer - layer);
    }
    const BlockId block = cache_.get(d_, key, [&] { return reducer_.bucket(units_, layer); });
    calls_.push_back({block, at.chunk, layer, at.microbatch, -1});
    units_.clear(), bytes_ = 0;
  }
  /// The calls written since the last time.
  std::vector<Call> take() { return std::exchange(calls_, {}); }

 private:
  Draft& d_;
  Reducer& reducer_;
  BlockCache& cache_;
  std::vector<UnitInstance> units_;
  std::int64_t bytes_ = 0;
  std::vector<Call> calls_;
};

/// The units of a program in an order that all programs which hold them have.
std::vector<UnitInstance> in_common_order(const Draft& d, const Program& program) {
  std::vector<UnitInstance> units = units_of(d, program);
  std::erase_if(units, [&d](const UnitInstance& u) { return !d.unit(u.kind).trained(); });
  std::ranges::sort(units);
  return units;
}

bool sends(const Draft& d, const Call& call) {
  return std::holds_alternative<Send>(d.blocks[call.block].ops.back().body);
}

/// Calls that wait for the last one that is in the program.
void append_behind_all(Program& program, std::vector<Call>& late) {
  const auto last = static_cast<std::int32_t>(program.calls.size()) - 1;
  for (Call& call : late) call.after = last, program.calls.push_back(call);
}

}  // namespace

Program GradientReduction::over_copies(const Program& program) {
  Draft& d = parts_->d;
  Program out = program;
  Filling filling(d, parts_->reducer, parts_->cache), experts(d, parts_->reducer, parts_->cache);
  const auto last = static_cast<std::int32_t>(out.calls.size()) - 1;
  const auto flush = [&](Filling& f) {
    f.flush({});
    for (Call call : f.take()) call.after = last, out.calls.push_back(call);
  };
  for (const UnitInstance& u : in_common_order(d, program)) {
    Filling& f = u.kind == UnitKind::kExperts ? experts : filling;
    f.add(u, {});
    if (f.full()) flush(f);
  }
  flush(filling), flush(experts);
  return out;
}

Program GradientReduction::in_buckets(const Program& program) {
  Draft& d = parts_->d;
  const std::vector<Ready> ready = completions(d, program, false);
  Program out;
  out.calls.reserve(2 * program.calls.size());
  CallRewriter rewriter(out);
  std::vector<Call> late;
  // Experts are reduced over other ranks, so their buckets hold nothing else.
  Filling filling(d, parts_->reducer, parts_->cache), experts(d, parts_->reducer, parts_->cache);
  std::size_t next = 0;
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    rewriter.keep(program.calls[i]);
    if (next == ready.size() || ready[next].call != i) continue;
    for (const UnitInstance& u : ready[next].units) {
      if (d.unit(u.kind).data_axes.empty()) continue;
      (u.kind == UnitKind::kExperts ? experts : filling).add(u, program.calls[i]);
    }
    ++next;
    std::vector<Call>& to = d.strategy.data.overlap ? out.calls : late;
    for (Filling* f : {&filling, &experts}) {
      if (f->full() || next == ready.size()) f->flush(program.calls[i]);
      for (const Call& call : f->take()) to.push_back(call);
    }
  }
  append_behind_all(out, late);
  return out;
}

Program GradientReduction::into_shards(const Program& program) {
  Draft& d = parts_->d;
  const bool once = d.sums_whole_gradients();
  const std::vector<Ready> ready = completions(d, program, !once);
  std::map<UnitInstance, std::int64_t> count, of;  // microbatches
  for (const Ready& r : ready) {
    for (const UnitInstance& u : r.units) ++of[u];
  }
  Program out;
  out.calls.reserve(2 * program.calls.size());
  CallRewriter rewriter(out);
  std::size_t next = 0;
  std::int32_t waited_for = -1;
  std::map<std::int32_t, std::vector<Call>> waiting;  // of each piece, for its last pass to end
  const bool waits = once && d.mesh()[Axis::kPp] > 1;
  const std::vector<bool> ends = waits ? ends_of_pieces(program, ready) : std::vector<bool>();
  const bool messages_first = d.strategy.fsdp.no_sync != NoSync::kPipelines2024;
  std::int32_t ended = -1;  // the piece whose reductions are next
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    if (ended >= 0 && !(messages_first && sends(d, program.calls[i]))) {
      append_behind_all(out, waiting[std::exchange(ended, -1)]);
    }
    rewriter.keep(program.calls[i]);
    if (waited_for >= 0) rewriter.last().after = std::exchange(waited_for, -1);
    if (next == ready.size() || ready[next].call != i) continue;
    for (const UnitInstance& u : ready[next].units) {
      if (d.unit(u.kind).zero_stage < 2) continue;  // whole, and on no other rank
      const std::int64_t k = count[u]++;
      const bool first = k == 0, last = k == of[u] - 1;
      const BlockId block =
          parts_->cache.get(d, {static_cast<std::int32_t>(u.kind), first, last},
                            [&] { return parts_->reducer.scatter(u.kind, first, last); });
      const Call call = {block, program.calls[i].chunk, u.layer, program.calls[i].microbatch, -1};
      if (waits) {
        waiting[call.chunk].push_back(call);
        continue;
      }
      out.calls.push_back(call);
      if (d.unit(u.kind).zero_stage == 2 && !d.strategy.data.overlap)
        waited_for = rewriter.next() - 1;
    }
    if (waits && ends[next]) ended = program.calls[i].chunk;
    ++next;
  }
  if (ended >= 0) append_behind_all(out, waiting[ended]);
  if (!both_ways(d.strategy)) return out;
  for (const UnitInstance& u : in_common_order(d, program)) {
    const BlockId block = parts_->cache.get(d, {static_cast<std::int32_t>(u.kind)},
                                            [&] { return parts_->reducer.sum_of_copies(u.kind); });
    out.calls.push_back({block, 0, u.layer, 0, -1});
  }
  return out;
}

}  // namespace plait
