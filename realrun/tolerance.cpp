#include "realrun/tolerance.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <variant>

#include "core/error.h"
#include "realrun/unit_buffers.h"
#include "realrun/walk.h"

namespace plait {
namespace {

/// A tensor in which gradients cancel may be off by so many times as much as the whole.
constexpr double kCancels = 10;

/// From there on wrong gradients would pass. A factor 1 / n that is forgotten, or one too many, is
/// off by 0.5 at least, and so is a gradient that misses one of two addends that are alike; of two
/// that have nothing in common it is off by 0.7, half of which is along what should be there.
constexpr double kMostOfAll = 0.45, kMostOfOne = 0.7, kMostAlong = 0.45;

/// What of a plan is rounded more than its types say.
struct Roundings {
  double squares = 0;    // of the relative errors that few bits make of gradients
  bool chooses = false;  // between experts
  /// Layers in which a value that is off by e of its size puts so many times e of the terms of a
  /// gradient on the other side of a jump.
  double jumps = 0;
};
// Rounding to q integers a side errs by up to half a scale, evenly: rms m / (q sqrt(12)), where m
// is the largest magnitude of the block, which is 4 times its rms at most (of 10^4 normal numbers
// one is larger). Gradients err once per hop; independent errors of weights add up as the square
// root of the products on the way to a gradient, forward and back. Twice that is allowed, since
// what is added may cancel in part and its errors do not.
//
// nvfp4: the largest of 16 normal numbers is 2.07 times their rms, 6 steps of 0.345. Of the numbers
// 0.51 are below 2 steps, where they are rounded to halves of one, 0.32 below 4, to whole ones, and
// 0.17 above, to two: rms sqrt((0.51 / 4 + 0.32 + 0.17 4) / 12) 0.345 = 0.106. Both operands of a
// product err, and so do both plans, whose blocks and scales differ.
Roundings roundings_of(const Plan& plan) {
  constexpr double kOfScale = 4 / 3.4641;  // m / rms / sqrt(12)
  constexpr double kOfNvfp4 = 0.106;
  constexpr double kOfChoice = 1.5, kOfSign = 0.32;  // docs/models/realrun.md
  const double products = 2 * (4 * static_cast<double>(plan.layers) + 1);
  Roundings out;
  std::set<TensorId> weights, gradients;
  bool narrow = false;  // products read nvfp4 that is rounded
  bool signs = false;   // ReLU
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      const Compute* c = std::get_if<Compute>(&op.body);
      const Route* route = c ? std::get_if<Route>(c) : nullptr;
      out.chooses |= route && route->chosen < route->experts;
      const Activation* activation = c ? std::get_if<Activation>(c) : nullptr;
      signs |= activation && activation->kind == ActivationKind::kRelu;
      const Cast* cast = c ? std::get_if<Cast>(c) : nullptr;
      narrow |= cast && cast->to == DType::kNvfp4 && cast->from == DType::kBf16;
      if (cast == nullptr || cast->from != DType::kInt8) continue;
      const TensorId from = op.operands[0].tensor;
      (plan.tensors[from].partial.empty() ? weights : gradients).insert(from);
    }
  }
  if (narrow) out.squares += 2 * 2 * std::pow(kOfNvfp4, 2) * products;
  if (!weights.empty()) out.squares += std::pow(2 * kOfScale / 127, 2) * products;
  const auto units = static_cast<double>(unit_buffers(plan).size());
  out.jumps =
      static_cast<double>(plan.layers) * ((out.chooses ? kOfChoice : 0) + (signs ? kOfSign : 0));
  out.squares += std::pow(2 * kOfScale / 7, 2) * static_cast<double>(gradients.size()) / units;
  return out;
}

// A layer adds to x, of size sqrt(l + 1) behind l of them, a result of size 1 that is a product of
// f factors. Each is off by what x is off by, e, so the result is by e sqrt(f), and
//
//   e'^2 (l + 2) = e^2 (l + 1 + f)
//
// f = 1: an attention and an MLP pass on what they get. A scan multiplies x, B, C and the gate, a
// delta net values, keys (once as what is recalled), queries and the gate. States forget: tokens do
// not add to it.
double times_of_states(const Model& m) {
  constexpr int kScan = 4, kDeltaNet = 5;
  double squares = 1;
  for (std::int64_t l = 0; l < m.recurrent_layers(); ++l) {
    const int factors = l < m.delta_net_layers() ? kDeltaNet : kScan;
    squares *= static_cast<double>(l + 1 + factors) / static_cast<double>(l + 2);
  }
  return std::sqrt(squares);
}

/// With what products of states make of an error. Each head has a few numbers of its own, whose
/// gradients are sums that cancel.
Tolerance with_states(Tolerance base, const Model& m) {
  const double times = times_of_states(m);
  if (times > 1)
    base.error = std::max(base.error, std::min(kMostOfOne, kCancels * times * base.whole));
  base.whole *= times, base.weights *= times;
  return base;
}

