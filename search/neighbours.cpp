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
        in_framework_(!s.framework.empty()),
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
    offload_activations();
    spread_loss();
    return std::move(out_);
  }

 private:
  void add(const char* decision, std::vector<Override> sets) {
    if (are_offered(offers_, sets)) out_.push_back({decision, std::move(sets)});
  }
  bool has_offer(std::string_view path) const {
    return std::ranges::find(offers_, path, &FrameworkOffer::path) != offers_.end();
  }
  /// Of fields that few frameworks have.
  bool may(std::string_view path) const { return !in_framework_ || has_offer(path); }
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

  /// In pieces or with activations off the device a step needs less memory, and no less time.
  void spread_loss() {
    if (w_.loss_pieces != 1 || s_.mesh.size_of(kTensorAxes) > 1) return;
    if (!may("workload.loss_pieces")) return;
    for (const std::int64_t pieces : {8, 16}) add("loss", {set("workload.loss_pieces", pieces)});
  }

  void offload_activations() {
    if (!may("strategy.offload.activations")) return;
    const bool now = s_.offload.activations != Offload::kNone;
    std::vector<Override> sets = {{"strategy.offload.activations", now ? "none" : "cpu"}};
    if (now && s_.offload.activation_layers >= 0)
      sets.push_back(set("strategy.offload.activation_layers", -1));
    add("activation_offload", std::move(sets));
  }

  /// A framework moves both only, where shards are the optimizer's own master weights (S101).
  bool may_offload_alone() const {
    const bool own = s_.keep_weight_shard || !w_.precision.has_master();
    if (has_offer("strategy.offload.parameters")) return own;
    return may("strategy.offload.optimizer") && (own || s_.zero_stage < 3);
  }
  /// Of the optimizer, or of the shards of parameters too. Gradients leave the device as shards.
  void offload() {
    const Override on_host = {"strategy.offload.optimizer", "cpu"};
    const Override shards_too = {"strategy.offload.parameters", "cpu"};
    if (s_.offload.state()) {
      std::vector<Override> sets = {{on_host.path, "none"}};
      if (s_.offload.parameters != Offload::kNone) sets.push_back({shards_too.path, "none"});
      add("offload", std::move(sets));
    } else if (may_offload_alone()) {
      add("offload", summed_in_shards({on_host}, s_.zero_stage));
    }
    if (s_.offload.parameters != Offload::kNone || !may(shards_too.path)) return;
    std::vector<Override> both = {on_host, shards_too};
    if (s_.zero_stage < 3) both.push_back(set("strategy.zero_stage", 3));
    add("offload", summed_in_shards(std::move(both), 3));
  }
  std::vector<Override> summed_in_shards(std::vector<Override> sets, int stage) const {
    if (s_.fsdp.sums_whole(stage, size(Axis::kPp)))
      sets.push_back({"strategy.fsdp_options.no_sync", "never"});
    return sets;
  }

  void toggle(const char* decision, const char* path, bool now) {
    add(decision, {{path, json_bool(!now)}});
  }

  const Strategy& s_;
  const Workload& w_;
  std::vector<FrameworkOffer> offers_;
  bool in_framework_, has_experts_, by_op_, in_order_;
  std::vector<Neighbour> out_;
};

}  // namespace

std::vector<Neighbour> neighbours(const Scenario& scenario) { return Neighbours(scenario).all(); }

}  // namespace plait
