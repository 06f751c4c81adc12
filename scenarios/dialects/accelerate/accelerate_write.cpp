#include <fmt/format.h>

#include "core/json.h"
#include "plan/refusal.h"
#include "scenarios/dialects/accelerate/accelerate.h"
#include "scenarios/dialects/export_draft.h"

namespace plait::accelerate {
namespace {

void say_or_contradict(ExportDraft& d, const char* path, bool as_done) {
  if (as_done) {
    d.say({path});
  } else {
    d.contradict(path);
  }
}

void write_mesh(ExportDraft& d) {
  const Mesh& mesh = d.scenario.strategy.mesh;
  const Replicas r = replicas_of(d.scenario.strategy);
  const std::int64_t cp = mesh.size_of(kContextAxes);
  const bool splits = mesh.size_of(kTensorAxes) * cp > 1;
  const bool several = splits || (r.dp > 1 && r.fsdp > 1);
  // parallelism_config.py refuses tp and cp together with plain replicas, has no pp, and no ep
  // among the sizes whose product is num_processes.
  if (mesh[Axis::kPp] > 1 || (splits && r.dp > 1 && r.fsdp == 1)) return;
  if (several && mesh[Axis::kEp] > 1) return;
  if (several) {
    d.section("parallelism_config");
    d.set("parallelism_config_dp_replicate_size", r.dp);
    d.set("parallelism_config_dp_shard_size", r.fsdp);
    d.set("parallelism_config_cp_size", cp);
    d.set("parallelism_config_tp_size", mesh.size_of(kTensorAxes));
  }
  d.say({"strategy.cp", "strategy.tp", "strategy.zero_stage", "strategy.dp", "strategy.fsdp"});
}

void write_fsdp(ExportDraft& d) {
  const Strategy& s = d.scenario.strategy;
  const bool full = s.recompute.kind == Recompute::kFull && s.recompute.layers < 0;
  d.section("fsdp_config");
  d.set("fsdp_version", 2);
  d.set("fsdp_reshard_after_forward", json_bool(s.fsdp.reshard_after_forward));
  d.set("fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  const OffloadOptions& o = s.offload;
  const bool on_host = o.optimizer == Offload::kCpu && o.parameters == Offload::kCpu;
  d.set("fsdp_offload_params", json_bool(on_host));
  if (on_host) d.say({"strategy.offload.optimizer", "strategy.offload.parameters"});
  d.set("fsdp_activation_checkpointing", json_bool(full));
  d.set("fsdp_cpu_ram_efficient_loading", "true");
  d.set("fsdp_state_dict_type", "SHARDED_STATE_DICT");
  d.say({"strategy.fsdp_options.reshard_after_forward"});
  if (s.fsdp.copies == FsdpCopies::kFsdp2) d.say({"strategy.fsdp_options.copies"});
  if (s.fsdp.root) d.say({"strategy.fsdp_options.root"});  // what no layer wraps
  if (full && s.recompute.every == 1) {                    // without it the script may still say so
    d.say({"strategy.recompute.kind", "strategy.recompute.every", "strategy.recompute.layers"});
  }
}

void write_gradients(ExportDraft& d) {
  const Precision& p = d.scenario.workload.precision;
  say_or_contradict(d, "workload.precision.gradients", p.gradients == DType::kFp32);
  say_or_contradict(d, "workload.precision.reduction", p.reduction == p.weights);
}

/// D009: Accelerate has stages 1 and 2 by DeepSpeed alone, which splits nothing else there, and
/// says nothing of drives.
void require_replicas(const Scenario& scenario) {
  const Strategy& s = scenario.strategy;
  const Replicas r = replicas_of(s);
  const bool one_axis = r.dp == 1 || r.fsdp == 1;
  const bool drives = s.offload.optimizer == Offload::kNvme;
  if (one_axis && r.dp * r.fsdp == s.mesh.world_size() && !drives) return;
  throw locate(refusal("D009",
                       fmt::format("Accelerate has no zero_stage = {} beside {}", s.zero_stage,
                                   drives ? "state on drives" : "other axes than one of replicas"),
                       drives ? "strategy.offload.optimizer" : "strategy.zero_stage",
                       "zero_stage 0 or 3, or replicas alone with state on devices or hosts",
                       "write DeepSpeed's own file: --to deepspeed"),
               scenario);
}

/// What DeepSpeed does where Accelerate's file does not say (deepspeed::read): gradients of the
/// weights' type, and buckets one after another.
void write_deepspeed(ExportDraft& d) {
  const Scenario& s = d.scenario;
  const Precision& p = s.workload.precision;
  const DataParallelOptions& data = s.strategy.data;
  d.section("deepspeed_config");
  d.copy("zero_stage", "strategy.zero_stage");
  d.set("gradient_clipping", s.workload.gradient_clipping ? "1.0" : "0.0");
  d.set("offload_optimizer_device", std::string(name_of(s.strategy.offload.optimizer)));
  if (s.strategy.offload.state()) d.say({"strategy.offload.optimizer"});
  d.say(
      {"workload.gradient_clipping", "strategy.dp", "strategy.fsdp", "strategy.tp", "strategy.cp"});
  const bool at_the_end = !data.overlap_gathers || !gathers_updates(s.strategy.zero_stage);
  const std::int64_t bucket = 500'000'000 * size_of(p.reduction);
  for (const auto& [path, as_done] :
       {std::pair("workload.precision.gradients", p.gradients == p.weights),
        std::pair("workload.precision.reduction", p.reduction == p.weights),
        std::pair("strategy.data.overlap", !data.overlap),
        std::pair("strategy.data.overlap_gathers", at_the_end),
        std::pair("strategy.data.bucket", data.bucket.value == bucket)}) {
    say_or_contradict(d, path, as_done);
  }
}

}  // namespace

void write(ExportDraft& d) {
  const Strategy& s = d.scenario.strategy;
  const Precision& p = d.scenario.workload.precision;
  const bool shards = s.zero_stage == 3, by_deepspeed = s.zero_stage == 1 || s.zero_stage == 2;
  if (by_deepspeed) require_replicas(d.scenario);
  d.set("compute_environment", "LOCAL_MACHINE");
  d.set("distributed_type", shards ? "FSDP" : by_deepspeed ? "DEEPSPEED" : "MULTI_GPU");
  // Without FSDP and DeepSpeed 16 bits are torch.autocast's.
  const bool wraps = !shards && !by_deepspeed;
  const DType type = wraps ? p.autocast.value_or(DType::kFp32) : p.weights;
  d.set("mixed_precision", type == DType::kFp32 ? "'no'" : std::string(name_of(type)));
  if (wraps && p.autocast) d.say({"workload.precision.autocast"});
  d.set("machine_rank", 0);
  d.set("main_training_function", "main");
  d.set("num_machines", d.hosts().count);
  d.set("num_processes", d.scenario.cluster.world_size());
  d.say({"cluster.nodes", "cluster.devices_per_node"});
  if (d.hosts().count > 1) {
    d.ask("main_process_ip and main_process_port; machine_rank, which each machine has its own of");
  }
  const bool stored = !wraps || p.weights == DType::kFp32;
  say_or_contradict(d, "workload.precision.weights", stored);
  if (p.matmul == p.weights) say_or_contradict(d, "workload.precision.matmul", stored);
  if (by_deepspeed) return write_deepspeed(d);
  if (shards) write_gradients(d);
  if (shards) write_fsdp(d);
  write_mesh(d);
}

}  // namespace plait::accelerate
