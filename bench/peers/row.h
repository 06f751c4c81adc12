#pragma once
// One measurement of a peer comparison: both programs print the same columns, so that compare.sh
// can divide them.

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace plait {

/// Sizes of the 1F1B pipeline: stages x microbatches per replica x replicas.
struct PipelineSizes {
  int stages = 16;
  int microbatches = 64;
  int replicas = 64;
  int ranks() const { return stages * replicas; }
};

/// From the arguments STAGES MICROBATCHES REPLICAS; absent ones keep their defaults.
inline PipelineSizes sizes_from(int argc, char** argv) {
  PipelineSizes sizes;
  if (argc > 1) sizes.stages = std::atoi(argv[1]);
  if (argc > 2) sizes.microbatches = std::atoi(argv[2]);
  if (argc > 3) sizes.replicas = std::atoi(argv[3]);
  return sizes;
}

/// Wall-clock seconds that `work` takes.
template <class Work>
double seconds_of(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline void print_row(std::string_view engine, int ranks, std::int64_t activities, double seconds,
                      double simulated_s) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{:<16} {:>8} {:>12} {:>12} {:>16} {:>14} {:>12}\n", "engine", "ranks", "activities",
             "seconds", "activities_per_s", "simulated_s", "peak_MiB");
  fmt::print("{:<16} {:>8} {:>12} {:>12.6f} {:>16.0f} {:>14.6f} {:>12}\n", engine, ranks,
             activities, seconds, static_cast<double>(activities) / seconds, simulated_s,
             usage.ru_maxrss / 1024);
}

}  // namespace plait
