#include "search/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/json.h"
#include "plan/schedule.h"
#include "scenarios/placement.h"
#include "search/offers.h"
#include "search/space.h"

namespace plait {
namespace {

class Neighbours {
 public:
  explicit Neighbours(const Scenario& s)
      : s_(s.strategy),
        w_(s.workload),
        offers_(offers_of(s)),
        may_offload_(s.framework.empty() || has_offer("strategy.offload.optimizer")),
        has_experts_(s.model.experts > 0),
        by_op_(recomputes(Recompute::kOps, s.model, s.workload, s.strategy)),
        in_order_(s.placement.empty()) {}

  std::vector<Neighbour> all() {
    recompute();
    resize("micro_batch", "workload.micro_batch", w_.micro_batch);
    split();
    schedule();
    state();
    gathering();
    overlap();
    dispatch();
    placement();
    summing();
    offload();
    return std::move(out_);
  }

 private:
  void add(const char* decision, std::vector<Override> sets) {
    if (are_offered(offers_, sets)) out_.push_back({decision, std::move(sets)});
  }
  bool has_offer(std::string_view path) const {
    return std::ranges::find(offers_, path, &FrameworkOffer::path) != offers_.end();
  }
  std::int64_t size(Axis a) const { return s_.mesh[a]; }
  static Override set(const char* path, std::int64_t value) {
    return {path, fmt::format("{}", value)};
  }

  void resize(const char* decision, const char* path, std::int64_t now, std::int64_t least = 1,
              std::int64_t times = 4) {
    for (std::int64_t more = 2 * now; more <= times * now; more *= 2)
      add(decision, {set(path, more)});
    for (std::int64_t less = now; less % 2 == 0 && less / 2 >= least;) {
      add(decision, {set(path, less /= 2)});
    }
  }

  void recompute() {
    const RecomputeOptions& r = s_.recompute;
    for (const Recompute kind :
         {Recompute::kNone, Recompute::kSelective, Recompute::kOps, Recompute::kFull}) {
      if (kind == Recompute::kOps && !by_op_) continue;
      const bool now = r.kind == kind && r.layers < 0 && r.every == 1;
      if (!now) add("recompute", {{"strategy.recompute", std::string(name_of(kind))}});
    }
  }

  void split() {
    const std::int64_t tp = s_.mesh.size_of(kTensorAxes), pp = size(Axis::kPp);
    resize("split", "strategy.tp", tp);
    resize("split", "strategy.pp", pp);
    if (pp % 2 == 0) add("split", {set("strategy.tp", 2 * tp), set("strategy.pp", pp / 2)});
    if (tp % 2 == 0) add("split", {set("strategy.tp", tp / 2), set("strategy.pp", 2 * pp)});
    resize("split", "strategy.cp", s_.mesh.size_of(kContextAxes));
    constexpr std::int64_t kTimesAsMany = 8;  // experts are many, and groups of them large
    if (has_experts_) resize("split", "strategy.ep", size(Axis::kEp), 1, kTimesAsMany);
  }

  void schedule() {
    if (size(Axis::kPp) < 2) return;
    const PipelineOptions& now = s_.pipeline;
    for (const Schedule one : {Schedule::k1f1b, Schedule::kZbH1, Schedule::kInterleaved}) {
      if (one == now.schedule) continue;
      std::vector<Override> sets = {{"strategy.pipeline.schedule", std::string(name_of(one))}};
      const std::int64_t chunks = kind_of(one).fewest_chunks;
      if (chunks != now.chunks) sets.push_back(set("strategy.pipeline.chunks", chunks));
      add("schedule", std::move(sets));
    }
    if (now.schedule != Schedule::kInterleaved) return;
    resize("schedule", "strategy.pipeline.chunks", now.chunks, 2);
  }

  /// How much of the training state is sharded, and over which replicas.
  void state() {
    const std::int64_t dp = size(Axis::kDp), fsdp = size(Axis::kFsdp);
    if (s_.mesh.size_of(s_.shard_axes()) > 1) {
      for (int stage = 0; stage <= 3; ++stage) {
        if (stage != s_.zero_stage) add("state", {set("strategy.zero_stage", stage)});
      }
    }
    if (dp > 1 && fsdp == 1) {
      add("state",
          {set("strategy.dp", 1), set("strategy.fsdp", dp), set("strategy.zero_stage", 3)});
    }
    if (fsdp > 1) {
      add("state",
          {set("strategy.dp", dp * fsdp), set("strategy.fsdp", 1), set("strategy.zero_stage", 1)});
    }
  }

