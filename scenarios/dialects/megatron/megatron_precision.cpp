// Types of weights, gradients and what the optimizer keeps, as Megatron-LM's arguments say them.
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kBf16 = "--bf16", *kFp16 = "--fp16", *kReduceNarrow = "--grad-reduce-in-bf16",
                     *kReduceWide = "--accumulate-allreduce-grads-in-fp32",
                     *kMain = "--main-grads-dtype", *kAware = "--use-precision-aware-optimizer",
                     *kNarrowLoss = "--fp16-lm-cross-entropy";

/// --main-grads-dtype bf16, with the optimizer that has such: they are reduced so too
/// (arguments.py: fp32 turns on what accumulates and reduces in it).
bool keeps_narrow_gradients(Arguments& args) {
  const bool narrow = args.one_of(kMain, {"fp32", "bf16"}) == "bf16";
  if (narrow && args.flag(kReduceWide)) args.contradiction(kMain, kReduceWide);
  return narrow && args.flag(kAware);
}

/// DeepSpeed's have the type of the weights where its file does not say another, and without ZeRO
/// fp32 beside bf16 (engine.py, get_data_types).
std::string gradients_of(Arguments& args, const Fork& fork, std::string_view weights) {
  const bool of_weights = fork.deepspeed && fork.zero_stage > 0;
  const bool narrow = args.flag(kReduceNarrow) || keeps_narrow_gradients(args) || of_weights;
  if (narrow && weights == "bf16") return "bf16";
  return weights == "fp16" && !args.flag(kReduceWide) ? "fp16" : "fp32";
}

void read_moments(Arguments& args, Imported& out) {
  const std::vector<std::string> types = {"fp32", "bf16", "fp16"};
  const auto first = args.one_of("--exp-avg-dtype", types);
  const auto second = args.one_of("--exp-avg-sq-dtype", types);
  if (first.value_or("fp32") != second.value_or("fp32")) {
    out.warnings.push_back({"W008", "--exp-avg-dtype is read as the type of both moments"});
  }
  out.give("workload.precision.moments",
           json_quote(args.flag(kAware) ? first.value_or("fp32") : "fp32"),
           args.line("--exp-avg-dtype"));
}

/// The precision-aware optimizer's alone (megatron/core/optimizer/optimizer_config.py).
void read_master(Arguments& args, Imported& out) {
  const char* option = "--main-params-dtype";
  const auto type = args.one_of(option, {"fp32", "fp16"});
  out.give("workload.precision.master",
           json_quote(args.flag(kAware) ? type.value_or("fp32") : "fp32"), args.line(option));
}

/// gpt_model.py, compute_language_model_loss of 2024: asserts fp16.
void read_loss(Arguments& args, Imported& out, bool fp16) {
  if (!args.flag(kNarrowLoss)) return;
  if (!fp16) args.contradiction(kNarrowLoss, "types other than --fp16");
  out.give("workload.precision.narrow_logits", "true", args.line(kNarrowLoss));
}

}  // namespace

ArgumentTypes read_precision(Arguments& args, Imported& out, const Fork& fork) {
  args.exclusive(kFp16, kBf16);
  args.exclusive(kReduceWide, kReduceNarrow);
  const bool bf16 = args.flag(kBf16), fp16 = args.flag(kFp16);
  const std::string weights = bf16 ? "bf16" : fp16 ? "fp16" : "fp32";
  const std::string gradients = gradients_of(args, fork, weights);
  // DeepSpeed's travel in the type of the weights (engine.py, communication_data_type).
  const std::string reduction = fork.deepspeed ? weights : gradients;
  const int by = args.line(args.flag(kReduceNarrow) ? kReduceNarrow : kMain);
  out.give("workload.precision.weights", json_quote(weights), args.line(fp16 ? kFp16 : kBf16));
  out.give("workload.precision.gradients", json_quote(gradients), by);
  out.give("workload.precision.reduction", json_quote(reduction), by);
  read_master(args, out);
  read_moments(args, out);
  read_loss(args, out, fp16);
  read_narrow(args, out, weights);
  return {weights, reduction == "fp32" ? 4 : 2};
}

}  // namespace plait::megatron
