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
#include "plan/strategies/gradient_reducer.h"

namespace plait {
namespace {

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

void sum_over_tp(const Draft& d, Block& block, const Unit& unit) {
  Collective c;
  c.axes = d.mesh().present(kTensorAxes);
  std::vector<Operand> operands;
  for (TensorId g : unit.gradients) {
    if (!d.tensors[g].partial.has(Axis::kTp)) continue;
    operands.push_back({g, Use::kUpdate, 0});
    c.elements += d.tensors[g].elements(d.mesh());
    c.dtype = d.tensors[g].dtype;
  }
  if (operands.empty()) return;
  block.ops.push_back({c, Stream::kTp, Phase::kBackward, std::move(operands)});
}

struct GradientReduction::Parts {
  Draft& d;
  GradientReducer reducer;
  BlockCache cache;

  /// Behind `pass`, one microbatch's gradients of the unit into shards.
  Call scatter(const UnitInstance& u, bool first, bool last, const Call& pass) {
    const BlockId block = cache.get(d, {static_cast<std::int32_t>(u.kind), first, last},
                                    [&] { return reducer.scatter(u.kind, first, last); });
    return {block, pass.chunk, u.layer, pass.microbatch, -1};
  }
  /// At the end, of every unit that a stage of the other direction holds too.
  void sum_copies(const Program& passes, Program& out);
};

GradientReduction::GradientReduction(Draft& d)
    : parts_(std::make_unique<Parts>(Parts{d, GradientReducer(d), {}})) {}
GradientReduction::~GradientReduction() = default;

namespace {

/// Collects units until a bucket is full and writes the call that reduces it.
class Filling {
 public:
  Filling(Draft& d, GradientReducer& reducer, BlockCache& cache)
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
  GradientReducer& reducer_;
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

std::map<UnitInstance, std::int64_t> microbatches_of_units(const std::vector<Ready>& ready) {
  std::map<UnitInstance, std::int64_t> out;
  for (const Ready& r : ready) {
    for (const UnitInstance& u : r.units) ++out[u];
  }
  return out;
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

void GradientReduction::Parts::sum_copies(const Program& passes, Program& out) {
  for (const UnitInstance& u : in_common_order(d, passes)) {
    const BlockId block = cache.get(d, {static_cast<std::int32_t>(u.kind)},
                                    [&] { return reducer.sum_of_copies(u.kind); });
    out.calls.push_back({block, 0, u.layer, 0, -1});
  }
}

Program GradientReduction::into_shards(const Program& program) {
  Draft& d = parts_->d;
  const bool once = d.sums_whole_gradients();
  const std::vector<Ready> ready = completions(d, program, !once);
  std::map<UnitInstance, std::int64_t> count, of = microbatches_of_units(ready);
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
      const Call call = parts_->scatter(u, k == 0, k == of[u] - 1, program.calls[i]);
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
  if (both_ways(d.strategy)) parts_->sum_copies(program, out);
  return out;
}

}  // namespace plait
