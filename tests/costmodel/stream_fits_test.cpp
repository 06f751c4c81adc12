// The constants of kernels that stream: what is committed is the fit of 7 of 10 shapes of Vidur's
// profiles, and it predicts the others.
//   PLAIT_DATA=... costmodel_test --gtest_filter='StreamFits.*'
// prints the constants and the table of errors. The profiles' clock has ticks of a microsecond.

#include <gtest/gtest.h>

#include "tests/costmodel/committed_streams.h"
#include "tests/costmodel/errors.h"
#include "tests/costmodel/fit/streams.h"
#include "tests/costmodel/vidur_layers.h"

namespace plait::stream_fits_test {

constexpr Seconds kTenTicks(10e-6);

struct Stream {
  const char* name;
  StreamKind kind;
};
constexpr Stream kStreams[] = {
    {"add", StreamKind::kCopy}, {"attn_rope", StreamKind::kRope}, {"emb", StreamKind::kEmbedding}};

/// With the vectors of hidden state and of queries and keys that tell a shape from others.
struct Profile {
  StreamRow row;
  bool held_out;
};
std::vector<Profile> profiles(const std::filesystem::path& kernels, const std::string& gpu,
                              const std::string& op) {
  std::vector<Profile> out;
  for_each_layer(kernels, gpu, [&](const Record& r, const Layer& layer) {
    const Seconds time = time_of(r, op);
    if (time.value > 0)
      out.push_back({{memory_traffic(layer.streams().at(op)), time},
                     is_held_out(layer.width, layer.query + layer.key)});
  });
  return out;
}

const std::pair<const char*, Device> kDevices[] = {{"a100", a100()}, {"h100", h100()}};

TEST(StreamFits, CommittedIsTheFit) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  for (const auto& [gpu, device] : kDevices) {
    for (const Stream& s : kStreams) {
      std::vector<StreamRow> rows;
      for (const Profile& p : profiles(*folder, gpu, s.name))
        if (!p.held_out) rows.push_back(p.row);
      const StreamFit committed = stream_fit(device, s.kind);
      const StreamFit fit = fit_stream(rows, device, committed, s.kind == StreamKind::kCopy);
      committed_streams::expect_fit(committed, fit, fmt::format("{} {}", gpu, s.name));
    }
  }
}

TEST(StreamFits, PredictTheOtherShapes) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  Errors errors;
  for (const auto& [gpu, device] : kDevices) {
    for (const Stream& s : kStreams) {
      const StreamFit fit = stream_fit(device, s.kind);
      for (const Profile& p : profiles(*folder, gpu, s.name)) {
        if (!p.held_out) continue;
        const Seconds time = fit.fixed + stream_time(fit, p.row.bytes, device);
        const std::string what = fmt::format("{}, {}", gpu, s.name);
        errors.add(what, time / p.row.time, fit.quality.band);
        if (p.row.time >= kTenTicks)
          errors.add(what + ", from 10 us", time / p.row.time, fit.quality.band);
      }
    }
  }
  errors.print();
  for (const auto& [what, e] : errors.summaries())
    EXPECT_LE(e.mean, what.ends_with("us") ? 0.08 : 0.085) << what;
}

// More bytes take longer, and all of them less than without a cache.
TEST(StreamFits, CacheSavesTheSameAtAnySize) {
  const Device device = h100();
  const StreamFit fit = stream_fit(device, StreamKind::kCopy);
  const BytesPerSecond memory = device.memory_bandwidth * fit.bandwidth;
  const auto saved = [&](std::int64_t mib) {
    return Bytes(mib * kMiB) / memory - stream_time(fit, Bytes(mib * kMiB), device);
  };
  EXPECT_NEAR(saved(25) / (Bytes(25 * kMiB) / memory), 1 - fit.bandwidth / fit.l2, 1e-9);
  EXPECT_NEAR(saved(400) / saved(25), 1, 1e-9);
  EXPECT_NEAR(saved(10) / saved(5), 2, 1e-9);
}

}  // namespace plait::stream_fits_test
