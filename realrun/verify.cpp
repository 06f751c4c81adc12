#include "realrun/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/error.h"
#include "plan/places.h"
#include "plan/refusal.h"
#include "realrun/compute/host_device.h"
#include "realrun/control.h"
#include "realrun/launch/rank_threads.h"
#include "realrun/unit_buffers.h"
#include "realrun/walk.h"

namespace plait {
namespace {

StateShard run_rank(const Model& model, const Plan& whole, Transport& transport,
                    const MakeDevice& device, const RunOptions& options) {
  const Plan plan = seen_from(whole, stage_of_rank(whole, transport.rank()));
  Walker walker(plan, model, transport, device, {.patience_s = options.patience_s});
  std::vector<double> losses;
  for (int step = 0; step < options.steps; ++step) {
    walker.step();
    losses.push_back(loss_of(walker, plan));
  }
  StateShard state = state_of(walker, plan, model);
  state.losses = std::move(losses);
  return state;
}

/// Of numbers that should be others.
class Deviation {
 public:
  void add(const Values& a, const Values& b) {
    for (std::size_t i = 0; i < b.value.size(); ++i) {
      const double x = i < a.value.size() ? a.value[i] : 0, y = b.value[i];
      difference_ += (x - y) * (x - y), dot_ += x * y, aa_ += x * x, bb_ += y * y;
    }
  }
  void add(const Deviation& other) {
    difference_ += other.difference_, dot_ += other.dot_, aa_ += other.aa_, bb_ += other.bb_;
  }
  /// Of the numbers that should be there.
  double norm() const { return std::sqrt(bb_); }
  double error() const {
    if (is_nan()) return 1;
    return std::sqrt(bb_ == 0 ? difference_ : difference_ / bb_);
  }
  double cosine() const {
    if (is_nan() || (aa_ == 0) != (bb_ == 0)) return 0;
    return bb_ == 0 ? 1 : dot_ / std::sqrt(aa_ * bb_);
  }

 private:
  /// A NaN is no small error.
  bool is_nan() const { return !(difference_ <= std::numeric_limits<double>::max()); }

