#pragma once
// The verified matrix: small models, each split by one strategy or hybrid, on 1 to 8 ranks.
// Together they use every file of plan/strategies, which a test compares with the directory.

#include <list>
#include <string>
#include <vector>

#include "realrun/verify.h"

namespace plait {

struct MatrixCase {
  std::string name;  // "fsdp, tp, sp"
  Model model;
  Workload workload;
  Strategy strategy;
  /// The unsharded plan takes its sequences one by one.
  Workload unsharded() const;
};
std::vector<MatrixCase> matrix_cases();
/// Of these, the ones that GPUs have kernels for.
std::vector<MatrixCase> gpu_matrix_cases();

struct MatrixRow {
  const MatrixCase* of = nullptr;
  RunPrecision precision = RunPrecision::kFp64;
  Verification result;
  Tolerance allowed;
  bool passed = false;
};
/// Runs cases one after the other; cases of the same model and batch share the unsharded run.
class MatrixRunner {
 public:
  /// On `device`; empty: the processor.
  MatrixRunner(RunPrecision precision, int steps, MakeDevice device = {})
      : precision_(precision), run_{.steps = steps, .device = std::move(device)} {}
  MatrixRow run(const MatrixCase& c);

 private:
  struct Reference {
    Model model;
    Workload workload;
    ModelState state;
  };
  const ModelState& reference(const MatrixCase& c);

  RunPrecision precision_;
  RunOptions run_;
  std::list<Reference> references_;  // whose states stay where they are
};

}  // namespace plait
