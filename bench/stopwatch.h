#pragma once
// What one measurement of a whole program needs; repeated small ones use Google Benchmark.

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <ctime>

namespace plait {

/// Wall-clock seconds that `work` takes.
template <class Work>
double seconds_of(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Processor seconds of this process that `work` takes, whoever else uses the machine.
template <class Work>
double cpu_seconds_of(Work&& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Peak resident memory of this process so far.
inline std::int64_t peak_mebibytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;  // Linux counts KiB
}

}  // namespace plait
