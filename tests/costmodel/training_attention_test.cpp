// The constants of the fused attention that training calls on Hopper and Blackwell: what is
// committed is the fit of published times of an H200 and a GB200 (training_attention.csv: of
// cudnn-frontend's benchmark folder, with the commit), and it predicts other heads, other boards
// and releases of the year before.
//   costmodel_test --gtest_filter='TrainingAttention.*'
// prints the constants and the table of errors.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/costmodel/devices.h"
#include "tests/costmodel/errors.h"
#include "tests/costmodel/fit/attention.h"
#include "tests/costmodel/published.h"

namespace plait::training_attention_test {

Device board(const std::string& name) {
  if (name == "H100") return h100();
  if (name == "H200") return gpu("h200-sxm", 90, 989.4e12, 4.8e12, 50, 1.3e-6, 132);
  if (name == "B200") return b200();
  Device d = gpu("gb200", 100, 2500e12, 8e12, 126, 1.3e-6, 152);
  d.matmul_yield = 0.94;  // of the catalogue, as the next ones
  if (name == "GB300") d.compute_capability = 103, d.matmul_yield = 0.97;
  return d;
}

struct Published {
  std::string gpu, kernel, shape;
  AttentionRow forward, backward;
};

std::vector<Published> published() {
  std::vector<Published> out;
  for (const Record& r : read_table(PLAIT_SOURCE_DIR "/tests/costmodel/training_attention.csv")) {
    const auto number = [&](const char* field) { return std::stoll(r.at(field)); };
    Attention op{.batch = number("batch"),
                 .heads = number("heads"),
                 .kv_heads = number("kv_heads"),
                 .seq_q = number("tokens"),
                 .seq_kv = number("tokens"),
                 .head_dim = number("head_dim"),
                 .causal = r.at("causal") == "1",
                 .value_dim = number("value_dim"),
                 .window = number("window")};
    const auto row = [&](Pass pass, const char* field) {
      op.pass = pass;
      return AttentionRow{op, Seconds(1e-3 * std::stod(r.at(field)))};
    };
    out.push_back({r.at("gpu"), r.at("kernel"), r.at("head_dim"), row(Pass::kForward, "forward_ms"),
                   row(Pass::kBackward, "backward_ms")});
  }
  return out;
}

FlashKernel kernel_of(const std::string& name) {
  if (name == "flash2") return FlashKernel::kFlash2;
  if (name == "flash3") return FlashKernel::kNewest;
  return name == "flash4" ? FlashKernel::kFlash4 : FlashKernel::kCudnn;
}

/// What the constants of a kernel are fitted to.
struct Fitted {
  std::string gpu, kernel;
};
const std::vector<Fitted> kFitted = {
    {"GB200", "flash2"}, {"GB200", "flash4"}, {"GB200", "cudnn"}, {"H200", "cudnn"}};

bool is_fitted(const Published& p) {
  return p.forward.op.window == 0 && std::ranges::any_of(kFitted, [&](const Fitted& f) {
           return f.gpu == p.gpu && f.kernel == p.kernel;
         });
}

std::string text(const AttentionFit& f) {
  return fmt::format(
      "{{{:.3f}, {:.1f}, {:.0f}, {:.3f}, {:.3f}, {:.1f}, {:.1f}, {:.2f}, {:.2f}, {:.2f}}}", f.flops,
      f.exponential, f.prologue, f.tail, f.throttle, f.throttle_teraflops, f.fixed_us,
      f.backward_rate, f.backward_prologue, f.wide_backward);
}

TEST(TrainingAttention, CommittedIsTheFit) {
  for (const auto& [gpu, kernel] : kFitted) {
    const Device device = board(gpu);
    std::vector<AttentionRow> forward, backward;
    for (const Published& p : published()) {
      if (!is_fitted(p) || p.gpu != gpu || p.kernel != kernel) continue;
      forward.push_back(p.forward);
      if (p.forward.op.causal) backward.push_back(p.backward);
    }
    const AttentionFit committed = attention_fit(device, kernel_of(kernel));
    const AttentionFit fit =
        fit_backward(backward, device, fit_attention(forward, device, {committed, 1}).fit);
    double moved = 0;
    for (const auto* rows : {&forward, &backward})
      for (const AttentionRow& r : *rows)
        moved += std::abs(std::log(fused_time(fit, r.op, device).total() /
                                   fused_time(committed, r.op, device).total()));
    moved /= static_cast<double>(forward.size() + backward.size());
    EXPECT_LT(moved, 0.005) << gpu << ", " << kernel << ": the fit is\n"
                            << text(fit) << "\ncommitted is\n"
                            << text(committed);
  }
}

TEST(TrainingAttention, PredictOtherHeadsBoardsAndReleases) {
  Errors errors;
  for (const Published& p : published()) {
    const Device device = board(p.gpu);
    const FlashKernel kernel = kernel_of(p.kernel);
    const AttentionFit fit = attention_fit(device, kernel);
    const double band = attention_quality(device, kernel).band;
    const std::string split = is_fitted(p) ? "fitted" : "judged";
    const bool window = p.forward.op.window > 0;
    const auto add = [&](const AttentionRow& row, const char* pass) {
      const double ratio = fused_time(fit, row.op, device).total() / row.time;
      errors.add(fmt::format("{} {} {}, heads of {}{}, {}", split, p.gpu, p.kernel, p.shape,
                             window ? ", window" : "", pass),
                 ratio, band);
      if (fit.alone && !window) errors.add(split + ", whole sequences", ratio, band);
    };
    add(p.forward, "forward"), add(p.backward, "backward");
  }
  errors.print();
  EXPECT_LE(errors.summaries().at("fitted, whole sequences").mean, 0.05);
  const Errors::Summary judged = errors.summaries().at("judged, whole sequences");
  EXPECT_LE(judged.mean, 0.1);
  EXPECT_NEAR(judged.within_band, 0.8, 0.05);
}

}  // namespace plait::training_attention_test
