#pragma once
// One measurement of a peer comparison: both programs print the same columns, so that compare.sh
// can divide them.

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bench/stopwatch.h"

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

inline void print_row(std::string_view engine, int ranks, std::int64_t activities, double seconds,
                      double simulated_s) {
  fmt::print("{:<16} {:>8} {:>12} {:>12} {:>16} {:>14} {:>12}\n", "engine", "ranks", "activities",
             "seconds", "activities_per_s", "simulated_s", "peak_MiB");
  fmt::print("{:<16} {:>8} {:>12} {:>12.6f} {:>16.0f} {:>14.6f} {:>12}\n", engine, ranks,
             activities, seconds, static_cast<double>(activities) / seconds, simulated_s,
             peak_mebibytes());
}

}  // namespace plait
