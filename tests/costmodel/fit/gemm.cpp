#include "tests/costmodel/fit/gemm.h"

#include "tests/costmodel/fit/robust.h"

namespace plait {
namespace {

/// The constants that are fitted, and their upper bounds: no fraction exceeds one.
std::vector<Constant> constants(GemmResult& r, bool casts) {
  TiledGemm& f = r.fit;
  std::vector<Constant> out = {
      {&f.flops, 1},       {&f.bandwidth, 1},          {&f.prologue, 0},       {&f.whole_waves, 1},
      {&f.throttle, 0.25}, {&f.throttle_teraflops, 0}, {&f.sums_bandwidth, 10}};
  for (double& t : f.tile) out.push_back({&t, 1});
  if (!casts) return out.push_back({&f.fixed_us, 0}), out;
  out.push_back({&r.cast_us, 0});
  out.push_back({&r.cast_bandwidth, 1});
  return out;
}

}  // namespace

Seconds predicted(const GemmResult& result, const GemmRow& row, const Device& device) {
  const Seconds product = tiled_time(result.fit, row.op, device).total();
  if (row.cast.value == 0) return product;
  return product + Seconds(result.cast_us * 1e-6) +
         row.cast / (device.memory_bandwidth * result.cast_bandwidth);
}

GemmResult fit_gemm(const std::vector<GemmRow>& rows, const Device& device,
                    const GemmResult& start) {
  GemmResult result = start;
  std::vector<double> weights;
  for (const GemmRow& row : rows) {
    const bool training = row.op.m >= 512 && row.op.n >= 1024 && row.op.k >= 1024;
    weights.push_back(training ? 2 : 1);
  }
  fit_times(constants(result, rows.front().cast.value > 0), rows, weights,
            [&](const GemmRow& row) { return predicted(result, row, device); });
  return result;
}

}  // namespace plait
