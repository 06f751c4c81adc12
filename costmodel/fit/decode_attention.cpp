#include "costmodel/fit/decode_attention.h"

#include <cmath>

#include "costmodel/fit/robust.h"

namespace plait {

DecodeFit fit_decode(const std::vector<DecodeRow>& rows, const Device& device,
                     const DecodeFit& start) {
  DecodeFit fit = start;
  const std::vector<Constant> constants = {
      {&fit.fixed_us, 0}, {&fit.bandwidth, 1}, {&fit.waste, 1}, {&fit.split_us, 0}};
  fit_robust(constants, std::vector<double>(rows.size(), 1), [&](std::vector<double>& out) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = std::log(decode_time(fit, rows[i].op, device).total() / rows[i].time);
  });
  return fit;
}

}  // namespace plait
