// The constants of fused attention: what is committed is the fit of 7 of 10 combinations of heads,
// key heads and head dimension of the published measurements, and it predicts the others.
//   PLAIT_DATA=... costmodel_test --gtest_filter='AttentionFits.*'
// prints the constants and the tables of errors.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/costmodel/errors.h"
#include "tests/costmodel/measured_kernels.h"

namespace plait::attention_fits_test {

std::string text(const AttentionResult& r) {
  const AttentionFit& f = r.fit;
  return fmt::format(
      "{{{:.3f}, {:.1f}, {:.0f}, {:.3f}, {:.3f}, {:.1f}, {:.1f}, {:.2f}}} cache {:.3f}", f.flops,
      f.exponential, f.prologue, f.tail, f.throttle, f.throttle_teraflops, f.fixed_us,
      f.backward_rate, r.cache_bandwidth);
}

TEST(AttentionFits, CommittedIsTheFit) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  for (const MeasuredMachine& machine : machines()) {
    std::vector<AttentionRow> rows;
    for (const AttentionRow& r : attention_rows(machine, *folder))
      if (!is_held_out(r.op)) rows.push_back(r);
    const AttentionResult committed = committed_attention(machine.device);
    const AttentionResult fit = fit_attention(rows, machine.device, committed);
    double moved = 0;
    for (const AttentionRow& r : rows)
      moved += std::abs(
          std::log(predicted(fit, r, machine.device) / predicted(committed, r, machine.device)));
    moved /= static_cast<double>(rows.size());
    EXPECT_LT(moved, 0.005) << machine.name << ": the fit is\n"
                            << text(fit) << "\ncommitted is\n"
                            << text(committed);
  }
}

TEST(AttentionFits, PredictTheOtherHeads) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  Errors errors;
  for (const MeasuredMachine& machine : machines()) {
    const double band = attention_quality(machine.device, FlashKernel::kNewest).band;
    for (const AttentionRow& r : attention_rows(machine, *folder)) {
      if (!is_held_out(r.op)) continue;
      const double ratio =
          predicted(committed_attention(machine.device), r, machine.device) / r.time;
      const std::string what = machine.name;
      errors.add(what + ", all", ratio, band);
      errors.add(fmt::format("{}, {}, head dimension {}", what, r.op.causal ? "causal" : "full",
                             r.op.head_dim),
                 ratio, band);
      if (r.op.seq_q >= 512 && r.time > Seconds(50e-6))
        errors.add(what + ", from 512 tokens and 50 us", ratio, band);
    }
  }
  errors.print();
  for (const auto& [what, e] : errors.summaries()) {
    if (what.find("head") == std::string::npos) {
      EXPECT_LE(e.mean, 0.1) << what;
    }
    if (what.ends_with("all")) {
      EXPECT_NEAR(e.within_band, 0.8, 0.03) << what;
    }
  }
}

/// A bar of FlashAttention's plots: rate of one pass or both, counted over half the square under a
/// causal mask; 16384 tokens of width 2048, 32768 in FlashAttention-4's.
struct Bar {
  Attention op;
  std::string pass;
  double teraflops;
};
std::vector<Bar> bars(const std::filesystem::path& kernels, const std::string& gpu,
                      const std::string& kernel, const std::string& pass) {
  std::vector<Bar> out;
  for (const Record& r : read_table(kernels / "flash_attention_tflops.csv")) {
    const bool ours = r.at("source").starts_with("Dao-AILab/flash-attention assets") ||
                      r.at("source").find("#2605") != std::string::npos;
    if (!ours || !r.at("gpu").starts_with(gpu) || r.at("impl") != kernel || r.at("pass") != pass)
      continue;
    const std::int64_t d = std::stoll(r.at("head_dim")), s = std::stoll(r.at("seqlen"));
    const std::int64_t heads = 2048 / d;
    out.push_back({{.batch = std::stoll(r.at("batch")),
                    .heads = heads,
                    .kv_heads = heads,
                    .seq_q = s,
                    .seq_kv = s,
                    .head_dim = d,
                    .causal = r.at("causal") == "1"},
                   pass,
                   std::stod(r.at("tflops"))});
  }
  return out;
}
double ratio_of(const Bar& bar, FlashKernel kernel, const Device& device) {
  Attention op = bar.op;
  op.kernel = kernel;
  const auto square = static_cast<double>(op.seq_q * op.seq_kv) * (op.causal ? 0.5 : 1);
  double work = 4 * static_cast<double>(op.batch * op.heads * op.head_dim) * square, seconds = 0;
  if (bar.pass.starts_with("fwd")) seconds += CostModel{}.compute(op, device).total().value;
  if (bar.pass.ends_with("bwd")) {
    op.pass = Pass::kBackward;
    seconds += CostModel{}.compute(op, device).total().value;
    work *= bar.pass == "bwd" ? 2.5 : 3.5;
  }
  return seconds * bar.teraflops * 1e12 / work;
}

// Plots of other machines, to which at most d0, a rate and the backward pass were fitted.
TEST(AttentionFits, PredictTheFlashAttentionPlots) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  const auto add = [&](Errors& errors, const MeasuredMachine& m, const char* gpu,
                       const char* kernel, const char* pass) {
    const FlashKernel flash =
        kernel == std::string("FA2") ? FlashKernel::kFlash2 : FlashKernel::kNewest;
    const double band = attention_quality(m.device, flash).band;
    for (const Bar& bar : bars(*folder, gpu, kernel, pass)) {
      const std::string what = fmt::format("{} {} {}", m.name, kernel, pass);
      const double ratio = ratio_of(bar, flash, m.device);
      errors.add(what, ratio, band);
      errors.add(
          fmt::format("{}, {}, {}", what, bar.op.causal ? "causal" : "full", bar.op.head_dim),
          ratio, band);
      if (bar.op.seq_q >= 2048) errors.add(what + ", from 2048 tokens", ratio, band);
    }
  };
  Errors errors;
  add(errors, machines()[0], "A100", "FA2", "fwd+bwd");
  add(errors, machines()[1], "H100", "FA2", "fwd");
  add(errors, machines()[1], "H100", "FA2", "fwd+bwd");
  add(errors, machines()[1], "H100", "FA3", "fwd");
  add(errors, machines()[2], "B200", "FA4", "fwd");
  errors.print();
  for (const auto& [what, all] : errors.summaries()) {
    if (what.find(',') != std::string::npos) continue;  // a part of these
    EXPECT_LE(all.mean, 0.08) << what;
    EXPECT_GE(all.within_band, 0.8) << what;
  }
}

}  // namespace plait::attention_fits_test
