#include "costmodel/fit/calibrate.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "costmodel/fit/kernels.h"
#include "costmodel/fit/overlap.h"
#include "costmodel/fit/row_doubts.h"
#include "costmodel/fit/tables.h"

namespace plait {
namespace {

[[noreturn]] void refuse(const std::string& problem, const std::string& expected) {
  throw InputError({.code = "K005",
                    .problem = problem,
                    .expected = expected,
                    .cure = "measure with plait bench compute, comm, copy and overlap"});
}

void describe_machine(const std::vector<Row>& rows, CalibrationResult& result) {
  const RunRow* first = nullptr;
  for (const Row& row : rows) {
    const auto* run = std::get_if<RunRow>(&row);
    if (run == nullptr) continue;
    if (first == nullptr) first = run;
    if (run->processor != first->processor || run->cores != first->cores) {
      refuse(fmt::format("measurements of two machines: {} cores of {}, and {} of {}", first->cores,
                         first->processor, run->cores, run->processor),
             "files of one machine");
    }
    if (run->quiet != "quiet") {
      result.warnings.push_back({"W004", fmt::format("{} was measured on a machine that was {}",
                                                     run->bench, run->quiet)});
    }
  }
  PLAIT_CHECK(first != nullptr, "rows without a run");
  result.calibration.machine = fmt::format("{} x {}, {}, {}, {}", first->cores, first->processor,
                                           first->kernel, first->compiler, first->blas);
  result.calibration.date = first->date;
  result.calibration.in_steps = first->bench == "profile";
  result.calibration.cores = static_cast<double>(first->cores);
}

}  // namespace

CalibrationResult calibrate(const std::vector<Row>& rows, const std::string& name,
                            const std::string& raw_sha256, const Device* gpu) {
  CalibrationResult result;
  result.calibration.name = name;
  result.calibration.raw_sha256 = raw_sha256;
  describe_machine(rows, result);
  if (gpu != nullptr) result.calibration.device = gpu->name;
  if (gpu != nullptr) {
    doubt_units(rows, *gpu, result.warnings);
    doubt_rates(rows, *gpu, result.warnings);
  }
  doubt_repeats(rows, result.warnings);
  fit_kernels(rows, gpu, result);
  doubt_fits(result.quality, result.warnings);
  fit_tables(rows, result);
  fit_overlap(rows, result);
  if (result.quality.empty())
    refuse("nothing was measured", "rows of kernels, copies, messages or overlaps");
  std::ranges::stable_sort(result.quality, {}, &FitQuality::name);
  return result;
}

}  // namespace plait
