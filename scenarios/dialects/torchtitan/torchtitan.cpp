#include "scenarios/dialects/torchtitan/torchtitan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "plan/refusal.h"
#include "plan/strategies/pieces.h"
#include "scenarios/dialects/hub_names.h"

namespace plait::torchtitan {
namespace {

void write_model(ExportDraft& d) {
  const TitanModel model = titan_model_of(d.scenario.model);
  d.section("model");
  if (!model.name.empty()) {
    d.set("name", json_quote(model.name));
    d.set("flavor", json_quote(model.flavor));
    d.say({"model"});
  } else {
    d.ask(fmt::format("name and flavor of {} in [model]", d.scenario.model.name));
  }
  const Precision& p = d.scenario.workload.precision;
  if (p.matmul == DType::kFp8) d.set("converters", R"(["float8"])");
}

/// torchao's scaling of rows, or of whole tensors, which is what it gathers in 8 bits.
void write_float8(ExportDraft& d) {
  if (d.scenario.workload.precision.scales_rows()) {
    d.section("float8");
    d.set("recipe_name", R"("rowwise")");
    return d.say({"workload.precision.scales"});
  }
  if (!d.scenario.workload.precision.gathers_narrow() || d.scenario.strategy.zero_stage < 3) return;
  d.section("float8");
  d.set("enable_fsdp_float8_all_gather", "true");
  d.set("precompute_float8_dynamic_scale_for_fsdp",
        json_bool(d.scenario.strategy.fsdp.early_scales));
  d.say({"workload.precision.narrow_weights", "strategy.fsdp_options.early_scales"});
}

/// Products in pieces beside what travels, which its compiler makes of them.
bool hides_tensor_parallelism(const Strategy& s) {
  return s.mesh.size_of(kTensorAxes) > 1 && s.tensor.overlap == TensorOverlap::kRing;
}

/// torch.compile makes one kernel each of what eager PyTorch runs as chains.
bool is_compiled(const Scenario& s) {
  const Kernels& k = s.kernels;
  const bool fused =
      k.norm == Fusion::kFused && k.rope == Fusion::kFused && k.activation == Fusion::kFused;
  return fused || hides_tensor_parallelism(s.strategy);
}

/// Whole ones; without their number it takes 10,000.
void write_steps(ExportDraft& d) {
  const Workload& w = d.scenario.workload;
  const double tokens = d.scenario.training ? d.scenario.training->tokens : 0;
  const auto of_step = static_cast<double>(w.global_batch) * static_cast<double>(w.sequence_length);
  const auto steps = static_cast<std::int64_t>(tokens / of_step);
  if (steps > 0) d.set("steps", steps);
  if (static_cast<double>(steps) * of_step == tokens) d.say({"training.tokens"});
}

/// D009: ranks along tp share a sequence, of which each along cp has two pieces
/// (torchtitan/distributed/parallel_dims.py, seq_len_divisor).
void require_pieces(const Scenario& s) {
  const Mesh& mesh = s.strategy.mesh;
  const std::int64_t length = s.workload.sequence_length;
  const std::int64_t pieces = 2 * mesh.size_of(kTensorAxes) * mesh.size_of(kContextAxes);
  if (length % pieces == 0) return;
  throw locate(
      refusal("D009", fmt::format("torchtitan cuts a sequence into 2 * tp * cp = {} parts", pieces),
              "workload.sequence_length", fmt::format("a multiple of {}", pieces),
              fmt::format("--set workload.sequence_length={}", round_up(length, pieces))),
      s);
}

void write_training(ExportDraft& d) {
  const Workload& w = d.scenario.workload;
  const Mesh& mesh = d.scenario.strategy.mesh;
  const std::int64_t replicas = mesh[Axis::kDp] * mesh[Axis::kFsdp] * mesh[Axis::kEp];
  d.section("training");
  d.copy("seq_len", "workload.sequence_length");
  d.copy("global_batch_size", "workload.global_batch");
  // With pipeline stages a step is one local batch, cut into microbatches.
  const bool staged = mesh[Axis::kPp] > 1;
  d.set("local_batch_size", staged ? w.global_batch / replicas : w.micro_batch);
  d.say({"workload.micro_batch"});
  const Precision& p = w.precision;
  if (p.weights != DType::kFp16) {
    d.set("mixed_precision_param", p.weights == DType::kBf16 ? R"("bfloat16")" : R"("float32")");
    d.say({"workload.precision.weights"});
    if (p.matmul != DType::kNvfp4) d.say({"workload.precision.matmul"});
  }
  if (p.reduction == DType::kFp32) {
    d.set("mixed_precision_reduce", R"("float32")");
    d.say({"workload.precision.reduction"});
  }
  if (w.gradient_clipping) {
    d.set("max_norm", "1.0");
    d.say({"workload.gradient_clipping"});
  }
  const Strategy& s = d.scenario.strategy;
  if (is_compiled(d.scenario)) d.set("compile", "true");
  write_steps(d);
  const OffloadOptions& o = s.offload;
  if (s.zero_stage == 3 && o.optimizer == Offload::kCpu && o.parameters == Offload::kCpu) {
    d.set("enable_cpu_offload", "true");
    d.say({"strategy.offload.optimizer", "strategy.offload.parameters"});
  }
}

/// Both ends count 1 by default, and stages are as many as shares of `layers_per_stage` need.
void write_stages(ExportDraft& d, std::int64_t stages) {
  const std::int64_t layers = d.scenario.model.layers;
  const std::vector<std::int32_t> start =
      first_layers(layers, stages, d.scenario.strategy.pipeline);
  std::vector<std::int64_t> each;
  for (std::size_t i = 0; i + 1 < start.size(); ++i) each.push_back(start[i + 1] - start[i]);
  const std::int64_t most = *std::ranges::max_element(each);
  for (const std::int64_t last : {most - each.back(), most - each.back() - 1}) {
    const Ends ends = {most - each.front(), last};
    const std::int64_t all = layers + ends.first + ends.last;
    const bool fits =
        (all + most - 1) / most == stages && std::max(ends.first, last) <= all / stages;
    if (last < 0 || !fits || shared_by_titan(layers, stages, ends) != each) continue;
    d.set("pipeline_parallel_layers_per_stage", most);
    d.set("pipeline_parallel_first_stage_less_layers", ends.first);
    d.set("pipeline_parallel_last_stage_less_layers", ends.last);
    d.say({"strategy.pipeline.chunks", "strategy.pipeline.first_stage_layers",
           "strategy.pipeline.last_stage_layers", "strategy.pipeline.stage_layers",
           "strategy.pipeline.ends_are_layers"});
    return;
  }
}

void write_pipeline(ExportDraft& d) {
  const Strategy& s = d.scenario.strategy;
  const PipelineOptions& p = s.pipeline;
  const std::int64_t pp = s.mesh[Axis::kPp];
  d.copy("pipeline_parallel_degree", "strategy.pp");
  if (pp == 1) return;
  d.set("pipeline_parallel_microbatch_size", d.scenario.workload.micro_batch);
  const char* name = p.schedule == Schedule::k1f1b          ? "1F1B"
                     : p.schedule == Schedule::kGpipe       ? "GPipe"
                     : p.schedule == Schedule::kInterleaved ? "Interleaved1F1B"
                     : p.schedule == Schedule::kZbV         ? "ZBVZeroBubble"
                                                            : nullptr;
  if (name != nullptr) {
    d.set("pipeline_parallel_schedule", json_quote(name));
    d.say({"strategy.pipeline.schedule"});
  }
  write_stages(d, pp * p.chunks);
}

/// "default": of all layers but the last, and in a pipeline of none
/// (torchtitan/distributed/fsdp.py, get_fsdp_reshard_after_forward_policy).
void write_resharding(ExportDraft& d) {
  const FsdpOptions& f = d.scenario.strategy.fsdp;
  const bool always = f.reshard_last_layer || d.scenario.strategy.mesh[Axis::kPp] > 1;
  d.set("fsdp_reshard_after_forward", !f.reshard_after_forward ? R"("never")"
                                      : always                 ? R"("always")"
                                                               : R"("default")");
  d.say({"strategy.fsdp_options.reshard_after_forward"});
  if (!f.reshard_after_forward || f.reshard_last_layer == always) {
    d.say({"strategy.fsdp_options.reshard_last_layer"});
  } else {
    d.contradict("strategy.fsdp_options.reshard_last_layer");
  }
}

/// Whole replicas (DDP) go with no other parallelism (torchtitan/models/llama3/infra/
/// parallelize.py): without their number it shards over the ranks that are left.
bool refuses_replicas(const Strategy& s) {
  const Mesh& mesh = s.mesh;
  const std::int64_t others =
      mesh[Axis::kPp] * mesh[Axis::kEp] * mesh.size_of(kTensorAxes) * mesh.size_of(kContextAxes);
  return s.zero_stage == 0 && replicas_of(s).dp > 1 && others > 1;
}

/// Experts are dealt to ranks that shard the other weights, those along cp among them.
void write_experts(ExportDraft& d) {
  const Strategy& s = d.scenario.strategy;
  const std::int64_t ep = s.mesh[Axis::kEp], cp = s.mesh.size_of(kContextAxes);
  const bool over_cp = s.experts.axes.has(Axis::kCp);
  if (d.scenario.model.experts == 0 || s.experts.axes.has(Axis::kTp) || (cp > 1 && !over_cp))
    return;
  d.set("expert_parallel_degree", ep * (over_cp ? cp : 1));
  d.say({"strategy.ep"});
}

void write_parallelism(ExportDraft& d) {
  const Strategy& s = d.scenario.strategy;
  const Replicas r = replicas_of(s);
  d.section("parallelism");
  if (refuses_replicas(s)) {
    d.contradict("strategy.dp");
    d.contradict("strategy.zero_stage");
  } else if (s.zero_stage == 0 || s.zero_stage == 3) {
    d.set("data_parallel_replicate_degree", r.dp);
    d.set("data_parallel_shard_degree", r.fsdp * s.mesh[Axis::kEp]);
    d.say({"strategy.dp", "strategy.fsdp", "strategy.zero_stage"});
  }
  write_experts(d);
  if (s.zero_stage == 3) {
    write_resharding(d);
    if (s.fsdp.root) d.say({"strategy.fsdp_options.root"});  // what has no unit of its own
    if (s.fsdp.copies == FsdpCopies::kFsdp2) d.say({"strategy.fsdp_options.copies"});
    if (s.sums_whole_gradients() == (s.mesh[Axis::kPp] > 1)) {  // PyTorch's pipelines do so
      d.say({"strategy.fsdp_options.no_sync"});
    }
  }
  d.copy("tensor_parallel_degree", "strategy.tp");
  if (hides_tensor_parallelism(s)) {
    d.set("enable_async_tensor_parallel", "true");
    d.say({"strategy.tensor.overlap"});
  }
  d.copy("context_parallel_degree", "strategy.cp");
  if (s.mesh[Axis::kCp] > 1 && s.mesh[Axis::kUlysses] == 1) {
    d.set("context_parallel_rotate_method", s.context.rings() ? R"("alltoall")" : R"("allgather")");
    d.say({"strategy.context.kind"});
  }
  // Its tensor parallelism shards norms and residuals along the sequence.
  if (s.sequence_parallel == (s.mesh.size_of(kTensorAxes) > 1)) {
    d.say({"strategy.sequence_parallel"});
  } else {
    d.contradict("strategy.sequence_parallel");
  }
  write_pipeline(d);
}

void write_recompute(ExportDraft& d) {
  const RecomputeOptions& r = d.scenario.strategy.recompute;
  d.section("activation_checkpoint");
  if (r.kind == Recompute::kSelective || r.kind == Recompute::kModules) return;
  if ((r.kind == Recompute::kFull && r.layers >= 0) || !r.keep.empty()) return;
  const bool each = r.kind == Recompute::kFull && r.every > 1;
  if (r.kind == Recompute::kNone) d.set("mode", R"("none")");
  if (r.kind == Recompute::kFull && !each) d.set("mode", R"("full")");
  if (r.kind == Recompute::kOps || each) {
    d.set("mode", R"("selective")");
    d.set("selective_ac_option", each ? fmt::format(R"("{}")", r.every) : R"("op")");
  }
  d.say({"strategy.recompute.kind", "strategy.recompute.every", "strategy.recompute.layers"});
}

}  // namespace

std::vector<std::int64_t> shared_by_titan(std::int64_t layers, std::int64_t stages, Ends ends) {
  const std::int64_t all = layers + ends.first + ends.last;
  std::vector<std::int64_t> out(static_cast<std::size_t>(stages), all / stages);
  for (std::int64_t i = 0; i < all % stages; ++i) ++out[static_cast<std::size_t>(i)];
  out.front() -= ends.first, out.back() -= ends.last;
  return out;
}

void write(ExportDraft& draft) {
  require_pieces(draft.scenario);
  write_model(draft);
  write_float8(draft);
  write_training(draft);
  write_parallelism(draft);
  write_recompute(draft);
}

}  // namespace plait::torchtitan
