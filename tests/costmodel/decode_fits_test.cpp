// The constants of attention over a cache: what is committed is the fit of 7 of 10 combinations of
// heads, key heads and head dimension of the published measurements, and it predicts the others.
//   PLAIT_DATA=... costmodel_test --gtest_filter='DecodeFits.*'
// prints the constants and the table of errors.

#include <gtest/gtest.h>

#include <cmath>

#include "costmodel/kernels.h"
#include "tests/costmodel/errors.h"
#include "tests/costmodel/fit/decode_attention.h"
#include "tests/costmodel/measured_kernels.h"

namespace plait::decode_fits_test {

/// Of SGLang's tables the kernel that attention_tables takes too, in bf16: contexts of 256 tokens
/// and more, at least 4 heads, head dimensions 64, 128 and 256.
std::vector<DecodeRow> decode_rows(const MeasuredMachine& machine,
                                   const std::filesystem::path& kernels) {
  const Record where = attention_tables(machine).front().where;
  std::vector<DecodeRow> rows;
  for (const auto& table :
       tables(kernels / "aiconfigurator" / machine.folder, "generation_attention_perf__sglang")) {
    for (const Record& r : read_table(table)) {
      if (!has_fields(r, where)) continue;
      const std::int64_t d = number_of(r, "head_dim", 128), keys = number_of(r, "step", 0) + 1;
      const std::int64_t heads = number_of(r, "num_heads", 0);
      if (keys < 256 || heads < 4 || (d != 64 && d != 128 && d != 256)) continue;
      rows.push_back({{.batch = number_of(r, "batch_size", 0),
                       .heads = heads,
                       .kv_heads = number_of(r, "num_key_value_heads", heads),
                       .seq_q = 1,
                       .seq_kv = keys,
                       .head_dim = d,
                       .causal = false},
                      Seconds(std::stod(r.at("latency_us")) * 1e-6)});
    }
  }
  return rows;
}

TEST(DecodeFits, CommittedIsTheFit) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  for (const MeasuredMachine& machine : machines()) {
    std::vector<DecodeRow> rows;
    for (const DecodeRow& r : decode_rows(machine, *folder))
      if (!is_held_out(r.op)) rows.push_back(r);
    const DecodeFit committed = decode_fit(machine.device);
    const DecodeFit fit = fit_decode(rows, machine.device, committed);
    double moved = 0;
    for (const DecodeRow& r : rows)
      moved += std::abs(std::log(decode_time(fit, r.op, machine.device).total() /
                                 decode_time(committed, r.op, machine.device).total()));
    moved /= static_cast<double>(rows.size());
    EXPECT_LT(moved, 0.005) << fmt::format("{}: the fit is {{{:.2f}, {:.3f}, {:.3f}, {:.3f}}}",
                                           machine.name, fit.fixed_us, fit.bandwidth, fit.waste,
                                           fit.split_us);
  }
}

TEST(DecodeFits, PredictTheOtherHeads) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  Errors errors;
  for (const MeasuredMachine& machine : machines()) {
    for (const DecodeRow& r : decode_rows(machine, *folder)) {
      if (!is_held_out(r.op)) continue;
      const Cost cost = CostModel{}.compute(r.op, machine.device);
      const std::string what = machine.name;
      errors.add(what + ", all", cost.total() / r.time, cost.band);
      if (r.time > Seconds(20e-6))
        errors.add(what + ", from 20 us", cost.total() / r.time, cost.band);
    }
  }
  errors.print();
  for (const auto& [what, e] : errors.summaries()) {
    EXPECT_LE(e.mean, 0.101) << what;
    if (what.ends_with("all")) {
      EXPECT_NEAR(e.within_band, 0.8, 0.05) << what;
    }
  }
}

Attention decode(std::int64_t batch, std::int64_t kv_heads, std::int64_t keys) {
  return {.batch = batch,
          .heads = 4 * kv_heads,
          .kv_heads = kv_heads,
          .seq_q = 1,
          .seq_kv = keys,
          .head_dim = 128,
          .causal = false};
}
Seconds time_on(const Attention& op, const Device& device) {
  return CostModel{}.compute(op, device).total();
}

// A full wave of pairs streams the cache at the fitted fraction: closed form.
TEST(DecodeAttention, FullWavesStreamTheCache) {
  const Device device = h100();
  const Attention op = decode(device.sms, 2, 4096);
  const DecodeFit fit = decode_fit(device);
  const Seconds expected =
      Seconds(fit.fixed_us * 1e-6) + memory_traffic(op) / (device.memory_bandwidth * fit.bandwidth);
  EXPECT_NEAR(time_on(op, device) / expected, 1, 1e-9);
}

TEST(DecodeAttention, MoreKeysAndMoreSequencesNeverTakeLess) {
  for (const Device& device : {a100(), h100(), b200(), cpu()}) {
    for (std::int64_t batch = 1; batch <= 256; batch *= 2) {
      Seconds last;
      for (std::int64_t keys = 16; keys <= 65536; keys += std::max<std::int64_t>(16, keys / 5)) {
        const Seconds now = time_on(decode(batch, 8, keys), device);
        EXPECT_GE(now, last) << device.name << " " << batch << " x " << keys;
        last = now;
        EXPECT_GE(time_on(decode(2 * batch, 8, keys), device), now) << batch << " x " << keys;
      }
    }
  }
}

// H200 has H100's multiprocessors: what is not start-up takes as much less as its memory is faster.
TEST(DecodeAttention, TransfersByTheDataSheet) {
  Device h200 = h100();
  h200.name = "h200-sxm";
  h200.memory_bandwidth = BytesPerSecond(4.8e12);
  const Attention op = decode(64, 8, 8192);
  const Cost slow = CostModel{}.compute(op, h100()), fast = CostModel{}.compute(op, h200);
  EXPECT_NEAR(slow.share[kMemoryBandwidth] / fast.share[kMemoryBandwidth], 4.8 / 3.35, 1e-9);
  EXPECT_EQ(slow.share[kLaunchOverhead], fast.share[kLaunchOverhead]);
  EXPECT_EQ(fast.provenance, Provenance::kDatasheet);
}

}  // namespace plait::decode_fits_test
