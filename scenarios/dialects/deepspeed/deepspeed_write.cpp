#include <fmt/format.h>

#include <tuple>

#include "core/json.h"
#include "scenarios/dialects/deepspeed/deepspeed.h"

namespace plait::deepspeed {
namespace {

void write_batch(ExportDraft& d) {
  const Workload& w = d.scenario.workload;
  // DeepSpeed takes the accumulation steps from these two and the number of replicas.
  d.copy("train_batch_size", "workload.global_batch");
  d.copy("train_micro_batch_size_per_gpu", "workload.micro_batch");
  d.set("gradient_clipping", w.gradient_clipping ? "1.0" : "0.0");
  d.say({"workload.gradient_clipping"});
}

/// Without ZeRO gradients have the type of the weights, or are fp32 beside bf16 (engine.py,
/// _do_optimizer_sanity_check).
bool accumulates(const Scenario& s) {
  const Precision& p = s.workload.precision;
  const bool wide = p.weights == DType::kBf16 && p.gradients == DType::kFp32;
  return s.strategy.zero_stage > 0 || p.gradients == p.weights || wide;
}

void write_precision(ExportDraft& d) {
  const Precision& p = d.scenario.workload.precision;
  d.section("bf16");
  d.set("enabled", json_bool(p.weights == DType::kBf16));
  d.section("fp16");
  d.set("enabled", json_bool(p.weights == DType::kFp16));
  if (p.autocast) {
    d.section("torch_autocast");
    d.set("enabled", "true");
    d.set("dtype", p.autocast == DType::kFp16 ? R"("float16")" : R"("bfloat16")");
    d.say({"workload.precision.autocast"});
  }
  d.section("data_types");
  if (accumulates(d.scenario)) {
    d.set("grad_accum_dtype", json_quote(name_of(p.gradients)));
    d.say({"workload.precision.gradients"});
  } else {
    d.contradict("workload.precision.gradients");
  }
  d.section("");
  d.set("communication_data_type", json_quote(name_of(p.reduction)));
  d.say({"workload.precision.weights", "workload.precision.reduction"});
}

/// ZeRO++: secondary shards within groups of so many ranks, and gathers and reductions of 8 and 4
/// bits (deepspeed/runtime/zero/config.py).
void write_zero_plus_plus(ExportDraft& d, bool copies) {
  const Strategy& s = d.scenario.strategy;
  const ZeroPlusPlusOptions& z = s.zero_plus_plus;
  if (z.any() && s.zero_stage != 3) return;
  if (z.secondary_shard && copies) {
    d.set("zero_hpz_partition_size", s.mesh[Axis::kFsdp]);
    d.say({"strategy.fsdp"});
  }
  if (z.quantized_weights) d.set("zero_quantized_weights", "true");
  if (z.quantized_gradients) d.set("zero_quantized_gradients", "true");
  if (!z.secondary_shard || copies) d.say({"strategy.zero_plus_plus.secondary_shard"});
  d.say(
      {"strategy.zero_plus_plus.quantized_weights", "strategy.zero_plus_plus.quantized_gradients"});
}

/// Where drives are no scenario says, and without it no file on them can be opened.
void write_offload(ExportDraft& d) {
  const OffloadOptions& o = d.scenario.strategy.offload;
  const std::int64_t stage = d.scenario.strategy.zero_stage;
  for (const auto& [key, place, path] :
       {std::tuple("offload_optimizer", o.optimizer, "strategy.offload.optimizer"),
        std::tuple("offload_param", o.parameters, "strategy.offload.parameters")}) {
    const bool leaves = place != Offload::kNone, drives = place == Offload::kNvme;
    if (leaves && stage < least_stage_of(key)) {
      d.contradict(path);
    } else if (o.state() && stage > 0) {
      d.say({path});
    }
    if (!leaves || stage < least_stage_of(key)) continue;
    d.set(key, fmt::format(R"({{"device": "{}"{}}})", name_of(place),
                           drives ? R"(, "nvme_path": "NVME_PATH")" : ""));
    if (drives) d.ask(fmt::format("zero_optimization.{}.nvme_path", key));
  }
}

/// Ulysses: ranks of a sequence, by which replicas are fewer (deepspeed/runtime/config.py,
/// DeepSpeedConfig.__init__).
void write_sequences(ExportDraft& d) {
  const Mesh& mesh = d.scenario.strategy.mesh;
  if (mesh[Axis::kUlysses] == 1 || mesh[Axis::kCp] > 1) return;
  d.section("");
  d.set("sequence_parallel_size", mesh[Axis::kUlysses]);
  d.say({"strategy.cp"});
  if (d.scenario.strategy.context.kind == ContextKind::kUlysses) d.say({"strategy.context.kind"});
}

/// Its automatic tensor parallelism goes with no stage 3 (engine.py).
void write_tensor_parallelism(ExportDraft& d) {
  const std::int64_t tp = d.scenario.strategy.mesh.size_of(kTensorAxes);
  if (tp > 1 && d.scenario.strategy.zero_stage == 3) return;
  d.section("tensor_parallel");
  if (tp > 1) d.set("autotp_size", tp);
  d.say({"strategy.tp"});
}

void write_zero(ExportDraft& d) {
  const Strategy& s = d.scenario.strategy;
  const Replicas r = replicas_of(s);
  d.section("zero_optimization");
  // bf16_optimizer.py shards master weights and moments without ZeRO too.
  if (s.zero_stage == 0 && d.scenario.workload.precision.weights == DType::kBf16) {
    d.set("stage", s.zero_stage);
    d.contradict("strategy.zero_stage");
  } else {
    d.copy("stage", "strategy.zero_stage");
  }
  const bool its_copies = s.zero_stage == 3 && s.fsdp.copies == FsdpCopies::kDeepSpeed;
  if (its_copies) d.say({"strategy.fsdp_options.copies"});
  d.copy("overlap_comm", "strategy.data.overlap");
  if (gathers_updates(s.zero_stage) && !s.data.overlap_gathers)
    d.say({"strategy.data.overlap_gathers"});
  const std::int64_t size = size_of(d.scenario.workload.precision.reduction);
  if (s.data.bucket.value % size == 0) {
    d.set("reduce_bucket_size", s.data.bucket.value / size);
    d.say({"strategy.data.bucket"});
  }
  write_offload(d);
  if (s.zero_stage == 3 && size_of(d.scenario.workload.precision.weights) == 2) {
    if (s.keep_weight_shard) {
      d.say({"strategy.keep_weight_shard"});
    } else {
      d.contradict("strategy.keep_weight_shard");
    }
  }
  const bool copies = r.dp > 1 && r.fsdp > 1;
  write_zero_plus_plus(d, copies);
  if (!copies) d.say({s.zero_stage >= 2 ? "strategy.dp" : "strategy.fsdp"});
  write_tensor_parallelism(d);
}

}  // namespace

void write(ExportDraft& draft) {
  write_batch(draft);
  write_sequences(draft);
  write_precision(draft);
  write_zero(draft);
}

}  // namespace plait::deepspeed
