// plait realrun SCENARIO: steps of the plan timed on this machine, beside their prediction.

#include <fmt/format.h>

#include <cstdio>

#include "cli/page.h"
#include "cli/realrun.h"
#include "core/error.h"
#include "core/json.h"
#include "core/median.h"
#include "core/new_file.h"
#include "plan/places.h"
#include "plan/strategies/stage_tp.h"
#include "plan/walk.h"
#include "prediction/calibration_doubts.h"
#include "prediction/costs.h"
#include "prediction/prediction.h"
#include "prediction/run_facts.h"
#include "reports/html/timeline.h"
#include "reports/realrun.h"
#include "reports/trace.h"
#include "sim/event/event_engine.h"
#include "topologies/catalogue.h"
#include "topologies/graph.h"

#if PLAIT_HAS_REALRUN
#include "cli/backend.h"
#include "cli/progress.h"
#include "realrun/bench/quiet.h"
#include "realrun/launch/started_ranks.h"
#include "realrun/launch/world.h"
#include "realrun/measure.h"
#include "realrun/shaped/network.h"
#endif

namespace plait {

#if PLAIT_HAS_REALRUN

namespace {

constexpr std::int64_t kMostTimedRanks = 1024;
// Of all steps: an hour or so of a processor, and of a GPU.
constexpr double kMostTimedFlops = 1e14, kMostTimedGpuFlops = 1e18, kMostTimedPasses = 1e8;

/// All that the ranks need, worked out before they start.
struct TimedRun {
  Scenario scenario;
  Plan plan;
  CostModel costs;
  std::string calibration;  // "" without one
  std::optional<Timeline> predicted;
  MeasureOptions measure;
  RunFacts facts;
};

void require_feasible(const TimedRun& run, const RealrunOptions& options) {
  const double most = options.on_gpu() ? kMostTimedGpuFlops : kMostTimedFlops;
  const double steps = static_cast<double>(run.measure.warmup + run.measure.repeats);
  const double work = run.measure.timed_compute_s.empty() ? run.plan.model_flops.value * steps : 0;
  if (rank_count(run.plan) <= kMostTimedRanks && work <= most) return;
  throw InputError(
      {.code = "G011",
       .problem = fmt::format("{} ranks and {:.1e} FLOPs are too much to run for real",
                              rank_count(run.plan), work),
       .expected = fmt::format("at most {} ranks and {:.0e} FLOPs", kMostTimedRanks, most),
       .cure = std::string(kShrink) +
               "; or ask for fewer --repeats, or time communication only with "
               "--kernels timed"});
}

/// The links of the cluster's hosts, as they are laid out.
ShapedLinks shaped_links(const Cluster& cluster) {
  ShapedLinks out;
  out.hosts = cluster.nodes;
  out.rate = cluster.graph->fabric.bandwidth * static_cast<double>(cluster.nics_per_node);
  out.burst = cluster.graph->fabric.burst * cluster.nics_per_node;
  if (out.burst.value == 0) out.burst = default_burst(out.rate);
  return out;
}

/// The machine as this run uses it. Unshaped ranks that we start ourselves, or that a launcher
/// started on one machine, are all on one host, whatever the scenario's cluster; shaped hosts are
/// namespaces of one machine.
HostSystem system_of(const TimedRun& run, const RealrunOptions& options) {
  HostSystem system = host_system(run.scenario.cluster, *run.costs.calibration, options.transport,
                                  rank_count(run.plan));
  if (options.shaped) {
    system.machines = 1;
    system.wire = {};
    if (run.scenario.cluster.graph->fabric.burst.value == 0) {
      const Bytes burst = shaped_links(run.scenario.cluster).burst;
      system.link.burst = Bytes(burst.value * kFramePayload.value / kFrame.value);
    }
  } else if (const auto started = started_rank(); !started || started->one_machine) {
    system.hosts = system.machines = 1;
    system.ranks_per_host = rank_count(run.plan);
  }
  system.timed_compute = options.kernels == "timed";
  return system;
}

std::vector<std::vector<double>> compute_times(const TimedRun& run) {
  const WorkOf work = work_of(run.plan, run.scenario.cluster, run.costs, run.scenario.placement);
  std::vector<std::vector<double>> out(run.plan.programs.size());
  for (std::size_t stage = 0; stage < out.size(); ++stage) {
    const std::int64_t rank =
        rank_at(run.plan, static_cast<std::int64_t>(stage) * run.plan.places_per_stage());
    for_each_op(run.plan, stage, [&](const Call&, const Op& op) {
      const bool computes = std::holds_alternative<Compute>(op.body);
      out[stage].push_back(computes ? work(op, rank).value : 0);
    });
  }
  return out;
}

bool on_parts(const RealrunOptions& options) { return options.backend == "cuda-green"; }

/// Ranks in green contexts are on parts of one of the scenario's GPUs, in their order. What was
/// measured on the whole of it says nothing about a part.
void move_to_parts(Scenario& scenario, std::int64_t ranks) {
  scenario.placement.clear();
  scenario.calibration.clear();
  if (scenario.cluster.shares_memory()) return;
  scenario.cluster = make_cluster(
      {.preset = "gpu-parts", .device = scenario.cluster.device, .devices_per_node = ranks});
}

/// As `plait run` does, with or without a calibration. None of stages of different tensor-parallel
/// degrees on parts of a GPU: the flow network, which knows that these share its memory, does not
/// know such stages.
std::optional<Timeline> prediction_on_gpus(const TimedRun& run) {
  const Scenario& s = run.scenario;
  if (s.cluster.shares_memory() && stages_differ(s.strategy)) return std::nullopt;
  SimulationOptions options{
      .interference = s.interference, .unfold = true, .record = true, .placement = s.placement};
  if (s.cluster.shares_memory()) options.network = make_network(s.cluster);
  Timeline out = simulate(run.plan, s.cluster, run.costs, options).timeline;
  std::erase_if(out.tracks, [](const Track& t) { return t.multiplicity == 0; });  // other places
  return out;
}

/// Of this machine's processors only where they were measured.
std::optional<Timeline> prediction_of(const TimedRun& run, const RealrunOptions& options) {
  const Cluster& cluster = run.scenario.cluster;
  const std::vector<std::int64_t>& placement = run.scenario.placement;
  if (options.on_gpu()) return prediction_on_gpus(run);
  if (run.costs.calibration == nullptr) return std::nullopt;
  return simulate_hosts(run.plan, system_of(run, options),
                        work_of(run.plan, cluster, run.costs, placement), placement);
}

/// Ranks are on processors, whatever devices the scenario has.
CostModel costs_of_processors(Scenario scenario) {
  scenario.cluster.device.compute_capability = 0;
  return costs_of(scenario);
}

TimedRun prepare(const RealrunOptions& options, const Command& command) {
  TimedRun run;
  run.scenario = load_scenario(options.scenario.file, options.scenario.overrides());
  require_kernels(run.scenario, options);
  require_few_passes(run.scenario, run.scenario.strategy.replicas(),
                     static_cast<double>(options.warmup + options.repeats), kMostTimedPasses);
  if (!options.on_gpu())
    run.scenario.workload.precision = {DType::kFp32, DType::kFp32, DType::kFp32, DType::kFp32,
                                       DType::kFp32};
  run.plan = sound_plan(run.scenario);
  run.facts = run_facts(run.scenario, command.line);
  if (!options.calibration.empty()) run.scenario.calibration = options.calibration;
  if (on_parts(options)) move_to_parts(run.scenario, rank_count(run.plan));
  run.costs = options.on_gpu() ? costs_of(run.scenario) : costs_of_processors(run.scenario);
  run.measure.warmup = options.warmup, run.measure.repeats = options.repeats;
  run.measure.patience_s = options.patience_s;
  run.measure.library_collectives = options.collectives == "library" && !options.on_gpu();
  if (run.measure.library_collectives && options.transport != "mpi") {
    throw InputError({.code = "G015",
                      .problem = options.transport + " has no collectives of its own",
                      .expected = "--transport mpi with --collectives library",
                      .cure = "choose --transport mpi, or leave --collectives out"});
  }
  if (options.kernels == "timed") run.measure.timed_compute_s = compute_times(run);
  require_feasible(run, options);
  if (run.costs.calibration != nullptr) run.calibration = told_as(*run.costs.calibration);
  append(run.scenario.warnings, doubts_of_kernels(run.plan, run.scenario.cluster, run.costs));
  if (options.on_gpu() && run.calibration.empty()) run.calibration = "the device's data sheet";
  run.predicted = prediction_of(run, options);
  return run;
}

void add_processor_time(RealrunReport& report, const Plan& plan, const Measurement& m) {
  for (const RankRecord& r : m.ranks) {
    const auto stage = static_cast<std::size_t>(stage_of_rank(plan, r.rank));
    const std::vector<OpTime>& step = r.steps[m.median_step];
    for_each_op(plan, stage, [&](std::int64_t flat, const Call&, const Op& op) {
      const OpTime& t = step[static_cast<std::size_t>(flat)];
      report.switches += t.switches;
      if (std::holds_alternative<Compute>(op.body)) {
        report.compute_cpu_s += static_cast<double>(t.cpu_ns) * 1e-9;
      }
    });
  }
  report.compute_cpu_s /= static_cast<double>(m.ranks.size());
}

RealrunReport report_of(const TimedRun& run, const RealrunOptions& options, const Measurement& m) {
  RealrunReport out;
  out.run = run.facts;
  out.layout = layout_text(run.scenario.strategy);
  out.ranks = rank_count(run.plan);
  out.transport = options.transport, out.kernels = options.kernels;
  if (options.on_gpu()) out.kernels = options.backend;
  out.numbers = name_of(run.scenario.workload.precision.weights);
  if (options.shaped) out.links = "shaped links";
  out.step_s = m.step_s;
  const Interval interval = median_interval(m.step_s);
  out.step_median_s = median(m.step_s), out.step_low_s = interval.low,
  out.step_high_s = interval.high;
  add_processor_time(out, run.plan, m);
  for (const RankRecord& r : m.ranks)
    out.memory.push_back({r.rank, r.planned_peak, r.held_peak, r.in_flight_peak});
  if (run.predicted) {
    out.predicted_step_s = to_seconds(run.predicted->step_time).value;
    out.calibration = run.calibration;
  }
  out.classes = residuals(run.plan, run.predicted ? *run.predicted : m.timeline, m.timeline);
  return out;
}

void save_trace(const RealrunOptions& options, const TimedRun& run, const Measurement& m) {
  if (options.trace.empty()) return;
  std::vector<std::int64_t> all;
  for (const Track& t : m.timeline.tracks) all.push_back(t.rank);
  NewFile file(options.trace);
  write_trace({.plan = run.plan,
               .timeline = run.predicted ? *run.predicted : m.timeline,
               .memory = {},
               .run = run.facts,
               .ranks = all,
               .measured = run.predicted ? &m.timeline : nullptr},
              [&](std::string_view part) { file.write(part); });
  file.finish();
}

/// Live tensors alone: what a framework adds on a GPU is not there.
std::string measured_memory(const TimedRun& run, const Measurement& m,
                            const std::vector<std::int64_t>& ranks) {
  std::vector<StageUse> uses = memory_of(run.plan, run.scenario, true);
  for (StageUse& use : uses) {
    use.overheads.clear();
    for (RoleUse& role : use.roles) role.overheads.clear();
  }
  return memory_json({run.plan, m.timeline, "measured", ranks}, uses);
}

void save_page(const RealrunOptions& options, const TimedRun& run, const RealrunReport& report,
               const Measurement& m) {
  if (options.html.empty()) return;
  std::vector<std::int64_t> all;
  for (const Track& t : m.timeline.tracks) all.push_back(t.rank);
  Page page = page_of("realrun", run.facts, to_json(report));
  page.scenario = run.scenario.canonical_json;
  std::vector<std::string> timelines = {timeline_json({run.plan, m.timeline, "measured", all})};
  if (run.predicted) {
    timelines.push_back(timeline_json({run.plan, *run.predicted, "simulated", all}));
  }
  page.pictures.push_back({"timelines", json_list(timelines)});
  page.pictures.push_back({"memory", measured_memory(run, m, all)});
  save_page(options.html, page);
}

std::string rendered(const RealrunReport& report, const OutputOptions& output) {
  switch (output.kind()) {
    case Format::kJson: return to_json(report);
    case Format::kCsv: return to_csv(report);
    case Format::kText: return to_text(report);
  }
  return "";
}

/// How quiet the machine was during the run, and how it is right after it.
std::string quietness(const MachineTime& before) {
  Quietness q = probe_quietness();
  q.stolen = std::max(q.stolen, quietness_since(before).stolen);
  return words_for(q);
}

/// What every rank does; rank 0 reports.
int be_rank(Transport& transport, TimedRun run, const RealrunOptions& options) {
  std::optional<ProgressLine> progress;
  if (transport.rank() == 0) {
    progress.emplace("running");
    run.measure.progress = [&](std::int64_t done, std::int64_t all) {
      (*progress)(static_cast<std::size_t>(done), static_cast<std::size_t>(all), "steps");
    };
  }
  const MachineTime before = machine_time();
  const std::optional<Measurement> m =
      measure(run.plan, run.scenario.model, transport, run.measure);
  progress.reset();
  if (!m) return kYes;
  RealrunReport report = report_of(run, options, *m);
  report.quietness = quietness(before);
  print_result(options.output, rendered(report, options.output));
  save_trace(options, run, *m);
  save_page(options, run, report, *m);
  return kYes;
}

int start_ranks(const TimedRun& run, const RealrunOptions& options, const Command& command,
                const ShapedNetwork* network) {
  WorldOptions world;
  world.transport = options.transport, world.patience_s = options.patience_s;
  world.network = network, world.ranks_per_host = run.scenario.cluster.devices_per_node;
  world.command = command.words;
  return run_world(rank_count(run.plan), world,
                   [&](Transport& transport) { return be_rank(transport, run, options); });
}

int run_shaped(const TimedRun& run, const RealrunOptions& options, const Command& command) {
  const Cluster& c = run.scenario.cluster;
  if (options.transport != "tcp" || c.nodes < 2) {
    throw InputError({.code = "G014",
                      .problem = "links are shaped between hosts that talk over tcp",
                      .expected = "--transport tcp, and a cluster of two or more nodes",
                      .cure = "set cluster.nodes, and cluster.devices_per_node for ranks that "
                              "share a host"});
  }
  try {
    return run_in_own_network([&] {
      const ShapedNetwork network(shaped_links(c));
      return start_ranks(run, options, command, &network);
    });
  } catch (const NotPermitted& e) {
    std::fprintf(stderr, "skipped: links cannot be shaped here: %s\n", e.what());
    return kSkipped;
  }
}

}  // namespace

int run_timed(const RealrunOptions& options, const Command& command) {
  TimedRun run = prepare(options, command);
  const Backend backend(options);
  run.measure.device = backend.device();
  if (speaks_for_all(options)) print_warnings(run.scenario.warnings);
  return options.shaped ? run_shaped(run, options, command)
                        : start_ranks(run, options, command, nullptr);
}

#else

int run_timed(const RealrunOptions&, const Command&) {
  throw EnvironmentError(
      "this build has no real runs: install OpenBLAS (libopenblas-dev) and build again");
}

#endif

}  // namespace plait
