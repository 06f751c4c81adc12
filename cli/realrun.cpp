// plait realrun: the plan executed. Timed, beside its prediction; with --verify on real numbers
// whose losses and gradients are compared with the unsharded plan's; --matrix: the same for the
// built-in list of strategies.

#include "cli/realrun.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/page.h"
#include "core/error.h"
#include "plan/places.h"
#include "plan/refusal.h"
#include "prediction/prediction.h"

#if PLAIT_HAS_REALRUN
#include "cli/backend.h"
#include "cli/verified_rows.h"
#include "realrun/launch/started_ranks.h"
#include "realrun/launch/world.h"
#include "realrun/verify.h"
#endif

namespace plait {

#if PLAIT_HAS_REALRUN

bool speaks_for_all(const RealrunOptions& options) {
  const std::optional<StartedRank> started = started_rank();
  // Rank 0 that our own mpirun starts says it.
  return started ? started->rank == 0 : options.transport != "mpi";
}

#endif

namespace {

#if PLAIT_HAS_REALRUN

constexpr std::int64_t kMostRanks = 64;
// A minute or so of a processor. On a GPU start values and comparison on the processor take that.
constexpr double kMostFlops = 1e12, kMostGpuFlops = 1e14, kMostPasses = 1e6;

void require_small(const Plan& plan, const RealrunOptions& options) {
  const double work = plan.model_flops.value * options.steps;
  const double most = options.on_gpu() ? kMostGpuFlops : kMostFlops;
  if (rank_count(plan) <= kMostRanks && work <= most) return;
  throw InputError({.code = "G011",
                    .problem = fmt::format("{} ranks and {:.1e} FLOPs are too much to verify",
                                           rank_count(plan), work),
                    .expected = fmt::format("at most {} ranks and {:.0e} FLOPs", kMostRanks, most),
                    .cure = std::string(kShrink)});
}

/// A block of quantised numbers has one scale. In a flat buffer it may hold norms, which ranks
/// along tp have alike, beside shares of matrices, and so each rank rounds these norms differently.
void require_blocks_alike(const Strategy& s) {
  const ZeroPlusPlusOptions& z = s.zero_plus_plus;
  if (!(z.quantized_weights || z.quantized_gradients) || s.mesh.size_of(kTensorAxes) == 1) return;
  throw refusal("G026", "quantised exchanges round what ranks along tp have alike differently",
                "strategy.zero_plus_plus", "no quantised weights and gradients with strategy.tp",
                "switch these off, or set strategy.tp to 1");
}

/// A rank's part of a sequence has slots of its own with each expert, and so drops other tokens
/// than the whole sequence does.
void require_same_drops(const Scenario& s) {
  const Mesh& mesh = s.strategy.mesh;
  const bool splits_tokens = mesh.size_of(kContextAxes) > 1 ||
                             (s.strategy.sequence_parallel && mesh.size_of(kTensorAxes) > 1);
  if (s.workload.capacity_factor == 0 || !splits_tokens) return;
  throw refusal("G028", "parts of a sequence drop other tokens than the whole sequence does",
                "workload.capacity_factor",
                "no dropped tokens with strategy.cp or strategy.sequence_parallel",
                "set workload.capacity_factor to 0, or verify without these two");
}

/// The plan in one precision, and what it must agree with.
struct VerifiedPlan {
  RunPrecision precision = RunPrecision::kFp64;
  Plan plan, unsharded;
};

std::vector<VerifiedPlan> prepare(Scenario& scenario, const RealrunOptions& options) {
  require_blocks_alike(scenario.strategy);
  require_same_drops(scenario);
  require_few_passes(scenario, 1, options.steps, kMostPasses);  // as unsharded
  const Workload asked = scenario.workload;
  std::vector<VerifiedPlan> out;
  for (const std::string& name : options.precisions) {
    const RunPrecision precision = run_precision(name);
    scenario.workload = in_precision(asked, precision);
    out.push_back({precision, sound_plan(scenario),
                   make_plan(scenario.model, scenario.workload, unsharded(scenario.strategy))});
    require_small(out.back().plan, options);
  }
  return out;
}

/// With the places of the fields that are refused.
std::vector<VerifiedPlan> prepared(const Scenario& scenario, const RealrunOptions& options) {
  try {
    Scenario changed = scenario;
    return prepare(changed, options);
  } catch (const InputError& error) {
    throw locate(error, scenario);
  }
}

/// "1e-12", "1.5e-01".
std::string bound_text(double x) {
  const std::string one_digit = fmt::format("{:.0e}", x), two_digits = fmt::format("{:.1e}", x);
  return std::stod(one_digit) == std::stod(two_digits) ? one_digit : two_digits;
}

std::string text_of(const Verification& v, const Tolerance& allowed) {
  const bool same = passes(v, allowed);
  std::string text =
      fmt::format("{}  gradients: relative error {:.1e}, allowed {}\n", same ? "SAME" : "DIFFERENT",
                  v.whole_error, bound_text(allowed.whole));
  if (allowed.vague) {
    text +=
        "         rounding may make more than is allowed here, of so many layers and steps or "
        "in so few bits: verify fewer layers and steps, or in fp32 without quantised exchanges\n";
  }
  text += fmt::format("worst    {}: relative error {:.1e}, allowed {}\n",
                      v.worst_tensor.empty() ? "none" : v.worst_tensor, v.worst_error,
                      bound_text(allowed.error));
  text += fmt::format("cosine   {:.9f}, allowed {:.3g}; too long or short by {:.1e}, allowed {}\n",
                      v.worst_cosine, allowed.cosine, v.worst_along, bound_text(allowed.along));
  if (allowed.weights > 0) {
    text += fmt::format("weights  relative error {:.1e}, allowed {}\n", v.weight_error,
                        bound_text(allowed.weights));
  }
  text += fmt::format("losses   relative error {:.1e}, allowed {}\n", v.loss_error,
                      bound_text(allowed.loss));
  for (std::size_t i = 0; i < v.losses.size(); ++i) {
    text += fmt::format("loss     {:.12f} in step {}, unsharded {:.12f}\n", v.losses[i], i + 1,
                        v.reference_losses[i]);
  }
  text += fmt::format("norm     {:.6g} of the gradients\n", v.gradient_norm);
  text += fmt::format("replicas {}\n", v.replicas_agree ? "hold the same numbers" : "DIFFER");
  text += fmt::format(
      "memory   {}; {} B on the fullest rank\n",
      v.memory_as_planned() ? "as planned on every rank, to the byte" : "NOT AS PLANNED",
      most_held(v).value);
  for (std::size_t r = 0; r < v.held.size(); ++r) {
    if (v.held[r] == v.planned[r]) continue;
    text += fmt::format("         rank {} held {} B, planned {} B\n", r, v.held[r].value,
                        v.planned[r].value);
  }
  return text;
}

/// What every rank does. Rank 0 runs the unsharded plans when nobody waits for it any more.
int be_rank(Transport& transport, const Scenario& scenario, const std::vector<VerifiedPlan>& plans,
            const RealrunOptions& options, const MakeDevice& device) {
  const RunOptions run{.steps = options.steps, .patience_s = options.patience_s, .device = device};
  std::vector<std::optional<ModelState>> states;
  for (const VerifiedPlan& p : plans) {
    states.push_back(run_steps(scenario.model, p.plan, p.precision, transport, run));
  }
  if (transport.rank() != 0) return kYes;
  std::vector<VerifiedRow> rows;
  std::string text;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto& [precision, plan, unsharded] = plans[i];
    const ModelState expected = run_steps(scenario.model, unsharded, precision, run);
    const Verification v = compare(*states[i], expected);
    text += fmt::format("{}  {} on {} ranks, {}, over {}{}\n", scenario.name, plan.name, v.ranks,
                        name_of(precision), transport.name(), on_backend(options));
    const Tolerance allowed = tolerance_of(precision, scenario.model, plan, options.steps);
    text += text_of(v, allowed);
    rows.push_back({scenario.name, precision, v, allowed, passes(v, allowed)});
  }
  switch (options.output.kind()) {
    case Format::kText: print_result(options.output, text); break;
    case Format::kJson: print_result(options.output, to_json(rows, options.steps)); break;
    case Format::kCsv: print_result(options.output, to_csv(rows, options.steps)); break;
  }
  return std::ranges::all_of(rows, &VerifiedRow::passed) ? kYes : kNo;
}

int run_verify(const RealrunOptions& options, const Command& command) {
  const Scenario scenario = load_scenario(options.scenario.file, options.scenario.overrides());
  require_kernels(scenario, options);
  if (speaks_for_all(options)) print_warnings(scenario.warnings);
  const std::vector<VerifiedPlan> plans = prepared(scenario, options);
  WorldOptions world;
  world.transport = options.transport, world.patience_s = options.patience_s;
  world.command = command.words;
  const Backend backend(options);
  return run_world(rank_count(plans.front().plan), world, [&](Transport& transport) {
    return be_rank(transport, scenario, plans, options, backend.device());
  });
}

#else

int run_verify(const RealrunOptions&, const Command&) {
  throw EnvironmentError(
      "this build has no real runs: install OpenBLAS (libopenblas-dev) and build again");
}

#endif

int run_mode(RealrunOptions options, const Command& command) {
  const bool on_gpu = options.on_gpu();
  if (!options.matrix && !options.verify) return run_timed(options, command);
  if (!options.matrix) {
    if (options.precisions.empty()) options.precisions = {on_gpu ? "fp32" : "fp64"};
    return run_verify(options, command);
  }
  if (options.precisions.empty()) {
    options.precisions = on_gpu ? std::vector<std::string>{"fp32", "bf16"}
                                : std::vector<std::string>{"fp64", "fp32"};
  }
  return run_matrix(options);
}

int run_realrun(const RealrunOptions& options, const Command& command) {
  if (print_help_for_sets(options.scenario, options.output)) return kYes;
#if PLAIT_HAS_REALRUN
  try {
    return run_mode(options, command);
  } catch (const NotHere& e) {
    std::fprintf(stderr, "skipped: %s\n", e.what());
    return kSkipped;
  }
#else
  return run_mode(options, command);
#endif
}

std::vector<Option> add_launch_options(Subcommand sub, RealrunOptions& o) {
  std::vector<Option> all = {
      sub.option("--transport", o.transport,
                 "How ranks talk: threads of one process, tcp between processes, or mpi")
          .one_of({"threads", "tcp", "mpi"})
          .shows_default(),
      sub.option("--patience", o.patience_s,
                 "Seconds without any progress after which a rank gives up")
          .between(0.01, 1e6)
          .shows_default()};
  for (Option option : all) option.group("Ranks");
  return all;
}

std::vector<Option> add_timed_options(Subcommand sub, RealrunOptions& o) {
  std::vector<Option> all = {
      sub.option("--calibration", o.calibration,
                 "Of this machine, by `plait calibrate`: predict the step and compare")
          .takes("FILE"),
      sub.option("--kernels", o.kernels,
                 "real, or timed: compute sleeps for its predicted time, communication is real")
          .one_of({"real", "timed"})
          .shows_default(),
      sub.option("--collectives", o.collectives,
                 "rounds of messages, as simulated, or a library's own: MPI's, or on GPUs "
                 "NCCL's, which "
                 "then carries messages too")
          .one_of({"rounds", "library"})
          .shows_default(),
      sub.option("--graphs", o.graphs,
                 "cuda, one rank: on repeats the second step as one CUDA graph (the numbers "
                 "are then those of one step number)")
          .one_of({"on", "off"})
          .shows_default(),
      sub.flag("--shaped", o.shaped,
               "Give every node of the cluster a network namespace and a link of its bandwidth "
               "(exit code 77: not permitted here)"),
      sub.option("--warmup", o.warmup, "Steps before the measured ones")
          .between(0, 1000000)
          .shows_default(),
      sub.option("--repeats", o.repeats, "Measured steps").between(1, 1000000).shows_default(),
      sub.option("--trace", o.trace,
                 "Also write measured and predicted timelines for ui.perfetto.dev")
          .writes_file(),
      add_html_option(sub, o.html)};
  for (Option option : all) option.group("Timed steps");
  return all;
}

Option add_precision_option(Subcommand sub, RealrunOptions& o) {
  return sub
      .option("--precision", o.precisions,
              "Of the numbers: fp64 (to 1e-12, after several steps 1e-11; default; not on a GPU), "
              "fp32 (to 1e-5, after several 5e-5), bf16 (the scenario's mix, to 3e-2, and more "
              "with many layers, several steps, experts or ReLU), or several; one tensor of fp32 "
              "or bf16 to 10 times as much; --matrix: fp64,fp32")
      .separated_by_commas()
      .one_of({"fp64", "fp32", "bf16"});
}

/// Options that would have no effect beside `mode`.
void refuse(const std::string& mode, const std::vector<Option>& options) {
  for (const Option& o : options) {
    if (o.given()) usage_error(mode + " excludes " + o.name());
  }
}

/// Options of a mode, or of GPUs.
struct ModeOptions {
  std::vector<Option> launch, timed, verified, on_gpu;
};

void check_options(const RealrunOptions& o, const ModeOptions& of) {
  const auto& [launch, timed, verified, on_gpu] = of;
  if (!o.matrix && o.scenario.file.empty()) usage_error("SCENARIO is required");
  if (o.matrix) refuse("--matrix", launch);
  if (o.matrix && !o.scenario.sets.empty()) usage_error("--matrix excludes --set and --network");
  if (!o.matrix && !o.verify) {
    for (const Option& option : verified) {
      if (option.given()) usage_error(option.name() + " requires --verify or --matrix");
    }
  }
  if (!o.on_gpu()) refuse("--backend cpu", on_gpu);
  if (o.matrix || o.verify) refuse(o.matrix ? "--matrix" : "--verify", timed);
  if (o.transport == "mpi" && o.scenario.file == "-") {
    usage_error("--transport mpi: every rank reads the scenario: name a file");
  }
  if (!o.on_gpu() && o.graphs == "on") usage_error("--graphs on requires --backend cuda");
  if (!o.on_gpu()) return;
  if (std::ranges::find(o.precisions, "fp64") != o.precisions.end()) {
    usage_error("--precision: GPUs run fp32 and bf16 here, not fp64");
  }
  if (o.kernels == "timed") usage_error("--kernels timed excludes --backend");
  if (o.backend != "cuda-green") return;
  if (o.transport != "threads") {
    usage_error("--backend cuda-green: ranks are threads of one process (--transport threads)");
  }
  if (o.collectives == "library")
    usage_error("--backend cuda-green excludes --collectives library");
  if (!o.calibration.empty())
    usage_error("--backend cuda-green excludes --calibration: that is of the whole GPU");
}

}  // namespace