  double difference_ = 0, dot_ = 0, aa_ = 0, bb_ = 0;
};

/// Calls f(name, deviation) for every tensor that `expected` has. Returns that of all as one.
template <class F>
Deviation for_each_tensor(const std::map<std::string, Values>& got,
                          const std::map<std::string, Values>& expected, F&& f) {
  const Values none;
  Deviation all;
  for (const auto& [name, values] : expected) {
    const auto found = got.find(name);
    const Values& there = found == got.end() ? none : found->second;
    Deviation one;
    one.add(there, values), all.add(one);
    f(name, one);
  }
  return all;
}

bool is_float(DType t) { return t == DType::kBf16 || t == DType::kFp32; }

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

}  // namespace

std::string_view name_of(RunPrecision precision) {
  switch (precision) {
    case RunPrecision::kFp64: return "fp64";
    case RunPrecision::kFp32: return "fp32";
    case RunPrecision::kBf16: return "bf16";
  }
  return "?";
}

bool has_gpu_kernels(const Model& model) {
  return model.recurrent_layers() == 0 && !model.attention_gate && !model.shared_expert_gate;
}

bool has_gpu_kernels(const LowRankAdapters& adapters) {
  return !adapters.any() || (adapters.dropout == 0 && !adapters.quantizes());
}

bool has_gpu_kernels(const Precision& p) { return !p.autocast && !p.narrow_logits; }

RunPrecision run_precision(std::string_view name) {
  for (RunPrecision p : {RunPrecision::kFp64, RunPrecision::kFp32, RunPrecision::kBf16}) {
    if (name_of(p) == name) return p;
  }
  PLAIT_CHECK(false, "an unknown precision");
}

Workload in_precision(const Workload& workload, RunPrecision precision) {
  Workload w = workload;
  // Real tokens go where they want: slots for all of them.
  if (w.capacity_factor == 0) w.capacity_factor = std::numeric_limits<double>::infinity();
  if (precision != RunPrecision::kBf16) {
    // fp8 and nvfp4: what is cast where, without the rounding
    for (DType Precision::*type : {&Precision::weights, &Precision::gradients,
                                   &Precision::reduction, &Precision::master, &Precision::moments})
      w.precision.*type = DType::kFp32;
    w.precision.split_master = false;
    if (w.precision.autocast) w.precision.autocast = DType::kFp32;  // what is cast where, as above
    return w;
  }
  const Precision& p = w.precision;
  if (p.split_master) {
    throw refusal("G012", "lower halves of master weights cannot be run for real",
                  "workload.precision.split_master", "false",
                  "remove workload.precision.split_master, or verify in fp32");
  }
  for (DType t :
       {p.products(), p.activations(), p.weights, p.gradients, p.reduction, p.master, p.moments}) {
    if (is_float(t) || (t == DType::kNvfp4 && p.weights == DType::kBf16)) continue;
    throw refusal("G012", std::string(name_of(t)) + " cannot be run for real", "workload.precision",
                  "bf16 and fp32", "choose workload.precision = bf16, or verify in fp32");
  }
  return w;
}

Strategy unsharded(const Strategy& strategy) {
  Strategy out;
  if (strategy.parameter_server.staleness == 0) return out;
  out.parameter_server = {
      .servers = 1, .dedicated = true, .staleness = strategy.parameter_server.staleness};
  out.mesh[Axis::kDp] = 2;
  return out;
}

// In fp32, Adam makes up to 2 lr sqrt(e) = 2e-6 of an error e = 1e-6 of the first gradient, in
// weights of size 0.1: 2e-5, of which forward and backward pass each make as much in gradients,
// from the second step on. In fp64 eight layers had up to 5e-12 of it. A tensor in which gradients
// cancel may be off by kCancels times as much as the whole; a tensor that is off by e at random has
// a cosine of 1 - e^2 / 2.
Tolerance tolerance_of(RunPrecision precision, int steps) {
  constexpr double kCancels = 10;
  const bool several = steps > 1;
  switch (precision) {
    case RunPrecision::kFp64: {
      const double whole = several ? 1e-11 : 1e-12;
      return {whole, whole, 0.999, 1e-9};
    }
    case RunPrecision::kFp32: {
      const double whole = several ? 5e-5 : 1e-5;
      return {whole, kCancels * whole, 0.999, 0};
    }
    case RunPrecision::kBf16: return {3e-2, kCancels * 3e-2, 0.95, 0};
  }
  return {};
}

namespace {

/// From there on a tensor that misses an addend would pass: one of two that are alike makes 0.5 of
/// it, and of two that have nothing in common 0.7.
constexpr double kMostOfAll = 0.5, kMostOfOne = 0.7;

// What is rounded otherwise makes what comes behind it round otherwise, so errors grow with the
// square root of the layers; and those of a step's weights are of one sign in the next, so that
// they grow as the steps. Where values jump, some terms of a gradient are others, which add up as
// the square root of their number: where experts are chosen, those of one of T tokens at least.
Tolerance grown(Tolerance base, const Roundings& found, const Plan& plan, int steps) {
  constexpr double kTypical = 0.4;  // of what is allowed
  constexpr double kLayers = 4;     // that a tolerance is for
  const double smooth =
      base.whole * steps * std::sqrt(std::max(1.0, static_cast<double>(plan.layers) / kLayers));
  const double one_token = found.chooses ? 1 / static_cast<double>(plan.tokens_per_step) : 0;
  const double jumps = std::sqrt(kTypical * smooth * found.jumps + one_token);
  const double whole = smooth + jumps, error = std::max(base.error, smooth) + jumps;
  base.vague = whole > kMostOfAll || error > kMostOfOne;
  base.whole = std::min(whole, kMostOfAll), base.error = std::min(error, kMostOfOne);
  // A tensor that is off by e at random.
  base.cosine = std::min(base.cosine, 1 / std::sqrt(1 + base.error * base.error));
  return base;
}

}  // namespace

Tolerance tolerance_of(RunPrecision precision, const Plan& plan, int steps) {
  const Roundings found = roundings_of(plan);
  Tolerance out = tolerance_of(precision, steps);
  if (precision == RunPrecision::kBf16) out = grown(out, found, plan, steps);
  if (found.squares == 0) return out;
  out.whole += std::sqrt(found.squares), out.error += std::sqrt(found.squares);
  out.cosine = std::min(out.cosine, 1 / std::sqrt(1 + found.squares) - 1e-3);
  out.weights = 0;
  return out;
}

std::optional<ModelState> run_steps(const Model& model, const Plan& plan, RunPrecision precision,
                                    Transport& transport, const RunOptions& options) {
  MakeDevice device = options.device;
  if (!device)
    device = precision == RunPrecision::kFp64 ? host_device<double>() : host_device<float>();
  const StateShard mine = run_rank(model, plan, transport, device, options);
  const auto all = Control(transport, options.patience_s).gather(packed(mine));
  if (transport.rank() != 0) return std::nullopt;
  std::vector<StateShard> ranks;
  for (const std::vector<std::byte>& bytes : all) ranks.push_back(state_shard(bytes));
  return gathered(ranks);
}

ModelState run_steps(const Model& model, const Plan& plan, RunPrecision precision,
                     const RunOptions& options) {
  std::optional<ModelState> out;
  run_threads(rank_count(plan), [&](Transport& transport) {
    std::optional<ModelState> state = run_steps(model, plan, precision, transport, options);
    if (state) out = std::move(state);
    return 0;
  });
  PLAIT_CHECK(out, "no rank had a result");
  return std::move(*out);
}

Verification compare(const ModelState& got, const ModelState& expected) {
  Verification out;
  out.ranks = static_cast<std::int64_t>(got.held.size());
  out.losses = got.losses, out.reference_losses = expected.losses;
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    const double error = std::abs(got.losses.at(i) / expected.losses[i] - 1);
    out.loss_error = std::isnan(error) ? 1 : std::max(out.loss_error, error);
  }
  const auto worst = [&out](const std::string& name, const Deviation& d) {
    if (d.error() > out.worst_error) out.worst_error = d.error(), out.worst_tensor = name;
    out.worst_cosine = std::min(out.worst_cosine, d.cosine());
  };
  const Deviation gradients = for_each_tensor(got.gradients, expected.gradients, worst);
  const Deviation moments = for_each_tensor(
      got.moments, expected.moments,
      [&](const std::string& name, const Deviation& d) { worst("first moment of " + name, d); });
  out.whole_error = std::max(gradients.error(), moments.error());
  for_each_tensor(got.weights, expected.weights, [&](const std::string&, const Deviation& d) {
    out.weight_error = std::max(out.weight_error, d.error());
  });
  out.gradient_norm = gradients.norm();
  out.replicas_agree = got.replicas_agree;
  out.planned = got.planned, out.held = got.held;
  return out;
}

bool passes(const Verification& v, const Tolerance& allowed) {
  return v.loss_error <= allowed.whole && v.whole_error <= allowed.whole &&
         v.worst_error <= allowed.error && v.worst_cosine >= allowed.cosine &&
         (allowed.weights == 0 || v.weight_error <= allowed.weights) && v.replicas_agree &&
         v.memory_as_planned();
}

Verification verify(const Model& model, const Plan& plan, const Plan& unsharded,
                    RunPrecision precision, const RunOptions& options) {
  return compare(run_steps(model, plan, precision, options),
                 run_steps(model, unsharded, precision, options));
}

}  // namespace plait
