#include "tests/costmodel/fit/attention.h"

#include <algorithm>

#include "tests/costmodel/fit/robust.h"

namespace plait {
namespace {

std::vector<Constant> constants(AttentionResult& r, const std::vector<AttentionRow>& rows) {
  AttentionFit& f = r.fit;
  std::vector<Constant> out = {
      {&f.flops, 1}, {&f.prologue, 0}, {&f.tail, 1}, {&f.fixed_us, 0}, {&r.cache_bandwidth, 1}};
  const auto width = [](const AttentionRow& row) { return row.op.head_dim; };
  const auto [least, most] = std::ranges::minmax(rows, {}, width);
  if (width(least) != width(most)) out.push_back({&f.exponential, 0});
  if (f.throttle > 0) {
    out.push_back({&f.throttle, 0.25});
    out.push_back({&f.throttle_teraflops, 0});
  }
  return out;
}

}  // namespace

Seconds predicted(const AttentionResult& result, const AttentionRow& row, const Device& device) {
  return fused_time(result.fit, row.op, device).total() +
         row.cached / (device.memory_bandwidth * result.cache_bandwidth);
}

AttentionResult fit_attention(const std::vector<AttentionRow>& rows, const Device& device,
                              const AttentionResult& start) {
  AttentionResult result = start;
  std::vector<double> weights;
  for (const AttentionRow& row : rows)
    weights.push_back(row.op.seq_q >= 512 && row.time > Seconds(50e-6) ? 2 : 1);
  fit_times(constants(result, rows), rows, weights,
            [&](const AttentionRow& row) { return predicted(result, row, device); });
  return result;
}

AttentionFit fit_backward(const std::vector<AttentionRow>& rows, const Device& device,
                          AttentionFit fit) {
  fit_times({{&fit.backward_rate, 0}, {&fit.backward_prologue, 0}, {&fit.wide_backward, 1}}, rows,
            [&](const AttentionRow& row) { return fused_time(fit, row.op, device).total(); });
  return fit;
}

}  // namespace plait