void add_realrun(Command& command) {
  auto options = std::make_shared<RealrunOptions>();
  Subcommand sub =
      command.program.subcommand("realrun",
                                 "Execute the plan: time its steps beside their "
                                 "prediction, or verify its gradients (exit code 1: they differ)");
  const Option scenario = add_scenario_options(sub, options->scenario).required(false);
  const Option verify = sub.flag("--verify", options->verify,
                                 "Compare losses and all gradients with the unsharded plan's");
  const Option matrix =
      sub.flag("--matrix", options->matrix,
               "Verify the built-in list of strategies on small models and print the table")
          .excludes(scenario)
          .excludes(verify);
  sub.option("--cases", options->cases, "Of the list: those whose names contain TEXT")
      .takes("TEXT")
      .needs(matrix);
  const Option precision = add_precision_option(sub, *options);
  sub.option("--backend", options->backend,
             "What ranks compute with: cpu; cuda: NVIDIA GPUs (exit code 77: there is none); or "
             "cuda-green: one GPU, of which each rank has multiprocessors of its own")
      .one_of({"cpu", "cuda", "cuda-green"})
      .shows_default();
  const Option tf32 = sub.flag("--tf32", options->tf32, "cuda: products of fp32 on tensor cores");
  const Option steps =
      sub.option("--steps", options->steps, "Optimizer steps; the last one's gradients count")
          .between(1, 1000)
          .shows_default();
  ModeOptions of = {.launch = add_launch_options(sub, *options),
                    .timed = add_timed_options(sub, *options),
                    .verified = {precision, steps},
                    .on_gpu = {tf32}};
  add_output_options(sub, options->output);
  sub.runs([&command, options] { return run_realrun(*options, command); },
           [options, of] { check_options(*options, of); });
}

}  // namespace plait
