#pragma once
// Cases of the matrix on a device: each must compute what the unsharded plan computes.

#include <gtest/gtest.h>

#include <vector>

#include "realrun/matrix/matrix.h"

namespace plait {

/// Two steps each: the second starts from what the first one's clip factor, optimizer and gathers
/// made.
inline void expect_pass(const MakeDevice& device, RunPrecision precision,
                        const std::vector<MatrixCase>& cases) {
  constexpr int kSteps = 2;
  MatrixRunner runner(precision, kSteps, device);
  for (const MatrixCase& c : cases) {
    SCOPED_TRACE(c.name);
    const MatrixRow row = runner.run(c);
    EXPECT_TRUE(row.passed) << row.result.whole_error << " of " << row.allowed.whole << ", "
                            << row.result.worst_error << " of " << row.allowed.error
                            << " allowed in " << row.result.worst_tensor << ", cosine "
                            << row.result.worst_cosine;
    EXPECT_EQ(row.result.held, row.result.planned);
    EXPECT_GT(row.result.gradient_norm, 1);  // clipping is active
  }
}

}  // namespace plait
