// The first kernel of a cast to nvfp4, which looks for the largest magnitude: what is committed is
// the fit of 7 of 10 shapes (m, k) of TensorRT-LLM's on B200 (AIConfigurator's computescale table:
// a dynamic cast less a static one), and it predicts the others. That of the kernels behind it:
// GemmFits.
//   PLAIT_DATA=... costmodel_test --gtest_filter='CastFits.*'
// prints the constants and the errors.

#include <gtest/gtest.h>

#include "core/error.h"
#include "costmodel/casts.h"
#include "tests/costmodel/committed_streams.h"
#include "tests/costmodel/errors.h"
#include "tests/costmodel/fit/streams.h"
#include "tests/costmodel/measured_kernels.h"

namespace plait::cast_fits_test {

std::vector<StreamRow> rows_of(const std::filesystem::path& kernels, bool held_out) {
  std::vector<StreamRow> out;
  for (const auto& table : tables(kernels / "aiconfigurator" / "b200_sxm", "computescale_perf")) {
    for (const Record& r : read_table(table)) {
      const std::int64_t m = std::stoll(r.at("m")), k = std::stoll(r.at("k"));
      const Seconds time(std::stod(r.at("latency_us")) * 1e-6);
      if (is_held_out(m, k) == held_out) out.push_back({Bytes(2 * m * k), time});
    }
  }
  return out;
}

TEST(CastFits, CommittedIsTheFit) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  const StreamFit committed = stream_fit(b200(), StreamKind::kAmax);
  const StreamFit fit = fit_stream(rows_of(*folder, false), b200(), committed, false);
  committed_streams::expect_fit(committed, fit, "b200 largest magnitude");
}

TEST(CastFits, PredictTheOtherShapes) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  Errors errors;
  const StreamFit fit = stream_fit(b200(), StreamKind::kAmax);
  for (const StreamRow& row : rows_of(*folder, true)) {
    const Seconds time = fit.fixed + stream_time(fit, row.bytes, b200());
    errors.add("b200, largest magnitude", time / row.time, fit.quality.band);
    if (row.bytes >= b200().l2_cache)
      errors.add("b200, largest magnitude, from 126 MiB", time / row.time, fit.quality.band);
  }
  errors.print();
  for (const auto& [what, e] : errors.summaries()) EXPECT_LE(e.mean, 0.09) << what;
}

/// The rate at which bytes pass, without the start of kernels and what the cache holds.
double bytes_per_second(StreamKind kind) {
  return stream_fit(b200(), kind).bandwidth * b200().memory_bandwidth.value;
}

// Of so many elements that starts and cache do not count: 2 bytes are looked at, then read once for
// each copy that is written, of 9 bytes for 16 elements. Transformer Engine's kernels take (6.453 -
// 3.764) / 3.203 of what inference engines' would.
TEST(CastCost, IsAPassOverAllAndOneForEachRotatedCopy) {
  const std::int64_t n = std::int64_t{1} << 34;
  const auto elements = static_cast<double>(n);
  Cast cast{.elements = n, .from = DType::kBf16, .to = DType::kNvfp4, .copies = 2, .rotated = true};
  const double amax = 2 * elements / bytes_per_second(StreamKind::kAmax);
  const double quantise = bytes_per_second(StreamKind::kQuantise);
  const auto seconds = [&] {
    const double of_engines = 3.203 / (6.453 - 3.764);
    return of_engines * CostModel{}.compute(cast, b200()).total().value;
  };
  EXPECT_NEAR(seconds() / (amax + 2 * (2 + 9.0 / 16) * elements / quantise), 1, 0.01);
  EXPECT_EQ(CostModel{}.memory_bytes(cast, b200()).value, n * 3 * 2 + 2 * n * 9 / 16);
  cast.rotated = false;  // of a weight: both copies by one kernel
  EXPECT_NEAR(seconds() / (amax + (2 + 2 * 9.0 / 16) * elements / quantise), 1, 0.01);
  cast.copies = 1;
  EXPECT_NEAR(seconds() / (amax + (2 + 9.0 / 16) * elements / quantise), 1, 0.01);
}

TEST(CastCost, IsNoKernelOfADeviceWithoutSuchProducts) {
  EXPECT_THROW(CostModel{}.compute(MatMul{.m = 64, .n = 64, .k = 64, .in = DType::kNvfp4}, h100()),
               InputError);
}

}  // namespace plait::cast_fits_test
