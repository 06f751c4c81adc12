// Pipeline parallelism: which layers a chunk holds, and each stage's program of calls in the order
// of its schedule, with sends and receives where neighbouring pieces live on different stages
// (PieceMap); piece 0 has the embedding, the last one the head, and before it the modules that
// predict further tokens.
//
// Passes that the schedule pairs take turns where their layers are in parts (pass_parts.cpp).
//
// Both ways, every piece is on two stages, which work on different microbatches: parameters are
// there twice, and their gradients are summed over the two (reduce.cpp).
#include <map>
#include <optional>

#include "plan/refusal.h"
#include "plan/schedule.h"
#include "plan/strategies/draft.h"
#include "plan/strategies/pieces.h"
#include "plan/strategies/stage_exchange.h"
#include "plan/strategies/stage_tp.h"
#include "plan/strategies/turns.h"

namespace plait {
namespace {

void require_pairs(const Draft& d, const std::string& name) {
  const std::int64_t stages = d.mesh()[Axis::kPp];
  if (stages % 2 != 0) {
    throw refusal("S036",
                  std::to_string(stages) + " stages are no pairs, of which the schedule " + name +
                      " gives both the same two pieces",
                  "strategy.pp", "an even number",
                  "change strategy.pp, or set the schedule to \"dualpipe-v\"",
                  {"strategy.pipeline.schedule"});
  }
  if (d.microbatches < 2) {
    throw refusal("S038", "the schedule " + name + " needs a microbatch for each end",
                  "strategy.pipeline.schedule", "2 microbatches per replica or more",
                  "raise workload.global_batch, or set the schedule to \"dualpipe-v\"",
                  {"workload.global_batch", "workload.micro_batch"});
  }
}

void require_exchange_overlap(const Draft& d, const std::string& name) {
  const PipelineOptions& p = d.strategy.pipeline;
  if (p.exchange_overlap != ExchangeOverlap::kPasses || can_pair(p, d.mesh()[Axis::kPp])) return;
  throw refusal(
      "S039", "the schedule " + name + " has no passes side by side to hide exchanges",
      "strategy.pipeline.exchange_overlap",
      "the schedule \"interleaved\", \"dualpipe\" or \"dualpipe-v\", or \"1f1b\" with pp = 1",
      "change strategy.pipeline.schedule, or set exchange_overlap to \"none\"",
      {"strategy.pipeline.schedule", "strategy.pp"});
}

void require_groups(const Draft& d) {
  const PipelineOptions& p = d.strategy.pipeline;
  const std::int64_t stages = d.mesh()[Axis::kPp], fitting = fitting_group(stages, d.microbatches);
  if (groups_fit(p, stages, d.microbatches)) return;
  throw refusal(
      "S033",
      std::to_string(d.microbatches) + " microbatches in groups of " +
          std::to_string(group_of(p, stages)) + " leave a group that is too small for " +
          std::to_string(stages) + " stages of the interleaved schedule",
      p.microbatch_group > 0 ? "strategy.pipeline.microbatch_group" : "strategy.pipeline.schedule",
      "groups of pp to all microbatches, and pp or none left over",
      fitting > 0 ? "set strategy.pipeline.microbatch_group to " + std::to_string(fitting) +
                        ", or change workload.global_batch or workload.micro_batch"
                  : "raise workload.global_batch, or choose the schedule \"1f1b\"",
      {"strategy.pipeline.schedule", "strategy.pp", "workload.global_batch",
       "workload.micro_batch"});
}

void require_schedule(const Draft& d) {
  const PipelineOptions& p = d.strategy.pipeline;
  const ScheduleKind& kind = kind_of(p.schedule);
  const std::int64_t stages = d.mesh()[Axis::kPp];
  const std::string name(kind.name);
  if (p.chunks < 1 || p.chunks > kind.most_chunks) {
    throw refusal(
        "S031",
        "the schedule " + name + " has no " + std::to_string(p.chunks) + " chunks per stage",
        "strategy.pipeline.chunks",
        kind.most_chunks == 1 ? "1, or strategy.pipeline.schedule = \"interleaved\""
                              : std::to_string(kind.most_chunks),
        "set strategy.pipeline.chunks to " +
            std::to_string(p.chunks < 1 ? kind.fewest_chunks : kind.most_chunks) +
            ", or choose another schedule",
        {"strategy.pipeline.schedule"});
  }
  if (kind.most_chunks > 1 && (p.chunks < kind.fewest_chunks || stages < kind.fewest_stages)) {
    const bool few = stages < kind.fewest_stages;
    const std::string path = few ? "strategy.pp" : "strategy.pipeline.chunks";
    throw refusal(
        "S032",
        "the schedule " + name + " needs " + (few || kind.most_chunks > 2 ? "at least " : "") +
            "2 " + (few ? "stages" : "chunks"),
        path,
        few                     ? "pp >= 2"
        : kind.most_chunks == 2 ? "chunks = 2"
                                : "chunks >= 2",
        "set " + path + " to 2, or the schedule to \"1f1b\"", {"strategy.pipeline.schedule"});
  }
  if (stages < kind.fewest_stages) {
    throw refusal("S034", "a zero-bubble schedule needs at least 2 stages",
                  "strategy.pipeline.schedule", "pp >= 2",
                  "set strategy.pp to 2 or more, or the schedule to \"1f1b\"", {"strategy.pp"});
  }
  if (kind.shape == PipelineShape::kBothWays) require_pairs(d, name);
  require_exchange_overlap(d, name);
  if (p.schedule == Schedule::kInterleaved) require_groups(d);
}

class ProgramWriter {
 public:
  explicit ProgramWriter(Draft& d)
      : d_(d),
        splits_(splits_backward(d.strategy.pipeline.schedule)),
        pieces_(d.strategy.pipeline.schedule, d.mesh()[Axis::kPp], d.strategy.pipeline.chunks),
        start_(first_layers(d.model.layers, pieces_.count(), d.strategy.pipeline)) {
    embed_forward_ = d.add_block(d.embed_forward), embed_backward_ = d.add_block(d.embed_backward);
    head_.forward = d.add_block(d.head_forward), head_.backward = d.add_block(d.head_backward);
    for (const LayerKind& k : d.layers) layers_.push_back(add_layer(k));
    if (d.model.mtp_layers > 0) mtp_ = add_layer(d.mtp), mtp_head_ = add_passes(d.mtp_head);
    if (splits_) head_.weights = d.add_block(d.head_weight_grads);
    if (pieces_.stages == 1) return;
    for (std::int64_t s = 0; s < pieces_.stages; ++s) {
      const std::int64_t tp = tp_of_stage(d.strategy, s);
      if (onward_.contains(tp)) continue;
      onward_.emplace(tp, add_stage_exchange(d, "", 1, tp));
      if (pieces_.shape == PipelineShape::kLoop) continue;
      back_.emplace(tp, add_stage_exchange(d, ".back", -1, tp));
    }
  }

