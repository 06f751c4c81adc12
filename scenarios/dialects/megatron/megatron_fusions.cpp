// Which kernels Megatron-LM has in one: what is fused unless it is told otherwise, and what only
// when it is asked for. Sources: megatron/training/arguments.py; megatron/core/fusions;
// megatron/core/distributed/distributed_data_parallel.py, which adds a gradient that no product has
// added to the sum.
#include <algorithm>

#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kNoRope = "--no-rope-fusion", *kNoGate = "--no-bias-swiglu-fusion",
                     *kNoDropout = "--no-bias-dropout-fusion",
                     *kNoSum = "--no-gradient-accumulation-fusion",
                     *kLoss = "--cross-entropy-loss-fusion",
                     *kLossBy = "--cross-entropy-fusion-impl", *kRouter = "--moe-router-fusion",
                     *kPermute = "--moe-permute-fusion";
constexpr const char* kFsdp = "--use-megatron-fsdp";  // which fuses no sums anyway

/// Whether the arguments, as far as they are read, say that `path` is another value.
bool is_other(const Imported& out, std::string_view path, std::string_view value) {
  return std::ranges::any_of(out.given,
                             [&](const Given& g) { return g.path == path && g.value != value; });
}

}  // namespace

void read_fusions(Arguments& args, Imported& out) {
  const auto apart = [&](const char* argument, const char* path, bool concerns) {
    if (args.flag(argument) && concerns) out.give(path, R"("eager")", args.line(argument));
  };
  apart(kNoRope, "kernels.rope", !is_other(out, "model.positions", R"("rotary")"));
  apart(
      kNoGate, "kernels.activation",
      !is_other(out, "model.gated_mlp", "true") && !is_other(out, "model.activation", R"("silu")"));
  const bool drops = std::ranges::none_of(
      out.given, [](const Given& g) { return g.path == "model.dropout" && g.value == "0"; });
  apart(kNoDropout, "kernels.dropout", drops);
  apart(kNoSum, "kernels.gradient_sum", !args.flag(kFsdp));
  if (args.flag(kLoss)) {
    args.one_of(kLossBy, {"native", "te"});
    out.give("kernels.cross_entropy", R"("fused")", args.line(kLoss));
  }
  const bool both = args.has(kRouter) && args.has(kPermute);
  if (both && args.flag(kRouter) && args.flag(kPermute))
    out.give("kernels.routing", R"("fused")", args.line(kRouter));
}

void write_fusions(ExportDraft& d) {
  const Kernels& k = d.scenario.kernels;
  const Model& m = d.scenario.model;
  const auto apart = [&](const char* argument, std::string_view path, Fusion is, bool concerns) {
    if (is != Fusion::kEager || !concerns) return;
    d.set(argument);
    d.say({path});
  };
  apart(kNoRope, "kernels.rope", k.rope, m.positions == PositionKind::kRotary);
  apart(kNoGate, "kernels.activation", k.activation,
        m.gated_mlp && m.activation == ActivationKind::kSilu);
  apart(kNoDropout, "kernels.dropout", k.dropout, m.dropout > 0);
  apart(kNoSum, "kernels.gradient_sum", k.gradient_sum, d.scenario.strategy.zero_stage < 2);
  if (k.cross_entropy == Fusion::kFused) d.set(kLoss);
  if (k.cross_entropy == Fusion::kFused || k.cross_entropy == Fusion::kParallel)
    d.say({"kernels.cross_entropy"});
  if (m.experts == 0) return;
  if (k.routing == Fusion::kFused) d.set(kRouter), d.set(kPermute);
  d.say({"kernels.routing"});
}

}  // namespace plait::megatron
