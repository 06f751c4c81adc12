// The constants of PyTorch's kernels over rows: what is committed is the fit of what an H200 and an
// H100 showed, and what is fitted to the first predicts the second.
//   costmodel_test --gtest_filter='TorchRowFits.*'
// prints the constants and the table of errors.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/costmodel/fit/torch_rows.h"
#include "tests/costmodel/torch_measurements.h"

namespace plait::torch_row_fits_test {

using Norms = std::vector<TorchRow<Norm>>;
using Sums = std::vector<TorchRow<BiasGrad>>;

/// The kernel at `place` of the calls named `calls` of each shape.
void add_norms(const MeasuredGpu& gpu, Pass pass, NormKind kind, const std::string& call,
               std::size_t place, Norms& out) {
  gpu.for_each_row("norm", [&](const auto& kernels, std::int64_t rows, std::int64_t width) {
    const Seconds time(1e-6 * kernel_us(kernels.at(call), place));
    out.push_back({Norm{pass, kind, rows, width}, gpu.device, time});
  });
}

/// Of all calls of a kind of norm.
Norms norms(const MeasuredGpu& gpu, Pass pass, NormKind kind, std::size_t place) {
  const std::string end = pass == Pass::kForward ? "_forward" : "_backward";
  Norms out;
  if (kind == NormKind::kRmsNorm) {
    add_norms(gpu, pass, kind, "rms" + end, place, out);
    return out;
  }
  for (const char* call : {"layer", "layer_without_beta"})
    add_norms(gpu, pass, kind, call + end, place, out);
  return out;
}
Norms forward(const MeasuredGpu& gpu, NormKind kind) { return norms(gpu, Pass::kForward, kind, 0); }
/// One kernel for both kinds.
Norms input(const MeasuredGpu& gpu) {
  Norms out;
  for (const char* call : {"layer_backward", "layer_without_beta_backward", "rms_backward"})
    add_norms(gpu, Pass::kInputGrad, NormKind::kLayerNorm, call, 0, out);
  return out;
}
Norms parameters(const MeasuredGpu& gpu, NormKind kind) {
  return norms(gpu, Pass::kBackward, kind, 1);
}
Sums sums(const MeasuredGpu& gpu) {
  Sums out;
  gpu.for_each_row("element_wise", [&](const auto& kernels, std::int64_t rows, std::int64_t width) {
    const Seconds time(1e-6 * kernel_us(kernels.at("sum_of_rows"), 0));
    out.push_back({BiasGrad{rows, width}, gpu.device, time});
  });
  return out;
}

template <class Row>
std::vector<Row> both(const std::vector<Row>& a, const std::vector<Row>& b) {
  std::vector<Row> out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

void print(const std::string& what, const TorchNorm& k) {
  fmt::print("{:28} {:5.2f} us, {:4.0f} and {:4.2f} clocks, {:5.3f}\n", what, k.fixed_us, k.row,
             k.element, k.bandwidth);
}
void print(const std::string& what, const TorchSum& k) {
  fmt::print("{:28} {:5.2f} us, {:4.2f} clocks, {:5.3f}\n", what, k.fixed_us, k.row, k.bandwidth);
}

/// Adds the errors of the committed constants on each GPU, and of those of the first GPU alone on
/// the second; returns by how much the fit to both is beside the committed ones.
template <class Kernel, class Row, class Fit, class Time>
double judge(const std::string& what, const std::vector<Row>& first, const std::vector<Row>& second,
             const Kernel& committed, Fit&& fit, Time&& time, Errors& errors) {
  const auto ratios = [&](const std::string& of, const std::vector<Row>& rows, const Kernel& k) {
    for (const Row& r : rows) errors.add(what + of, time(k, r.op, r.device).total() / r.time, 0.12);
  };
  ratios(", H200", first, committed);
  ratios(", H100", second, committed);
  ratios(", H100 by the H200", second, fit(first, committed));
  const Kernel again = fit(both(first, second), committed);
  print(what, again);
  double moved = 0;
  const std::vector<Row> rows = both(first, second);
  for (const Row& r : rows)
    moved += std::abs(
        std::log(time(again, r.op, r.device).total() / time(committed, r.op, r.device).total()));
  return moved / static_cast<double>(rows.size());
}

TEST(TorchRowFits, CommittedIsTheFitAndOneGpuPredictsTheOther) {
  const std::vector<MeasuredGpu> gpus = measured_gpus();
  const MeasuredGpu &h200 = gpus[0], &h100 = gpus[1];
  Errors errors;
  constexpr double kMoved = 0.01;
  for (const auto& [kind, name] : {std::pair{NormKind::kLayerNorm, std::string("layer norm")},
                                   std::pair{NormKind::kRmsNorm, std::string("RMS norm")}}) {
    EXPECT_LT(judge(name + ", forward", forward(h200, kind), forward(h100, kind),
                    torch_norm(kind, Pass::kForward), fit_torch_norm, norm_time, errors),
              kMoved);
    EXPECT_LT(judge(name + ", parameters", parameters(h200, kind), parameters(h100, kind),
                    torch_norm_parameters(kind), fit_torch_parameters, parameters_time, errors),
              kMoved);
  }
  EXPECT_LT(
      judge("norm, input", input(h200), input(h100),
            torch_norm(NormKind::kLayerNorm, Pass::kInputGrad), fit_torch_norm, norm_time, errors),
      kMoved);
  EXPECT_LT(judge("sum over rows", sums(h200), sums(h100), torch_row_sum(), fit_torch_row_sum,
                  row_sum_time, errors),
            kMoved);
  errors.print();
  for (const auto& [what, e] : errors.summaries()) {
    EXPECT_GE(e.rows, 8) << what;
    EXPECT_LT(e.mean, what.ends_with("by the H200") ? 0.11 : 0.08) << what;
  }
}

}  // namespace plait::torch_row_fits_test
