#pragma once
// What a timed real run reports: step time, predicted beside measured by class of op, memory of
// every rank, and whether the machine was quiet enough to believe it.

#include <optional>
#include <string>
#include <vector>

#include "reports/report.h"
#include "reports/residuals.h"

namespace plait {

struct RealrunMemory {
  std::int64_t rank = 0;
  Bytes planned, held;  // peak of live tensors by the plan, and as allocated
  Bytes in_flight;      // as allocated, with what communication still kept
};

struct RealrunReport {
  RunFacts run;
  std::string layout;  // "dp 4"
  std::int64_t ranks = 1;
  std::string transport, kernels;  // "tcp", "real" or "timed"
  std::string numbers;             // the type of weights, as run: "fp32"
  std::string links;               // "shaped: 1 Gbit/s, burst 256 KiB"; "" when not shaped
  std::vector<double> step_s;      // every measured step
  double step_median_s = 0, step_low_s = 0, step_high_s = 0;  // median and its 95 % interval
  double compute_cpu_s = 0;   // processor time of compute, mean over ranks, of the median step
  std::int64_t switches = 0;  // involuntary, of all threads in the median step
  std::optional<double> predicted_step_s;
  std::string calibration;             // name and date of what predicted
  std::vector<ClassResidual> classes;  // of the median step; without a prediction predicted_s is 0
  std::vector<RealrunMemory> memory;
  std::string quietness;  // in words
};

/// predicted / measured - 1, where there is a prediction.
std::optional<double> step_error(const RealrunReport& report);

std::string to_text(const RealrunReport& report);
std::string to_json(const RealrunReport& report);
/// One row per class of op.
std::string to_csv(const RealrunReport& report);

}  // namespace plait
