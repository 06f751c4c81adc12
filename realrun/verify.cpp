#include "realrun/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "plan/places.h"
#include "plan/refusal.h"
#include "realrun/compute/host_device.h"
#include "realrun/control.h"
#include "realrun/launch/rank_threads.h"
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
  /// How much too long or too short it is, along the numbers that should be there.
  double along() const {
    if (is_nan()) return 1;
    return bb_ == 0 ? 0 : std::abs(dot_ / bb_ - 1);
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

}  // namespace

bool has_gpu_kernels(const Model& model) {
  return model.recurrent_layers() == 0 && !model.attention_gate && !model.shared_expert_gate;
}

bool has_gpu_kernels(const LowRankAdapters& adapters) {
  return !adapters.any() || (adapters.dropout == 0 && !adapters.quantizes());
}

bool has_gpu_kernels(const Precision& p) { return !p.autocast && !p.narrow_logits; }

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
    out.worst_along = std::max(out.worst_along, d.along());
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
  return v.loss_error <= allowed.loss && v.whole_error <= allowed.whole &&
         v.worst_error <= allowed.error && v.worst_cosine >= allowed.cosine &&
         v.worst_along <= allowed.along &&
         (allowed.weights == 0 || v.weight_error <= allowed.weights) && v.replicas_agree &&
         v.memory_as_planned();
}

Verification verify(const Model& model, const Plan& plan, const Plan& unsharded,
                    RunPrecision precision, const RunOptions& options) {
  return compare(run_steps(model, plan, precision, options),
                 run_steps(model, unsharded, precision, options));
}

}  // namespace plait