  void gathering() {
    if (s_.zero_stage < 3) return;
    toggle("gathering", "strategy.fsdp_options.reshard_after_forward",
           s_.fsdp.reshard_after_forward);
    for (const std::int64_t ahead : {1, 2}) {
      if (ahead != s_.fsdp.prefetch) {
        add("gathering", {set("strategy.fsdp_options.prefetch", ahead)});
      }
    }
  }

  void overlap() {
    if (!s_.data.overlap) {
      toggle("overlap", "strategy.data.overlap", false);
    } else if (gathers_updates(s_.zero_stage) && !s_.data.overlap_gathers) {
      toggle("overlap", "strategy.data.overlap_gathers", false);
    }
    const PipelineOptions& p = s_.pipeline;
    if (has_experts_ && size(Axis::kEp) > 1 && can_pair(p, size(Axis::kPp)) && !p.pairs_passes()) {
      add("exchange_overlap", {{"strategy.pipeline.exchange_overlap", "passes"}});
    }
    if (s_.mesh.size_of(kTensorAxes) < 2) return;
    toggle("sequence_parallel", "strategy.sequence_parallel", s_.sequence_parallel);
    if (s_.tensor.overlap == TensorOverlap::kNone) {
      add("tensor_overlap", {{"strategy.tensor.overlap", "weight-grad"}});
    }
    if (s_.tensor.overlap != TensorOverlap::kRing && s_.sequence_parallel) {
      add("tensor_overlap", {{"strategy.tensor.overlap", "ring"}});
    }
  }

  /// How tokens get to experts on other ranks.
  void dispatch() {
    if (!has_experts_ || s_.mesh.size_of(s_.axes_of_experts()) < 2) return;
    const bool gathers = s_.experts.dispatch == ExpertDispatch::kAllGather;
    add("dispatch", {{"strategy.expert_dispatch", gathers ? "all_to_all" : "all_gather"}});
  }

  /// Stages around the ranks of a layer and a sequence, and replicas around stages.
  void placement() {
    const bool replicas = size(Axis::kDp) * size(Axis::kFsdp) > 1;
    if (!in_order_ || size(Axis::kPp) < 2 || !replicas) return;
    add("placement", {{"placement.order", kStagesWithinReplicas}});
  }

  /// Where gradients add up whole over a step's microbatches, though they are to be sharded.
  bool sums_whole() const { return s_.fsdp.sums_whole(s_.zero_stage, size(Axis::kPp)); }
  void summing() {
    const std::int64_t microbatches = w_.global_batch / (s_.replicas() * w_.micro_batch);
    if (microbatches > 1 && sums_whole()) {
      add("summing", {{"strategy.fsdp_options.no_sync", "never"}});
    }
  }

  /// Of the optimizer, and of parameters where the framework has both together. Gradients leave the
  /// device as shards.
  void offload() {
    const bool together = has_offer("strategy.offload.parameters");
    const bool now = s_.offload.optimizer != Offload::kNone;
    if (!now && (!may_offload_ || (together && s_.zero_stage < 3))) return;
    const char* where = now ? "none" : "cpu";
    std::vector<Override> sets = {{"strategy.offload.optimizer", where}};
    if (together || (now && s_.offload.parameters != Offload::kNone)) {
      sets.push_back({"strategy.offload.parameters", where});
    }
    if (!now && sums_whole()) sets.push_back({"strategy.fsdp_options.no_sync", "never"});
    add("offload", std::move(sets));
  }

  void toggle(const char* decision, const char* path, bool now) {
    add(decision, {{path, json_bool(!now)}});
  }

  const Strategy& s_;
  const Workload& w_;
  std::vector<FrameworkOffer> offers_;
  bool may_offload_, has_experts_, by_op_, in_order_;
  std::vector<Neighbour> out_;
};

}  // namespace

std::vector<Neighbour> neighbours(const Scenario& scenario) { return Neighbours(scenario).all(); }

}  // namespace plait
