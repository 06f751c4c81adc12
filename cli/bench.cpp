// plait bench compute|copy|comm: measures this machine, as JSON lines for plait calibrate.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "core/error.h"
#include "plait_version.h"

#if PLAIT_HAS_REALRUN
#include "realrun/bench/bench.h"
#include "realrun/bench/machine.h"
#endif

namespace plait {
namespace {

struct BenchCommand {
  std::string what;
  std::string output;
  bool quick = false;
  double seconds = 0;
  int threads = 0;  // 0: one for each core
};

#if PLAIT_HAS_REALRUN

/// On a terminal one line that is written over; elsewhere one line for each tenth.
class Progress {
 public:
  void operator()(std::size_t done, std::size_t all, const std::string& next) {
    const std::string text = fmt::format("{:>5} of {}  {}", done, all, next);
    if (terminal_) {
      std::fprintf(stderr, "\r%-60s", text.c_str());
    } else if (done * 10 / all != tenth_) {
      tenth_ = done * 10 / all;
      std::fprintf(stderr, "%s\n", text.c_str());
    }
  }
  void finish() const {
    if (terminal_) std::fprintf(stderr, "\r%-60s\r", "");
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::size_t tenth_ = 0;
};

int run(const BenchCommand& command, const std::string& line) {
  const Quietness quietness = probe_quietness();
  const MachineTime before = machine_time();
  std::fprintf(stderr, "this machine is %s\n", words_for(quietness).c_str());
  const std::string version = fmt::format("{} ({})", kVersion, kRevision);
  RunRow about = describe_run(command.what, version, line, quietness);
  if (command.what == "compute") {
    about.threads = command.threads > 0 ? command.threads : std::max<std::int64_t>(about.cores, 1);
  }
  RowsFile file(command.output, about);
  if (file.found() > 0) std::fprintf(stderr, "%zu rows are there already\n", file.found());
  Progress progress;
  BenchOptions options;
  options.size = command.quick ? GridSize::kQuick : GridSize::kFull;
  options.seconds = command.seconds;
  options.threads = static_cast<int>(about.threads);
  options.progress = [&](std::size_t done, std::size_t all, const std::string& next) {
    progress(done, all, next);
  };
  if (command.what == "compute") bench_compute(file, options);
  if (command.what == "copy") bench_copy(file, options);
  progress.finish();
  EndRow end;
  if (!file.has(end)) {
    const Quietness during = quietness_since(before);
    end.stolen = during.stolen;
    // That we are busy ourselves is no noise; what was stolen meanwhile is.
    end.quiet = words_for({.stolen = during.stolen});
    file.add(end);
  }
  return kYes;
}

#else

int run(const BenchCommand&, const std::string&) {
  throw EnvironmentError(
      "this build has no real kernels: install OpenBLAS (libopenblas-dev) and build again");
}

#endif

CLI::App& add_kind(CLI::App& parent, Command& command, const std::shared_ptr<BenchCommand>& options,
                   const std::string& what, const std::string& help) {
  CLI::App* sub = parent.add_subcommand(what, help);
  sub->add_option("-o,--output", options->output,
                  "JSON lines; a run that was interrupted goes on from what is there (default: "
                  "standard output)")
      ->type_name("FILE");
  sub->add_flag("--quick", options->quick, "Small sizes and few repeats, to try it out");
  sub->add_option("--seconds", options->seconds, "About how long it may take")
      ->check(CLI::Range(0.1, 86400.0));
  sub->callback([&command, options, what] {
    options->what = what;
    command.action = [&command, options] { return run(*options, command.line); };
  });
  return *sub;
}

}  // namespace

void add_bench(Command& command) {
  auto options = std::make_shared<BenchCommand>();
  CLI::App* sub = command.app.add_subcommand("bench", "Measure this machine for plait calibrate");
  sub->require_subcommand(1);
  add_kind(*sub, command, options, "compute",
           "Kernels over a grid of shapes, operands from memory");
  add_kind(*sub, command, options, "copy", "Memory bandwidth: copying, adding, reading, filling");
}

}  // namespace plait
