#pragma once
// From measurements to a calibration: each kernel class is fitted on one part of its shapes and
// judged on the other, chosen by a hash of the shape.

#include <optional>
#include <string>
#include <vector>

#include "core/warning.h"
#include "costmodel/calibration.h"
#include "model/measurement.h"
#include "topologies/cluster.h"

namespace plait {

/// How well one class, or one table, is predicted. Errors are |log(predicted / measured)|.
struct FitQuality {
  std::string name;  // "matmul.nt", "messages threads", "copy"
  std::int64_t fitted_rows = 0, held_out_rows = 0;
  double fitted_error = 0, held_out_error = 0;  // means
  /// Of the cost model without a calibration, on the GPU, over the rows that were held out.
  std::optional<double> data_sheet_error = {};
  std::string worst;  // the worst held-out row
  double worst_error = 0;
};

struct CalibrationResult {
  Calibration calibration;
  std::vector<FitQuality> quality;  // by name
  Warnings warnings;                // what is missing or noisy
};

/// `rows` of one or several files, each beginning with its "run" row; the machine is the first
/// one's. Throws InputError K005 when files of different processors are mixed or nothing can be
/// fitted. `raw_sha256` is that of the files, one behind the other. Kernels that were measured on
/// `gpu` are fitted to its features (costmodel/gpu_features.h), others to those of processors.
CalibrationResult calibrate(const std::vector<Row>& rows, const std::string& name,
                            const std::string& raw_sha256, const Device* gpu = nullptr);

}  // namespace plait
