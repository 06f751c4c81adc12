// plait realrun SCENARIO --verify: the plan executed on real numbers, each rank a thread, and its
// loss and gradients compared with the unsharded plan's.

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/prediction.h"
#include "core/error.h"

#if PLAIT_HAS_REALRUN
#include "realrun/verify.h"
#endif

namespace plait {
namespace {

struct RealrunOptions {
  ScenarioOptions scenario;
  OutputOptions output;
  bool verify = false;
  std::string precision = "fp64";
};

#if PLAIT_HAS_REALRUN

constexpr std::int64_t kMostRanks = 64;
constexpr double kMostFlops = 1e12;  // a minute or so of this backend

/// The same work in one precision throughout.
Workload in_fp32(Workload w) {
  w.precision = {DType::kFp32, DType::kFp32, DType::kFp32, DType::kFp32, DType::kFp32};
  return w;
}

void require_small(const Plan& plan) {
  if (plan.mesh.world_size() <= kMostRanks && plan.model_flops.value <= kMostFlops) return;
  throw InputError(
      {.code = "G011",
       .problem =
           fmt::format("{} ranks and {:.1e} FLOPs are too much to run for real in one process",
                       plan.mesh.world_size(), plan.model_flops.value),
       .expected = fmt::format("at most {} ranks and {:.0e} FLOPs a step", kMostRanks, kMostFlops),
       .cure = "keep the strategy and shrink the model: --set model=tiny, a shorter "
               "workload.sequence_length"});
}

int run_realrun(const RealrunOptions& options) {
  Scenario sharded = load_scenario(options.scenario.file, options.scenario.overrides());
  print_warnings(sharded.warnings);
  sharded.workload = in_fp32(sharded.workload);
  const Plan plan = sound_plan(sharded);
  require_small(plan);
  const Plan unsharded = make_plan(sharded.model, sharded.workload, Strategy{});
  const bool fp64 = options.precision == "fp64";
  const double tolerance = fp64 ? 1e-12 : 1e-5;
  const Verification v =
      verify(sharded.model, plan, unsharded, fp64 ? RunPrecision::kFp64 : RunPrecision::kFp32);
  const bool same = v.worst_error <= tolerance && v.replicas_agree;
  std::string text =
      fmt::format("{}  {} on {} ranks, {}\n", sharded.name, plan.name, v.ranks, options.precision);
  text += fmt::format("{}  worst gradient {}: relative error {:.1e}, allowed {:.0e}\n",
                      same ? "SAME GRADIENTS" : "OTHER GRADIENTS",
                      v.worst_tensor.empty() ? "none" : v.worst_tensor, v.worst_error, tolerance);
  text += fmt::format("loss     {:.12f}, unsharded {:.12f}\n", v.loss, v.reference_loss);
  text += fmt::format("replicas {}\n", v.replicas_agree ? "hold the same numbers" : "DIFFER");
  text += fmt::format("memory   {}\n", v.memory_as_planned ? "as planned on every rank, to the byte"
                                                           : "NOT AS PLANNED");
  print_result(options.output, text);
  return same && v.memory_as_planned ? kYes : kNo;
}

#else

int run_realrun(const RealrunOptions&) {
  throw EnvironmentError(
      "this build has no real runs: install OpenBLAS (libopenblas-dev) and build again");
}

#endif

}  // namespace

void add_realrun(Command& command) {
  auto options = std::make_shared<RealrunOptions>();
  CLI::App* sub =
      command.app.add_subcommand("realrun",
                                 "Execute the plan on real numbers and compare its gradients with "
                                 "the unsharded ones (exit code 1: they differ)");
  add_scenario_options(*sub, options->scenario);
  sub->add_flag("--verify", options->verify,
                "Compare loss and all gradients with the unsharded plan's")
      ->required();
  sub->add_option("--precision", options->precision,
                  "Of the numbers: fp64 (to 1e-12) or fp32 (to 1e-5)")
      ->check(CLI::IsMember({"fp64", "fp32"}))
      ->capture_default_str();
  sub->add_option("-o,--output", options->output.file, "Write it to this file")->type_name("FILE");
  sub->callback(
      [&command, options] { command.action = [options] { return run_realrun(*options); }; });
}

}  // namespace plait
