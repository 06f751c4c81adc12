#pragma once
// The least that the ops of a plan can take, and hold, anywhere on a machine, each priced once.

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "core/time.h"
#include "costmodel/costmodel.h"
#include "costmodel/held_multiprocessors.h"
#include "plan/plan.h"
#include "search/groups.h"

namespace plait {

/// What an op takes where gradients are written, and where they are added to.
using PriceOfBoth = std::array<SimTime, 2>;

/// Of fewest bytes in which layouts have gradients of weights: written and not added to, and added
/// up.
struct GradientTypes {
  DType written, summed;
};

struct PricedOp {
  PriceOfBoth takes = {};
  int held = 0;  // multiprocessors of its device, of a collective
};

class Prices {
 public:
  /// `kind`: of the node; without one, the fastest. `interference`: collectives hold
  /// multiprocessors.
  Prices(const Plan& plan, const CostModel& costs, Groups& groups, GradientTypes gradients,
         std::optional<std::size_t> kind, bool interference)
      : plan_(plan),
        costs_(costs),
        groups_(groups),
        gradients_(gradients),
        kind_(kind),
        holds_(interference && groups.cluster().kinds() == 1) {}

  std::vector<PricedOp> of(const Block& block) const {
    std::vector<PricedOp> out;
    out.reserve(block.ops.size());
    for (const Op& op : block.ops) out.push_back(of(op));
    return out;
  }
  /// Of each device; 0 where it is not certain what is held of them.
  int multiprocessors() const { return holds_ ? groups_.cluster().device.sms : 0; }

 private:
  PricedOp of(const Op& op) const {
    if (const auto* c = std::get_if<Compute>(&op.body)) return of(*c);
    const auto* c = std::get_if<Collective>(&op.body);
    return c == nullptr ? PricedOp{} : of(*c);
  }
  PricedOp of(const Compute& op) const {
    const std::optional<Compute> narrow = summed_narrow(op);
    const SimTime adding = narrow ? std::min(least(op), least(*narrow)) : least(op);
    const std::optional<Compute> writing = written_alone(op);
    return {{writing ? least(*writing) : adding, adding}};
  }
  /// The op where it writes gradients that it adds to others here; nothing where it has none.
  std::optional<Compute> written_alone(Compute op) const {
    if (auto* product = std::get_if<MatMul>(&op)) {
      if (product->pass != Pass::kWeightGrad) return std::nullopt;
      product->accumulate = false, product->out = gradients_.written;
      return op;
    }
    if (auto* table = std::get_if<Embedding>(&op)) {
      if (table->pass == Pass::kForward) return std::nullopt;
      table->accumulate = false;
      return op;
    }
    auto* cast = std::get_if<Cast>(&op);
    if (cast == nullptr || !cast->accumulate) return std::nullopt;
    cast->accumulate = false, cast->to = gradients_.written;
    return op;
  }
  /// The op where it adds to gradients that have another type; nothing where none are.
  std::optional<Compute> summed_narrow(Compute op) const {
    DType* type = nullptr;
    if (auto* product = std::get_if<MatMul>(&op); product && product->pass == Pass::kWeightGrad)
      type = &product->out;
    if (auto* bias = std::get_if<BiasGrad>(&op)) type = &bias->grad_dtype;
    if (auto* table = std::get_if<Embedding>(&op); table && table->pass != Pass::kForward)
      type = &table->grad_dtype;
    if (auto* cast = std::get_if<Cast>(&op); cast && cast->accumulate) type = &cast->to;
    if (type == nullptr || size_of(*type) <= size_of(gradients_.summed)) return std::nullopt;
    *type = gradients_.summed;
    return op;
  }
  SimTime least(const Compute& op) const {
    const Cluster& cluster = groups_.cluster();
    SimTime out = std::numeric_limits<SimTime>::max();
    for (std::size_t k = 0; k < cluster.kinds(); ++k) {
      if (kind_ && k != *kind_) continue;
      out = std::min(out, to_sim_time(costs_.compute(op, cluster.kind(k).device).total()));
    }
    return out;
  }
  PricedOp of(const Collective& op) const {
    std::int64_t stride = 0;  // of the innermost of its axes, which lie side by side
    for (std::size_t a = 0; a < kAxes; ++a) {
      const auto axis = static_cast<Axis>(a);
      if (op.axes.has(axis) && plan_.mesh[axis] > 1) stride = plan_.mesh.stride(axis);
    }
    if (stride == 0 || !groups_.known()) return {};
    SimTime least = std::numeric_limits<SimTime>::max();
    int held = std::numeric_limits<int>::max();
    for (const GroupPlacement& g : groups_.of({{plan_.mesh.size_of(op.axes), stride}})) {
      const CollectiveCost priced = costs_.collective(op, g, groups_.cluster());
      least = std::min(least, to_sim_time(priced.cost.total()));
      held = std::min(held, held_of(op, g, priced.algorithm));
    }
    return {{least, least}, held};
  }
  int held_of(const Collective& op, const GroupPlacement& group, Algorithm algorithm) const {
    if (!holds_) return 0;
    return held_multiprocessors(op, algorithm, group, groups_.cluster().kind(group.kind),
                                costs_.calibration.get());
  }

  const Plan& plan_;
  const CostModel& costs_;
  Groups& groups_;
  GradientTypes gradients_;
  std::optional<std::size_t> kind_;
  bool holds_;
};

}  // namespace plait
