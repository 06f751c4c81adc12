#include "tests/costmodel/fit/streams.h"

#include "costmodel/kernels.h"
#include "tests/costmodel/fit/robust.h"

namespace plait {

StreamFit fit_stream(const std::vector<StreamRow>& rows, const Device& device,
                     const StreamFit& start, bool only_l2) {
  StreamFit fit = start;
  double fixed_us = fit.fixed.value * 1e6;
  std::vector<Constant> constants = {{&fit.l2, 0}};
  if (!only_l2) constants.insert(constants.end(), {{&fixed_us, 0}, {&fit.bandwidth, 1}});
  fit_times(constants, rows, [&](const StreamRow& row) {
    return Seconds(fixed_us * 1e-6) + stream_time(fit, row.bytes, device);
  });
  fit.fixed = Seconds(fixed_us * 1e-6);
  return fit;
}

}  // namespace plait
