#include "costmodel/fit/gemm.h"

#include <algorithm>
#include <cmath>

#include "costmodel/fit/robust.h"

namespace plait {
namespace {

/// The constants that are fitted, and their upper bounds: no fraction exceeds one.
struct Constant {
  double TiledGemm::*member;
  double most;
};
std::vector<Constant> constants(bool cast) {
  std::vector<Constant> out = {{&TiledGemm::flops, 1},          {&TiledGemm::bandwidth, 1},
                               {&TiledGemm::prologue, 0},       {&TiledGemm::whole_waves, 1},
                               {&TiledGemm::throttle, 0.25},    {&TiledGemm::throttle_teraflops, 0},
                               {&TiledGemm::sums_bandwidth, 10}};
  if (cast) {
    out.push_back({&TiledGemm::cast_fixed_us, 0});
    out.push_back({&TiledGemm::cast_bandwidth, 1});
  } else {
    out.push_back({&TiledGemm::fixed_us, 0});
  }
  return out;
}

TiledGemm with(TiledGemm fit, const std::vector<Constant>& which, const std::vector<double>& x) {
  for (std::size_t i = 0; i < which.size(); ++i) fit.*which[i].member = x[i];
  std::copy(x.end() - static_cast<std::ptrdiff_t>(fit.tile.size()), x.end(), fit.tile.begin());
  return fit;
}

}  // namespace

TiledGemm fit_gemm(const std::vector<GemmRow>& rows, const Device& device, const TiledGemm& start) {
  const std::vector<Constant> which = constants(start.cast_fixed_us > 0);
  std::vector<Parameter> parameters;
  for (const Constant& c : which) parameters.push_back({start.*c.member, c.most});
  for (double r : start.tile) parameters.push_back({r, 1});
  std::vector<double> weights;
  for (const GemmRow& row : rows) {
    const bool training = row.op.m >= 512 && row.op.n >= 1024 && row.op.k >= 1024;
    weights.push_back(training ? 2 : 1);
  }
  const auto errors = [&](const std::vector<double>& x, std::vector<double>& out) {
    const TiledGemm fit = with(start, which, x);
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = std::log(tiled_time(fit, rows[i].op, device).total() / rows[i].time);
  };
  return with(start, which, fit_robust(parameters, weights, errors));
}

}  // namespace plait