// What is rounded otherwise makes what comes behind it round otherwise, so errors grow with the
// square root of the layers; and those of a step's weights are of one sign in the next, so that
// they grow as the steps. Where values jump, some terms of a gradient are others, which add up as
// the square root of their number: where experts are chosen, those of one of T tokens at least.
Tolerance grown(Tolerance base, const Roundings& found, const Model& m, const Plan& plan,
                int steps) {
  constexpr double kTypical = 0.4;  // of what is allowed
  constexpr double kLayers = 4;     // that a tolerance is for
  // With states the first layers make most of it, and their number is counted above.
  const auto layers = static_cast<double>(plan.layers - m.recurrent_layers());
  const double smooth = base.whole * steps * std::sqrt(std::max(1.0, layers / kLayers));
  const double one_token = found.chooses ? 1 / static_cast<double>(plan.tokens_per_step) : 0;
  const double jumps = std::sqrt(kTypical * smooth * found.jumps + one_token);
  base.whole = smooth + jumps, base.error = std::max(base.error, smooth) + jumps;
  return base;
}

Tolerance capped(Tolerance t) {
  t.vague = t.whole > kMostOfAll || t.error > kMostOfOne;
  t.whole = std::min(t.whole, kMostOfAll), t.error = std::min(t.error, kMostOfOne);
  t.along = std::min(t.error, kMostAlong);
  // A tensor that is off by e at random.
  t.cosine = std::min(t.cosine, 1 / std::sqrt(1 + t.error * t.error));
  return t;
}

// Logits begin with a size of 1 (realrun/start_values.h), so a token's loss is off by e where they
// are off by e of it, that of T tokens, whose errors are independent, by e / sqrt(T), of a loss of
// ln V. The mean of e^{x} over errors is e^2 / 2 more. Twice the first is allowed, and a rounding
// of either plan's loss.
double loss_tolerance(double e, const Model& model, const Plan& plan, RunPrecision precision) {
  const double unit = precision == RunPrecision::kFp64 ? 0x1p-53 : 0x1p-24;
  const auto tokens = static_cast<double>(trained_tokens(plan, model));
  return (2 * e / std::sqrt(tokens) + e * e / 2) / std::log(static_cast<double>(model.vocab)) +
         2 * unit;
}

}  // namespace

std::string_view name_of(RunPrecision precision) {
  switch (precision) {
    case RunPrecision::kFp64: return "fp64";
    case RunPrecision::kFp32: return "fp32";
    case RunPrecision::kBf16: return "bf16";
  }
  return "?";
}

RunPrecision run_precision(std::string_view name) {
  for (RunPrecision p : {RunPrecision::kFp64, RunPrecision::kFp32, RunPrecision::kBf16}) {
    if (name_of(p) == name) return p;
  }
  PLAIT_CHECK(false, "an unknown precision");
}

// In fp32, Adam makes up to 2 lr sqrt(e) = 2e-6 of an error e = 1e-6 of the first gradient, in
// weights of size 0.1: 2e-5, of which forward and backward pass each make as much in gradients,
// from the second step on. In fp64 eight layers had up to 5e-12 of it. A tensor in which gradients
// cancel may be off by kCancels times as much as the whole; a tensor that is off by e at random has
// a cosine of 1 - e^2 / 2.
Tolerance tolerance_of(RunPrecision precision, int steps) {
  const bool several = steps > 1;
  switch (precision) {
    case RunPrecision::kFp64: {
      const double whole = several ? 1e-11 : 1e-12;
      return {.whole = whole, .error = whole, .cosine = 0.999, .loss = whole, .weights = 1e-9};
    }
    case RunPrecision::kFp32: {
      const double whole = several ? 5e-5 : 1e-5;
      return {.whole = whole, .error = kCancels * whole, .cosine = 0.999, .loss = whole};
    }
    case RunPrecision::kBf16: {
      const double whole = 3e-2;
      return {.whole = whole, .error = kCancels * whole, .cosine = 0.95, .loss = whole};
    }
  }
  return {};
}

Tolerance tolerance_of(RunPrecision precision, const Model& model, const Plan& plan, int steps) {
  const Roundings found = roundings_of(plan);
  Tolerance out = tolerance_of(precision, steps);
  out = with_states(out, model);
  if (precision == RunPrecision::kBf16) out = grown(out, found, model, plan, steps);
  if (found.squares > 0) {
    const double more = std::sqrt(found.squares);
    out.whole += more, out.error += more, out.weights = 0;
  }
  out = capped(out);
  out.loss = loss_tolerance(out.whole, model, plan, precision);
  return out;
}

}  // namespace plait
