#include "plan/strategies/require_sharding.h"

#include <string>

#include "plan/refusal.h"
#include "plan/strategies/data_parallel.h"

namespace plait {
namespace {

void require_zero_plus_plus(const Draft& d) {
  const ZeroPlusPlusOptions& z = d.strategy.zero_plus_plus;
  if (z.any() && d.strategy.zero_stage != 3) {
    throw refusal("S028", "ZeRO++ gathers sharded parameters", "strategy.zero_plus_plus",
                  "strategy.zero_stage = 3", "set strategy.zero_stage to 3",
                  {"strategy.zero_stage"});
  }
  if (z.secondary_shard && (d.mesh()[Axis::kDp] == 1 || d.mesh()[Axis::kFsdp] == 1)) {
    throw refusal("S029", "a secondary shard lies within fsdp, the primary one over dp and fsdp",
                  "strategy.zero_plus_plus.secondary_shard", "dp and fsdp above 1",
                  "set strategy.fsdp to the ranks of a node, strategy.dp to the nodes",
                  {"strategy.dp", "strategy.fsdp"});
  }
}

/// On one rank stage 3 says where parameters that leave the device are while nothing needs them.
[[noreturn]] void refuse_one_replica(int stage) {
  throw refusal("S022",
                "zero_stage shards over data-parallel, context-parallel and expert-parallel ranks, "
                "and there is only one",
                "strategy.zero_stage",
                "strategy.fsdp, strategy.dp, strategy.cp or strategy.ep above 1",
                std::string("set strategy.zero_stage to 0") +
                    (stage == 3 ? ", or strategy.offload.optimizer and parameters to \"cpu\"" : ""),
                {"strategy.fsdp", "strategy.dp", "strategy.cp", "strategy.ep"});
}

}  // namespace

void require_sharding(const Draft& d) {
  const int stage = d.strategy.zero_stage;
  const std::int64_t n = d.mesh().size_of(d.strategy.shard_axes());
  if (stage < 0 || stage > 3) {
    throw refusal("S020", "there is no zero_stage " + std::to_string(stage), "strategy.zero_stage",
                  "0, 1, 2 or 3", "choose one of them");
  }
  if (d.mesh()[Axis::kFsdp] > 1 && stage == 0) {
    throw refusal("S021", "the fsdp axis shards nothing with zero_stage = 0", "strategy.zero_stage",
                  "1, 2 or 3 where fsdp is above 1",
                  "set strategy.zero_stage to 3, or move the ranks from fsdp to dp",
                  {"strategy.fsdp"});
  }
  if (stage > 0 && n == 1 && !d.strategy.fetches_shards()) refuse_one_replica(stage);
  if (tied_apart(d) && stage >= 2 && !d.workload.lora.any()) {
    throw refusal(
        "S025",
        "a tied embedding on two pipeline stages cannot be sharded: its two copies lie at "
        "different places of different shards",
        "strategy.zero_stage", "0 or 1 with tied embeddings and pp above 1",
        "set strategy.zero_stage to 1, or strategy.pp to 1",
        {"strategy.pp", "model.tied_embeddings"});
  }
  if (d.strategy.data.all_reduce && stage >= 2) {
    throw refusal("S051", "sharded gradients are not summed on every rank",
                  "strategy.data.all_reduce", "strategy.zero_stage 0 or 1",
                  "remove strategy.data.all_reduce, or set strategy.zero_stage to 1",
                  {"strategy.zero_stage"});
  }
  require_zero_plus_plus(d);
}

}  // namespace plait
