// Mixtures of experts as Megatron-DeepSpeed has them. Options: megatron/arguments.py of
// github.com/microsoft/Megatron-DeepSpeed, where --num-experts 1, the default, is a dense model, k
// of top-k is 1 and each second layer has experts. DeepSpeed's MoE deals experts out over replicas,
// exchanges tokens, and pads what an expert has to its capacity (deepspeed/moe/sharded_moe.py).
#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kForkExperts = "--num-experts", *kTopK = "--topk",
                     *kInterval = "--expert-interval", *kForkRanks = "--moe-expert-parallel-size",
                     *kForkCapacity = "--moe-train-capacity-factor",
                     *kKeepsAll = "--disable-moe-token-dropping", *kKind = "--mlp-type",
                     *kSplits = "--enable-expert-tensor-parallelism";

/// Of all layers with experts.
std::int64_t experts_in(Arguments& args) {
  const Arguments::Option* given = args.find(kForkExperts);
  const std::int64_t experts = args.integer(kForkExperts).value_or(1);
  const bool same = given == nullptr || std::ranges::all_of(given->values, [&](const ShellWord& w) {
                      return w.text == given->values.front().text;
                    });
  if (!same) args.unsupported(kForkExperts, "other numbers of experts in other layers");
  return experts;
}

}  // namespace

void read_deepspeed_experts(Arguments& args, Imported& out, std::int64_t tp, std::int64_t layers,
                            std::int64_t ffn_hidden) {
  for (const char* idle : {"--moe-loss-coeff", "--moe-eval-capacity-factor", "--moe-min-capacity",
                           "--create-moe-param-group", "--lr-decay-tokens", "--lr-warmup-tokens"}) {
    args.pass_over(idle);
  }
  const std::int64_t experts = experts_in(args);
  const std::int64_t k = args.integer(kTopK).value_or(1), ep = args.integer(kForkRanks).value_or(1),
                     every = args.integer(kInterval).value_or(2);
  const double capacity = args.number(kForkCapacity).value_or(1);
  const bool keeps_all = args.flag(kKeepsAll), splits = args.flag(kSplits);
  const bool residual = args.one_of(kKind, {"standard", "residual"}) == "residual";
  const auto give = [&](const char* by, const char* path, std::string json) {
    out.give(path, std::move(json), args.line(by));
  };
  if (experts == 1) {
    if (layers > 0) give(kForkExperts, "model.experts", "0");
    return;
  }
  if (residual) args.unsupported(kKind, "an MLP beside the experts whose sum is weighed");
  give(kForkExperts, "model.experts", std::to_string(experts));
  give(kTopK, "model.experts_per_token", std::to_string(k));
  give("--ffn-hidden-size", "model.expert_ffn_hidden", std::to_string(ffn_hidden));
  give("", "model.shared_ffn_hidden", "0");
  give(kInterval, "model.first_dense_layers", std::to_string(every - 1));
  give(kInterval, "model.moe_every", std::to_string(every));
  give(keeps_all ? kKeepsAll : kForkCapacity, "workload.capacity_factor",
       json_number(keeps_all ? 0 : capacity));
  give("", "strategy.expert_dispatch", R"("all_to_all")");
  give(kForkRanks, "strategy.ep", std::to_string(ep));
  give(kForkRanks, "strategy.expert_axes", R"("ep")");
  // deepspeed/moe/experts.py: layers of their own.
  give("", "kernels.experts", R"("eager")");
  out.warnings.push_back(
      {"W008", "DeepSpeed's experts are read as products of one layer, one behind the other"});
  if (tp > 1 && !splits) {
    out.warnings.push_back(
        {"W008",
         fmt::format(
             "experts are read as split along tp, as with {}: without it each rank has whole ones",
             kSplits)});
  }
}

}  // namespace plait::megatron
