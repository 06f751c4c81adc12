// Megatron-DeepSpeed, the fork whose trainings DeepSpeed runs (--deepspeed): the options of its
// arguments.py that Megatron-LM has not, and what the same options mean there.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/json.h"
#include "core/units.h"
#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/deepspeed/deepspeed.h"
#include "scenarios/dialects/megatron/megatron.h"
#include "scenarios/dialects/shell/written_settings.h"

namespace plait::megatron {

namespace {

constexpr const char *kStage = "--zero-stage", *kConfigFile = "--deepspeed-config",
                     *kOnHost = "--cpu-optimizer";

/// What the script writes as the file of --deepspeed_config; nothing where it writes none that can
/// be read, which is told.
std::optional<Imported> written_config(Arguments& args, const std::string& script,
                                       const std::string& file, Warnings& warnings) {
  const Arguments::Option* named = args.find(kConfigFile);
  if (named == nullptr || named->values.empty()) return std::nullopt;
  const auto document = written_as(script, named->values.front().text);
  if (!document) return std::nullopt;
  try {
    return deepspeed::read(in_place(*document), file);
  } catch (const InputError& e) {
    warn_unread({fmt::format("the file of {} that the script writes: {} (line {})", kConfigFile,
                             e.text().problem, e.text().where.line)},
                warnings);
    return std::nullopt;
  }
}

/// Of ZeRO and where things are: batches, types and ranks are the arguments'.
bool is_of_engine(const Given& g) {
  constexpr std::string_view kParts[] = {"strategy.offload.", "strategy.zero_plus_plus.",
                                         "strategy.data.", "workload.gradient_clipping"};
  return std::ranges::any_of(kParts, [&](std::string_view p) { return g.path.starts_with(p); });
}

/// 0 where it shards by BF16_Optimizer alone.
std::int64_t stage_in(const Imported& config) {
  std::int64_t out = 0;
  for (const Given& g : config.given) {
    if (g.path == "strategy.zero_stage") out = std::stoll(g.value);
  }
  const bool reduces_whole = std::ranges::any_of(
      config.given, [](const Given& g) { return g.path == "strategy.data.all_reduce"; });
  return reduces_whole ? 0 : out;
}

/// DeepSpeed runs by its file; the argument decides where that is not known.
std::int64_t stage_of(Arguments& args, const std::optional<Imported>& config, Warnings& warnings) {
  const auto said = args.integer(kStage, 0);
  if (said > 3) args.malformed(kStage, "an integer from 0 to 3");
  const std::int64_t written = config ? stage_in(*config) : said.value_or(1);
  if (!config && !said) {
    warnings.push_back({"W008",
                        "the ZeRO stage is read as 1, as --zero-stage is absent: the file of "
                        "--deepspeed_config says which it is"});
  }
  if (said && *said != written) {
    warnings.push_back(
        {"W008", fmt::format("{} {} (line {}) is left out: the file of {} has stage {}", kStage,
                             *said, args.line(kStage), kConfigFile, written)});
  }
  return written;
}

}  // namespace

Fork fork_of(Arguments& args, const std::string& script, const std::string& file,
             Warnings& warnings) {
  Fork out;
  out.deepspeed = args.flag("--deepspeed");
  if (!out.deepspeed) return out;
  for (const char* name : {"--use-flash-attn", "--use-flash-attn-v1", "--use-flash-attn-v2",
                           "--use-flash-attn-triton"}) {
    out.flash_attention = args.flag(name) || out.flash_attention;
  }
  // Which checkpoints activations; --checkpoint-activations says whether it does.
  args.flag("--deepspeed-activation-checkpointing");
  std::optional<Imported> config = written_config(args, script, file, warnings);
  out.zero_stage = stage_of(args, config, warnings);
  if (!config) return out;
  std::ranges::copy_if(config->given, std::back_inserter(out.written), is_of_engine);
  append(warnings, std::move(config->warnings));
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
  if (args.flag(kOnHost) && stage > 0)
    out.give("strategy.offload.optimizer", R"("cpu")", args.line(kOnHost));
  for (const Given& g : fork.written) {
    std::erase_if(out.given, [&](const Given& other) { return other.path == g.path; });
    out.given.push_back(g);
  }
}

}  // namespace plait::megatron
