// Parameter servers with staleness 1, run for real, against the same gradients applied one step
// late by hand: what step t computes with are the weights behind the gradients up to step t - 2.
#include <gtest/gtest.h>

#include <map>

#include "kernels/adam.h"
#include "realrun/compute/host_device.h"
#include "realrun/launch/rank_threads.h"
#include "realrun/verify.h"
#include "tests/realrun/given_weights.h"
#include "tests/realrun/verify_models.h"

namespace plait::parameter_server_test {

constexpr int kSteps = 4;

/// A tensor and its moments.
struct Trained {
  std::vector<double> weight, first, second;
};
using Tensors = std::map<std::string, Trained>;

std::vector<double> in_order(const TensorPart& part) {
  std::vector<double> out(static_cast<std::size_t>(part.size));
  for (std::size_t i = 0; i < part.index.size(); ++i) {
    out[static_cast<std::size_t>(part.index[i])] = part.value[i];
  }
  return out;
}

/// One update of all tensors by Adam, clipped, from gradients that need not be of the same weights.
void apply(Tensors& tensors, const std::map<std::string, std::vector<double>>& gradients,
           std::int64_t step) {
  double squares = 0;
  for (const auto& [name, g] : gradients) {
    for (const double x : g) squares += x * x;
  }
  for (auto& [name, t] : tensors) {
    const std::vector<double>& g = gradients.at(name);
    kernels::adam<double>(nullptr, t.weight.data(), t.first.data(), t.second.data(), g.data(),
                          &squares, static_cast<std::int64_t>(g.size()), {.step = step});
  }
}

struct Sequential {
  std::vector<double> losses;
  Tensors tensors;
};

/// On one rank: gradients of the weights that step t has, applied in step t + 1.
Sequential one_step_late(const Model& model, const Plan& plan) {
  Sequential out;
  run_threads(1, [&](Transport& transport) {
    Walker walker(plan, model, transport, host_device<double>());
    std::map<std::string, std::vector<double>> before;
    for (const TensorPart& p : state_of(walker, plan, model).weights) {
      const std::vector<double> weight = in_order(p), zeros(weight.size(), 0.0);
      out.tensors[p.name] = {weight, zeros, zeros};
      before[p.name] = zeros;
    }
    for (int step = 1; step <= kSteps; ++step) {
      give_weights(
          walker, plan, model, [&](const std::string& name) -> const auto& {
            return out.tensors.at(name).weight;
          });
      walker.step();
      out.losses.push_back(loss_of(walker, plan));
      apply(out.tensors, before, step);
      for (const TensorPart& p : state_of(walker, plan, model).gradients) {
        before[p.name] = in_order(p);
      }
    }
    return 0;
  });
  return out;
}

void expect_one_step_late(std::int64_t workers, ParameterServerOptions servers, bool overlap) {
  const Model model = small_llama();
  const Workload workload = in_precision(small_workload(), RunPrecision::kFp64);
  Strategy s;
  s.parameter_server = servers, s.parameter_server.staleness = 1;
  s.data.overlap = overlap;
  s.mesh[Axis::kDp] = workers + (servers.dedicated ? servers.servers : 0);
  const ModelState got =
      run_steps(model, make_plan(model, workload, s), RunPrecision::kFp64, {.steps = kSteps});
  const Sequential expected = one_step_late(model, make_plan(model, workload, {}));
  EXPECT_TRUE(got.replicas_agree);
  EXPECT_EQ(got.planned, got.held);
  for (std::size_t i = 0; i < kSteps; ++i) {
    EXPECT_NEAR(got.losses[i] / expected.losses[i], 1, 1e-11) << "step " << i;
  }
  for (const auto& [name, t] : expected.tensors) {
    const std::vector<double>& weight = got.weights.at(name).value;
    ASSERT_EQ(weight.size(), t.weight.size()) << name;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      ASSERT_NEAR(weight[i], t.weight[i], 1e-9) << name << " at " << i;
    }
  }
}

TEST(StaleParameterServer, AppliesGradientsOneStepLate) {
  expect_one_step_late(2, {.servers = 1}, true);
  expect_one_step_late(4, {.servers = 4}, true);
  expect_one_step_late(4, {.servers = 3, .dedicated = true}, true);
  expect_one_step_late(1, {.servers = 1, .dedicated = true}, true);
}

TEST(StaleParameterServer, DoesSoWithoutOverlapToo) {
  expect_one_step_late(4, {.servers = 2}, false);
}

TEST(StaleParameterServer, DoesNotComputeWhatASynchronousOneDoes) {
  const Model model = small_llama();
  const Workload workload = in_precision(small_workload(), RunPrecision::kFp64);
  Strategy fresh;
  fresh.mesh[Axis::kDp] = 2, fresh.parameter_server.servers = 1;
  Strategy stale = fresh;
  stale.parameter_server.staleness = 1;
  const RunOptions steps{.steps = kSteps};
  const auto losses = [&](const Strategy& s) {
    return run_steps(model, make_plan(model, workload, s), RunPrecision::kFp64, steps).losses;
  };
  const std::vector<double> a = losses(fresh), b = losses(stale);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(b[0], b[1]);  // nothing had come in yet
  EXPECT_LT(a[1], b[1]);
}

}  // namespace plait::parameter_server_test