  Program write(std::int64_t stage, const std::vector<Task>& tasks) {
    Program program;
    stage_ = stage;
    later_passes_.assign(static_cast<std::size_t>(3 * pieces_.chunks), {});
    find_first_microbatches(tasks);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].pairs && in_parts_) {
        take_turns(pass(tasks[i + 1], true), pass(tasks[i], true), program.calls);
        i += splits_ ? 2 : 1;  // the weights' gradients are part of the pair's backward pass
      } else {
        write_alone(tasks[i], program.calls);
      }
    }
    return program;
  }

 private:
  struct PassBlocks {
    BlockId forward = 0, backward = 0, weights = 0;
    std::vector<BlockId> forward_parts = {}, backward_parts = {};
  };
  struct LayerBlocks {
    std::optional<BlockId> once;
    PassBlocks kept, recomputed;
  };
  LayerBlocks add_layer(const LayerKind& layer) {
    LayerBlocks out;
    if (!layer.once.ops.empty()) out.once = d_.add_block(layer.once);
    out.kept = add_passes(layer.kept);
    if (layer.recomputed) out.recomputed = add_passes(*layer.recomputed);
    return out;
  }
  PassBlocks add_passes(const LayerPasses& layer) {
    PassBlocks out{d_.add_block(layer.forward), d_.add_block(layer.backward)};
    if (splits_) out.weights = d_.add_block(layer.weight_grads);
    for (const Block& b : layer.forward_parts) out.forward_parts.push_back(d_.add_block(b));
    for (const Block& b : layer.backward_parts) out.backward_parts.push_back(d_.add_block(b));
    in_parts_ = in_parts_ || !out.forward_parts.empty();
    return out;
  }
  const LayerBlocks& layer(std::int32_t l) const { return layers_[d_.kind_of(l)]; }
  const PassBlocks& passes(std::int64_t piece, std::int32_t l) const {
    return recomputes(piece, l) ? layer(l).recomputed : layer(l).kept;
  }
  /// What crosses the boundary behind a piece; nothing where both sides are on one stage.
  void cross(std::int64_t piece, BlockId StageExchange::*what, std::int32_t layer) {
    const int step = pieces_.step_behind(piece, task_.chunk);
    if (step == 0) return;
    const bool ahead =
        what == &StageExchange::send_forward || what == &StageExchange::recv_backward;
    const std::int64_t n = pieces_.stages, other = (stage_ + (ahead ? step : -step) + n) % n;
    call((step > 0 ? onward_ : back_).at(tp_of_stage(d_.strategy, other)).*what, layer);
  }
  /// Where microbatches go both ways, half of them never come to a chunk.
  void find_first_microbatches(const std::vector<Task>& tasks) {
    first_microbatch_.assign(static_cast<std::size_t>(pieces_.chunks), -1);
    for (const Task& task : tasks) {
      std::int32_t& first = first_microbatch_[static_cast<std::size_t>(task.chunk)];
      if (first < 0) first = task.microbatch;
    }
  }
  bool is_first(const Task& task) const {
    return task.microbatch == first_microbatch_[static_cast<std::size_t>(task.chunk)];
  }
  /// All microbatches but a chunk's first have the same calls.
  void write_alone(const Task& task, std::vector<Call>& to) {
    const auto kind =
        static_cast<std::size_t>(3 * task.chunk) + static_cast<std::size_t>(task.pass);
    std::vector<Call>& later = later_passes_[kind];
    if (is_first(task)) {
      const PassCalls first = pass(task, false);
      to.insert(to.end(), first.calls.begin(), first.calls.end());
      return;
    }
    if (later.empty()) later = pass(task, false).calls;
    for (Call call : later) {
      call.microbatch = task.microbatch;
      to.push_back(call);
    }
  }
  PassCalls pass(const Task& task, bool paired) {
    PassCalls out;
    task_ = task, calls_ = &out, paired_ = paired;
    const std::int64_t piece = pieces_.piece_of(stage_, task.chunk);
    switch (task.pass) {
      case TaskPass::kForward: forward(piece); break;
      case TaskPass::kBackward: backward(piece); break;
      case TaskPass::kWeightGrad: weight_grads(piece); break;
    }
    return out;
  }
  void call(BlockId block, std::int32_t layer) {
    calls_->calls.push_back({block, task_.chunk, layer, task_.microbatch, -1});
  }
  void call_parts(const std::vector<BlockId>& parts, std::int32_t layer) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) calls_->parts.push_back(calls_->calls.size());
      call(parts[i], layer);
    }
  }
  void call_forward(const PassBlocks& blocks, std::int32_t layer) {
    if (paired_ && !blocks.forward_parts.empty()) return call_parts(blocks.forward_parts, layer);
    call(blocks.forward, layer);
  }
  void call_backward(const PassBlocks& blocks, std::int32_t layer) {
    if (paired_ && !blocks.backward_parts.empty()) return call_parts(blocks.backward_parts, layer);
    call(blocks.backward, layer);
    if (paired_ && splits_) call(blocks.weights, layer);
  }
  /// Recomputed layers are the first ones of each chunk (Megatron-LM's "block" method), or each
  /// n-th one of the stage (torchtitan's selective checkpoints by layer).
  bool recomputes(std::int64_t piece, std::int32_t layer) const {
    const RecomputeOptions& r = d_.strategy.recompute;
    if (r.kind == Recompute::kNone) return false;
    const std::int64_t beyond = std::max<std::int64_t>(0, layer - d_.model.layers);
    const std::int64_t place = layer - (beyond + 1) / 2;  // modules have two numbers each
    const bool by_place = r.layers < 0 || place - first(piece) < r.layers;
    return by_place && (layers_before(piece, place) + 1) % r.every == 0;
  }
  /// Layers of the stage before this one, over all its chunks.
  std::int64_t layers_before(std::int64_t piece, std::int64_t layer) const {
    std::int64_t n = layer - first(piece);
    for (std::int64_t chunk = 0; chunk < task_.chunk; ++chunk) {
      const std::int64_t other = pieces_.piece_of(stage_, chunk);
      n += first(other + 1) - first(other);
    }
    return n;
  }
  std::int32_t first(std::int64_t piece) const { return start_[static_cast<std::size_t>(piece)]; }
  bool is_last(std::int64_t piece) const { return piece == pieces_.count() - 1; }

  void forward(std::int64_t piece) {
    const std::int32_t begin = first(piece), end = first(piece + 1);
    if (piece == 0)
      call(embed_forward_, 0);
    else
      cross(piece - 1, &StageExchange::recv_forward, begin);
    for (std::int32_t l = begin; l < end; ++l) layer_forward(piece, l);
    if (is_last(piece))
      heads_forward(piece, end);
    else
      cross(piece, &StageExchange::send_forward, end);
  }
  void layer_forward(std::int64_t piece, std::int32_t l) {
    once(layer(l), l);
    call_forward(passes(piece, l), l);
  }
  void once(const LayerBlocks& blocks, std::int32_t l) {
    if (blocks.once && is_first(task_)) call(*blocks.once, l);
  }
  /// Modules that predict further tokens, then all losses, the model's last, as in Megatron-LM.
  void heads_forward(std::int64_t piece, std::int32_t end) {
    for (std::int64_t k = 0; k < d_.model.mtp_layers; ++k) {
      const std::int32_t l = d_.mtp_layer(k);
      once(mtp_, l);
      call(mtp_.kept.forward, l);
      layer_forward(piece, l);
    }
    for (std::int64_t k = 0; k < d_.model.mtp_layers; ++k) {
      call(mtp_head_.forward, d_.mtp_layer(k));
    }
    call(head_.forward, end);
  }
  void heads_backward(std::int64_t piece, std::int32_t end) {
    call_backward(head_, end);
    for (std::int64_t k = d_.model.mtp_layers; k-- > 0;) {
      call_backward(mtp_head_, d_.mtp_layer(k));
    }
    for (std::int64_t k = d_.model.mtp_layers; k-- > 0;) {
      const std::int32_t l = d_.mtp_layer(k);
      call_backward(passes(piece, l), l);
      call_backward(mtp_.kept, l);
    }
  }
  void backward(std::int64_t piece) {
    const std::int32_t begin = first(piece), end = first(piece + 1);
    if (is_last(piece))
      heads_backward(piece, end);
    else
      cross(piece, &StageExchange::recv_backward, end);
    for (std::int32_t l = end; l-- > begin;) call_backward(passes(piece, l), l);
    if (piece > 0)
      cross(piece - 1, &StageExchange::send_backward, begin);
    else if (!d_.embed_backward.ops.empty())
      call(embed_backward_, 0);
  }
  void weight_grads(std::int64_t piece) {
    const std::int32_t begin = first(piece), end = first(piece + 1);
    if (is_last(piece)) {
      call(head_.weights, end);
      for (std::int64_t k = d_.model.mtp_layers; k-- > 0;) {
        const std::int32_t l = d_.mtp_layer(k);
        call(mtp_head_.weights, l), call(passes(piece, l).weights, l), call(mtp_.kept.weights, l);
      }
    }
    for (std::int32_t l = end; l-- > begin;) call(passes(piece, l).weights, l);
  }

  Draft& d_;
  bool splits_, in_parts_ = false;  // backward into B and W; passes that can take turns
  PieceMap pieces_;
  std::vector<std::int32_t> start_;
  BlockId embed_forward_, embed_backward_;
  std::vector<LayerBlocks> layers_;  // as Draft::layers
  LayerBlocks mtp_;
  PassBlocks head_, mtp_head_;
  std::map<std::int64_t, StageExchange> onward_, back_;  // by the tensor-parallel degree there
  /// Of the stage being written, by chunk and pass: calls for any microbatch but the first.
  std::vector<std::vector<Call>> later_passes_;
  std::vector<std::int32_t> first_microbatch_;  // of each chunk
  // Of the pass being written:
  PassCalls* calls_ = nullptr;
  std::int64_t stage_ = 0;
  Task task_;
  bool paired_ = false;
};

}  // namespace

void apply_pipeline(Draft& d) {
  require_schedule(d);
  ProgramWriter writer(d);
  const std::int64_t stages = d.mesh()[Axis::kPp];
  const std::vector<std::vector<Task>> tasks =
      schedule(d.strategy.pipeline, stages, d.microbatches);
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    d.programs.push_back(writer.write(stage, tasks[static_cast<std::size_t>(stage)]));
    d.program_units.push_back(units_of(d, d.programs.back()));
  }
}

}  // namespace plait
