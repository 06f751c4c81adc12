#include "tests/costmodel/fit/decode_attention.h"

#include "tests/costmodel/fit/robust.h"

namespace plait {

DecodeFit fit_decode(const std::vector<DecodeRow>& rows, const Device& device,
                     const DecodeFit& start) {
  DecodeFit fit = start;
  const std::vector<Constant> constants = {
      {&fit.fixed_us, 0}, {&fit.bandwidth, 1}, {&fit.waste, 1}, {&fit.split_us, 0}};
  fit_times(constants, rows,
            [&](const DecodeRow& row) { return decode_time(fit, row.op, device).total(); });
  return fit;
}

}  // namespace plait
