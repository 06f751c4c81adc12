#include "sim/slowed.h"

#include <algorithm>

#include "sim/holdings.h"

namespace plait {
namespace {

struct Holder {
  Holding holding;
  std::uint32_t flat = 0;
  /// Multiprocessors times time that it keeps from what runs in between.
  Seconds kept(SimTime start, SimTime end) const {
    const SimTime shared = std::min(end, holding.end) - std::max(start, holding.start);
    return to_seconds(std::max<SimTime>(shared, 0)) * holding.sms;
  }
};

}  // namespace

std::vector<std::uint32_t> slowed_by(const Plan& plan, const Durations& durations,
                                     const Track& track, std::size_t lane,
                                     const std::vector<OpSite>& ops) {
  const auto stage = static_cast<std::size_t>(track.stage);
  const std::vector<Call>& calls = plan.programs[stage].calls;
  std::vector<std::uint32_t> out(ops.size(), kNoCause);
  std::vector<Holder> holders;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const std::size_t id = durations.op_id(calls[ops[i].call].block, ops[i].op);
    const SimTime start = track.start[i], end = track.end[i];
    const int sms = durations.held(stage, lane, id);
    if (sms > 0) holders.push_back({{start, end, sms}, i});
    if (!durations.kernel(id) || end - start == durations.row(stage, id).at(lane)) continue;
    std::erase_if(holders, [&](const Holder& h) { return h.holding.end <= start; });
    Seconds most;
    for (const Holder& h : holders) {
      if (h.kept(start, end) > most) most = h.kept(start, end), out[i] = h.flat;
    }
  }
  return out;
}

}  // namespace plait
