#pragma once
// Whether the constants of a kernel that streams are those that a fit finds.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string_view>

#include "costmodel/efficiency.h"

namespace plait::committed_streams {

/// A failure says what was found for `what`.
inline void expect_fit(const StreamFit& committed, const StreamFit& fit, std::string_view what) {
  const std::string found = fmt::format("{}: b {:.3f}, b_L2 {:.3f}, t0 {:.2f} us", what,
                                        fit.bandwidth, fit.l2, fit.fixed.value * 1e6);
  EXPECT_NEAR(fit.bandwidth / committed.bandwidth, 1, 0.01) << found;
  EXPECT_NEAR(fit.l2 / committed.l2, 1, 0.01) << found;
  EXPECT_NEAR(fit.fixed / committed.fixed, 1, 0.01) << found;
}

}  // namespace plait::committed_streams
