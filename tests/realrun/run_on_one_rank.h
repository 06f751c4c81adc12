#pragma once
// A model trained for some steps on one rank, in fp64, from weights that are given or drawn.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "realrun/compute/host_device.h"
#include "realrun/launch/rank_threads.h"
#include "realrun/verify.h"
#include "tests/realrun/given_weights.h"
#include "tests/realrun/matrices_by_name.h"

namespace plait {

struct RanOnOneRank {
  Matrices before, gradients, after;
  double loss = 0;
};

/// `start`: weights by their names, or null.
inline RanOnOneRank run_on_one_rank(const Model& model, const Workload& workload,
                                    const Matrices* start, int steps) {
  const Plan plan = make_plan(model, workload, Strategy{});
  RanOnOneRank out;
  run_threads(1, [&](Transport& transport) {
    Walker walker(plan, model, transport, host_device<double>());
    if (start != nullptr)
      give_weights(
          walker, plan,
          model, [&](const std::string& name) -> const auto& { return start->at(name); });
    out.before = by_name(state_of(walker, plan, model).weights);
    for (int i = 0; i < steps; ++i) walker.step();
    out.loss = loss_of(walker, plan);
    const StateShard state = state_of(walker, plan, model);
    out.gradients = by_name(state.gradients), out.after = by_name(state.weights);
    return 0;
  });
  return out;
}

/// The largest element of every gradient against a central difference of the loss:
/// (L(w + e) - L(w - e)) / 2 e, off by e^2 and by what rounding leaves, 1e-16 / e.
inline void expect_gradients_to_be_slopes(const Model& m, const Workload& w,
                                          const RanOnOneRank& ran) {
  for (const auto& [name, gradient] : ran.gradients) {
    const auto largest =
        std::ranges::max_element(gradient, {}, [](double g) { return std::abs(g); });
    const auto at = static_cast<std::size_t>(largest - gradient.begin());
    const double e = 1e-4;
    double slope = 0;
    for (const double sign : {-1.0, 1.0}) {
      Matrices moved = ran.before;
      moved.at(name).at(at) += sign * e;
      slope += sign * run_on_one_rank(m, w, &moved, 1).loss / (2 * e);
    }
    EXPECT_NEAR(slope, *largest, 1e-6 * std::max(1.0, std::abs(*largest))) << name;
  }
}

}  // namespace plait
