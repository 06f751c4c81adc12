#include "realrun/bench/machine.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>
#include <thread>

#include "kernels/blas_library.h"

namespace plait {
namespace {

/// "model name" of /proc/cpuinfo; other systems do not have it.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string compiler() {
#ifdef __clang__
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string words(const char* text) {
  std::string out = text;
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

RunRow describe_run(const std::string& bench, const std::string& version,
                    const std::string& command, const Quietness& quietness) {
  RunRow run;
  run.bench = bench, run.version = version, run.command = command;
  run.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  utsname system = {};
  if (::uname(&system) == 0) {
    run.host = system.nodename;
    run.kernel = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  }
  run.processor = processor_name();
  run.cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  run.compiler = compiler();
  const kernels::BlasLibrary& blas = kernels::blas_library();
  run.blas = fmt::format("{}, kernels for {}", words(blas.config()), blas.corename());
  run.quiet = words_for(quietness);
  run.core_to_core_ns = quietness.core_to_core_ns;
  run.jitter = quietness.jitter;
  run.memory = "cold";
  return run;
}

}  // namespace plait
