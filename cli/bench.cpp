// plait bench compute|copy|comm: measures this machine, as JSON lines for plait calibrate.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/work_in_hand.h"
#include "core/error.h"
#include "plait_version.h"

#if PLAIT_HAS_REALRUN
#include "core/sha256.h"
#include "realrun/bench/bench.h"
#include "realrun/bench/gpu_comm.h"
#include "realrun/bench/gpu_overlap.h"
#include "realrun/bench/machine.h"
#include "realrun/compute/gpu.h"
#include "realrun/control.h"
#include "realrun/launch/world.h"
#include "realrun/not_here.h"
#endif

namespace plait {
namespace {

struct BenchCommand {
  std::string what;
  std::string backend = "cpu";
  std::string output;
  bool quick = false;
  double seconds = 0;
  int threads = 0;  // of compute; 0: one for each core
  std::string transport = "threads";
  std::int64_t ranks = 0;  // 0: the fewest that there may be
};

#if PLAIT_HAS_REALRUN

std::int64_t ranks_of(const BenchCommand& bench) {
  if (bench.ranks > 0) return bench.ranks;
  return bench.what == "overlap" ? 1 : 2;
}

constexpr std::size_t kHostDigits = 12;  // of a hash: a cluster's nodes differ in them

/// What was stolen while it ran. That we are busy ourselves is no noise.
EndRow end_row(const MachineTime& before) {
  const Quietness during = quietness_since(before);
  return {.stolen = during.stolen, .quiet = words_for({.stolen = during.stolen})};
}

BenchOptions options_of(const BenchCommand& bench, ProgressLine& progress) {
  BenchOptions options;
  options.size = bench.quick ? GridSize::kQuick : GridSize::kFull;
  options.seconds = bench.seconds;
  options.progress = [&](std::size_t done, std::size_t all, const std::string& next) {
    progress(done, all, next);
  };
  return options;
}

std::string this_version() { return fmt::format("{} ({})", kVersion, kRevision); }

/// On one rank (of the one that there is, or rank 0) with the file, on others without.
void measure(const BenchCommand& bench, const std::string& line, Transport* transport) {
  const bool speaks = transport == nullptr || transport->rank() == 0;
  ProgressLine progress;
  BenchOptions options = options_of(bench, progress);
  if (!speaks) return bench_comm(*transport, nullptr, options);
  const Quietness quietness = probe_quietness();
  const MachineTime before = machine_time();
  std::fprintf(stderr, "this machine is %s\n", words_for(quietness).c_str());
  RunRow about = describe_run(bench.what, this_version(), line, quietness);
  if (bench.what == "compute") {
    about.threads = bench.threads > 0 ? bench.threads : std::max<std::int64_t>(about.cores, 1);
  }
  RowsFile file(bench.output, about);
  if (file.found() > 0) std::fprintf(stderr, "%zu rows are there already\n", file.found());
  options.threads = static_cast<int>(about.threads);
  if (bench.what == "compute") bench_compute(file, options);
  if (bench.what == "copy") bench_copy(file, options);
  if (bench.what == "comm") bench_comm(*transport, &file, options);
  progress.finish();
  if (!file.has(EndRow{})) file.add(end_row(before));
}

void describe_gpu(RunRow& about, const Gpus& gpus) {
  about.host = sha256(about.host).substr(0, kHostDigits);
  gpus.describe(about);
}
void describe_between_gpus(RunRow& about, const Gpus& gpus) {
  describe_gpu(about, gpus);
  about.blas = gpus.comm_library() + ", " + about.blas;
}

/// What others take of the processors is no matter to GPUs.
void end_on_gpus(RowsFile& file, const RunRow& about) {
  if (!file.has(EndRow{})) file.add(EndRow{.stolen = 0, .quiet = about.quiet});
}

void measure_gpu(const BenchCommand& bench, const std::string& line) {
  const std::unique_ptr<Gpus> gpus = load_gpus();
  RunRow about = describe_run(bench.what, this_version(), line, {});
  describe_gpu(about, *gpus);
  RowsFile file(bench.output, about);
  if (file.found() > 0) std::fprintf(stderr, "%zu rows are there already\n", file.found());
  const auto note = [&](const char* at) {
    GpuRow row = gpus->state();
    row.at = at;
    if (!file.has(row)) file.add(row);
  };
  note("start");
  ProgressLine progress;
  const BenchOptions options = options_of(bench, progress);
  const std::unique_ptr<GpuTimer> gpu = gpus->timer(options.size);
  (bench.what == "compute" ? bench_gpu_compute : bench_gpu_copy)(file, options, *gpu);
  progress.finish();
  note("end");  // the clocks right behind the last kernel
  gpus->describe(about);
  end_on_gpus(file, about);
}

/// On which node each rank is, by the names of their hosts.
std::vector<std::int64_t> nodes_of_ranks(Transport& transport, const std::string& host) {
  constexpr double kPatience = 60;  // seconds
  Control control(transport, kPatience);
  const auto bytes = std::as_bytes(std::span(host));
  const auto hosts = control.gather({bytes.begin(), bytes.end()});
  std::vector<std::byte> nodes;  // of rank 0: the place of each host's first rank
  for (const auto& name : hosts) {
    nodes.push_back(static_cast<std::byte>(std::ranges::find(hosts, name) - hosts.begin()));
  }
  std::vector<std::int64_t> out;
  for (const std::byte node : control.broadcast(nodes)) {
    out.push_back(std::to_integer<std::int64_t>(node));
  }
  return out;
}

/// On each rank; rank 0 has the file.
void measure_between_gpus(const BenchCommand& bench, const std::string& line, const Gpus& gpus,
                          Transport& transport) {
  ProgressLine progress;
  const BenchOptions options = options_of(bench, progress);
  RunRow about = describe_run(bench.what, this_version(), line, {});
  const auto nodes = nodes_of_ranks(transport, about.host);
  auto groups = measured_groups(nodes);
  for (RankGroup& pair : measured_pairs(nodes)) groups.push_back(std::move(pair));
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  const auto comm = gpus.comm(transport, groups, largest_collective(options.size));
  if (transport.rank() != 0) return bench_gpu_comm(transport, nullptr, options, nodes, *comm);
  describe_between_gpus(about, gpus);
  RowsFile file(bench.output, about);
  bench_gpu_comm(transport, &file, options, nodes, *comm);
  progress.finish();
  end_on_gpus(file, about);
}

/// On each rank; rank 0 has the file. What one GPU can do without another one, or NCCL between all.
void measure_overlap(const BenchCommand& bench, const std::string& line, const Gpus& gpus,
                     Transport& transport) {
  ProgressLine progress;
  const BenchOptions options = options_of(bench, progress);
  RunRow about = describe_run(bench.what, this_version(), line, {});
  const auto nodes = nodes_of_ranks(transport, about.host);
  const bool alone = transport.ranks() == 1;
  const auto ways = alone ? std::vector{"copy", "green"} : std::vector{"nccl"};
  std::unique_ptr<RowsFile> file;
  if (transport.rank() == 0) {
    alone ? describe_gpu(about, gpus) : describe_between_gpus(about, gpus);
    file = std::make_unique<RowsFile>(bench.output, about);
  }
  for (const char* way : ways) {
    const auto gpu = gpus.overlap(way, transport, options.size);
    bench_gpu_overlap(transport, file.get(), options, nodes, *gpu);
  }
  progress.finish();
  if (file) end_on_gpus(*file, about);
}

int run_on_gpus(const BenchCommand& bench, const Command& command) {
  if (bench.what == "compute" || bench.what == "copy") {
    return measure_gpu(bench, command.line), kYes;
  }
  const std::unique_ptr<Gpus> gpus = load_gpus();
  WorldOptions world;
  world.transport = bench.transport, world.command = command.words;
  return run_world(ranks_of(bench), world, [&](Transport& transport) {
    (bench.what == "comm" ? measure_between_gpus : measure_overlap)(bench, command.line, *gpus,
                                                                    transport);
    return kYes;
  });
}

int run(const BenchCommand& bench, const Command& command) {
  if (!bench.output.empty() && bench.output != "-") keeps_rows_in(bench.output);
  if (bench.backend == "cuda") {
    try {
      return run_on_gpus(bench, command);
    } catch (const NotHere& e) {
      std::fprintf(stderr, "skipped: %s\n", e.what());
      return kSkipped;
    }
  }
  if (bench.what != "comm") return measure(bench, command.line, nullptr), kYes;
  WorldOptions world;
  world.transport = bench.transport, world.command = command.words;
  return run_world(ranks_of(bench), world, [&](Transport& transport) {
    measure(bench, command.line, &transport);
    return kYes;
  });
}

#else

int run(const BenchCommand&, const Command&) {
  throw EnvironmentError(
      "this build has no real kernels: install OpenBLAS (libopenblas-dev) and build again");
}

#endif

Subcommand add_kind(Subcommand parent, Command& command,
                    const std::shared_ptr<BenchCommand>& options, const std::string& what,
                    const std::string& help) {
  Subcommand sub = parent.subcommand(what, help);
  sub.option("-o,--output", options->output,
             "JSON lines; a run that was interrupted goes on from what is there (default: "
             "standard output)")
      .writes_file();
  sub.flag("--quick", options->quick, "Small sizes and few repeats, to try it out");
  sub.option("--seconds", options->seconds,
             "About how long it may measure; each row is measured once at least")
      .between(0.1, 86400.0);
  sub.runs([&command, options, what] {
    options->what = what;
    return run(*options, command);
  });
  return sub;
}

Option add_backend(Subcommand sub, BenchCommand& options) {
  return sub
      .option("--backend", options.backend,
              "What is measured: cpu, or cuda: the first NVIDIA GPU, of comm NCCL between one GPU "
              "for each rank (exit code 77: there is none)")
      .one_of({"cpu", "cuda"})
      .shows_default();
}

/// `least` ranks, and as many by default.
void add_ranks(Subcommand sub, BenchCommand& options, int least) {
  sub.option("--transport", options.transport, "Between the ranks")
      .one_of({"threads", "tcp", "mpi"})
      .shows_default();
  sub.option("--ranks", options.ranks,
             "Of the largest group (default: " + std::to_string(least) + ")")
      .between(least, 64);
}

}  // namespace

void add_bench(Command& command) {
  auto options = std::make_shared<BenchCommand>();
  Subcommand sub = command.program.subcommand("bench", "Measure this machine for plait calibrate");
  sub.needs_subcommand();
  Subcommand compute = add_kind(sub, command, options, "compute",
                                "Kernels over a grid of shapes, operands from memory");
  const Option threads =
      compute
          .option("--threads", options->threads,
                  "Threads that compute at the same time, one of them measured, as the ranks of a "
                  "real run do (default: one for each core)")
          .between(1, 1024);
  add_backend(compute, *options).excludes(threads);
  add_backend(
      add_kind(sub, command, options, "copy",
               "Memory bandwidth: copying, adding, reading, filling; with a GPU also to and "
               "from the host"),
      *options);
  Subcommand comm = add_kind(sub, command, options, "comm",
                             "Messages and collectives between ranks of this machine, in "
                             "nccl-tests' columns");
  add_ranks(comm, *options, 2);
  add_backend(comm, *options);
  Subcommand overlap = add_kind(sub, command, options, "overlap",
                                "Kernels and communication at the same time on a GPU, beside what "
                                "each takes alone");
  overlap
      .option("--backend", options->backend,
              "What is measured: cuda, of one rank the first NVIDIA GPU with copies in its memory "
              "and with kernels on other multiprocessors, of several NCCL between their GPUs (exit "
              "code 77: there is none)")
      .one_of({"cuda"})
      .required();
  add_ranks(overlap, *options, 1);
}

}  // namespace plait
