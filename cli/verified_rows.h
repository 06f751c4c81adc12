#pragma once
// Verified plans, one a row, as `plait realrun --verify` and `--matrix` write them for programs.

#include <string>
#include <vector>

#include "realrun/verify.h"

namespace plait {

struct VerifiedRow {
  std::string strategy;
  RunPrecision precision = RunPrecision::kFp64;
  Verification result;
  Tolerance allowed;
  bool passed = false;
};

/// Of the fullest rank.
Bytes most_held(const Verification& v);

/// After so many optimizer steps.
std::string to_json(const std::vector<VerifiedRow>& rows, int steps);
std::string to_csv(const std::vector<VerifiedRow>& rows, int steps);

}  // namespace plait
