#include "tests/costmodel/fit/served_experts.h"

#include "costmodel/costmodel.h"
#include "tests/costmodel/fit/robust.h"

namespace plait {
namespace {

/// The constants that are fitted, and their upper bounds: no fraction exceeds one. The clock is not
/// told from the rate, and no k is split.
std::vector<Constant> constants(TiledGemm& f) {
  std::vector<Constant> out = {
      {&f.flops, 1}, {&f.bandwidth, 1}, {&f.prologue, 0}, {&f.whole_waves, 1}, {&f.fixed_us, 0}};
  for (double& t : f.tile) out.push_back({&t, 1});
  return out;
}

}  // namespace

Seconds predicted(const TiledGemm& fit, const ExpertsRow& row, const Device& device) {
  Seconds sum;
  for (const Compute& op : row.ops) {
    const auto* product = std::get_if<MatMul>(&op);
    sum += product != nullptr ? tiled_time(fit, *product, device).total()
                              : CostModel{}.compute(op, device).total();
  }
  return sum;
}

TiledGemm fit_experts(const std::vector<ExpertsRow>& rows, const Device& device,
                      const TiledGemm& start) {
  TiledGemm fit = start;
  fit_times(constants(fit), rows,
            [&](const ExpertsRow& row) { return predicted(fit, row, device); });
  return fit;
}

}  // namespace plait
