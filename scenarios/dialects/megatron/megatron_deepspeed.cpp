// Megatron-DeepSpeed, the fork whose trainings DeepSpeed runs (--deepspeed): the options of its
// arguments.py that Megatron-LM has not, and what the same options mean there.

#include <fmt/format.h>

#include "core/json.h"
#include "core/units.h"
#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {

namespace {

constexpr const char* kStage = "--zero-stage";

std::int64_t stage_of(Arguments& args, Warnings& warnings) {
  if (args.find(kStage) == nullptr) {
    warnings.push_back({"W008",
                        "the ZeRO stage is read as 1, as --zero-stage is absent: the file of "
                        "--deepspeed_config says which it is"});
  }
  const std::int64_t stage = args.integer(kStage, 0).value_or(1);
  if (stage > 3) args.malformed(kStage, "an integer from 0 to 3");
  return stage;
}

}  // namespace

Fork fork_of(Arguments& args, Warnings& warnings) {
  Fork out;
  out.deepspeed = args.flag("--deepspeed");
  if (!out.deepspeed) return out;
  for (const char* name : {"--use-flash-attn", "--use-flash-attn-v1", "--use-flash-attn-v2",
                           "--use-flash-attn-triton"}) {
    out.flash_attention = args.flag(name) || out.flash_attention;
  }
  // Which checkpoints activations; --checkpoint-activations says whether it does.
  args.flag("--deepspeed-activation-checkpointing");
  out.zero_stage = stage_of(args, warnings);
  return out;
}

std::int64_t read_ulysses(Arguments& args, Imported& out) {
  constexpr const char* kRanks = "--ds-sequence-parallel-size";
  const std::int64_t ranks = args.integer(kRanks).value_or(1);
  if (ranks == 1) return 1;
  out.give("strategy.cp", std::to_string(ranks), args.line(kRanks));
  out.give("strategy.context.kind", R"("ulysses")", args.line(kRanks));
  return ranks;
}

std::string framework_of(const Fork& fork) {
  if (!fork.deepspeed) return "megatron-core";
  return fork.flash_attention ? "megatron-deepspeed-flash" : "megatron-deepspeed";
}

void read_zero(Arguments& args, Imported& out, const Fork& fork, const ArgumentTypes& types) {
  constexpr std::int64_t kBucket = 500'000'000;  // elements: reduce_bucket_size of ds_config.json
  const std::int64_t stage = fork.zero_stage;
  const auto give = [&](const char* path, std::string json) {
    out.give(path, std::move(json), args.line(kStage));
  };
  // deepspeed/runtime/bf16_optimizer.py shards what it keeps in fp32 though there is no ZeRO.
  const bool shards_masters = stage == 0 && types.weights == "bf16";
  give("strategy.zero_stage", std::to_string(shards_masters ? 1 : stage));
  if (shards_masters) {
    give("strategy.data.all_reduce", "true");
    out.warnings.push_back(
        {"W008",
         fmt::format("{} 0 with --bf16 is read as zero_stage 1 with data.all_reduce and gradients "
                     "in fp32: DeepSpeed's BF16_Optimizer shards master weights and moments there",
                     kStage)});
  }
  if (stage == 3) {
    give("strategy.fsdp_options.copies", R"("deepspeed")");
    give("strategy.keep_weight_shard", json_bool(types.weights != "fp32"));
  }
  out.rest_shards = stage >= 2;
  give(out.rest_shards ? "strategy.dp" : "strategy.fsdp", "1");
  // config.py: overlap_comm is on by default for stage 3 only.
  give("strategy.data.overlap", json_bool(stage == 3));
  if (stage < 2)
    give("strategy.data.bucket", json_quote(exact_text(Bytes(kBucket * types.bytes_reduced))));
}

}  // namespace plait::megatron
