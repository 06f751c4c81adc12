#include "plan/strategies/offload.h"

#include "plan/refusal.h"
#include "plan/schedule.h"

namespace plait {
namespace {

/// Where the shards that are gathered are the optimizer's master weights.
void require_one_place(const Draft& d) {
  const OffloadOptions& o = d.strategy.offload;
  const bool master_is_shard = d.strategy.zero_stage == 3 && !d.strategy.keep_weight_shard &&
                               d.workload.precision.has_master();
  const bool in_memory = o.optimizer == Offload::kCpu && o.parameters == Offload::kCpu;
  if (!master_is_shard || o.optimizer == Offload::kNone || in_memory) return;
  const std::string why = o.optimizer == o.parameters
                              ? "no weights are gathered from a master on drives"
                              : "the optimizer has these in another place than the parameters";
  throw refusal(
      "S101", "the shards that are gathered are the optimizer's master weights, and " + why,
      "strategy.offload.parameters",
      "strategy.offload.optimizer and parameters both \"cpu\" (FSDP), or shards of the "
      "weights beside their master (DeepSpeed)",
      std::string("set strategy.offload.") +
          (o.optimizer == Offload::kCpu ? "parameters" : "optimizer and parameters") +
          " to \"cpu\", or strategy.keep_weight_shard to true",
      {"strategy.offload.optimizer", "strategy.keep_weight_shard", "strategy.zero_stage"});
}

void require_offload(const Draft& d) {
  const OffloadOptions& o = d.strategy.offload;
  const bool parameters = o.parameters != Offload::kNone, optimizer = o.optimizer != Offload::kNone;
  if (parameters && (d.strategy.zero_stage != 3 || !optimizer)) {
    throw refusal(
        "S100", "parameters that stay in host memory are shards, which Adam updates there",
        "strategy.offload.parameters", "strategy.zero_stage = 3 and strategy.offload.optimizer",
        "set these two, or strategy.offload.parameters to \"none\"",
        {"strategy.offload.optimizer", "strategy.zero_stage"});
  }
  require_one_place(d);
  if (parameters && d.strategy.zero_plus_plus.secondary_shard) {
    throw refusal("S102", "a secondary shard would keep on the device what offload takes away",
                  "strategy.offload.parameters", "\"none\" with a secondary shard",
                  "switch off strategy.zero_plus_plus.secondary_shard",
                  {"strategy.zero_plus_plus.secondary_shard"});
  }
  if (o.state() && both_ways(d.strategy)) {
    throw refusal(
        "S037",
        "gradients that leave the device cannot be summed over the two stages that hold "
        "each piece",
        "strategy.offload.optimizer", "\"none\" with strategy.pipeline.schedule = \"dualpipe\"",
        "set it to \"none\", or the schedule to \"dualpipe-v\"", {"strategy.pipeline.schedule"});
  }
  if (o.activations == Offload::kNvme) {
    throw refusal("S103", "activations are offloaded to host memory only",
                  "strategy.offload.activations", "\"none\" or \"cpu\"", "set it to \"cpu\"");
  }
  if (o.activation_layers >= 0 && o.activations == Offload::kNone) {
    throw refusal("S104", "a number of offloaded layers goes with offloaded activations",
                  "strategy.offload.activation_layers", "strategy.offload.activations = \"cpu\"",
                  "remove it, or set strategy.offload.activations",
                  {"strategy.offload.activations"});
  }
}

}  // namespace

void apply_offload(Draft& d) {
  require_offload(d);
  const OffloadOptions& o = d.strategy.offload;
  if (o.activations != Offload::kNone) offload_activations(d);
  if (o.state()) offload_state(d);
}

}  // namespace plait
