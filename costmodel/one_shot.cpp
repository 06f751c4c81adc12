#include "costmodel/one_shot.h"

#include <algorithm>

#include "costmodel/collective_fits.h"
#include "costmodel/links.h"

namespace plait {

// Fitted to AIConfigurator's custom_allreduce_perf of vLLM in CUDA graphs, 2, 4 and 8 GPUs, up to
// 8 MiB, 7 of 10 rows; mean error of the other rows 14 % (A100), 6 % (H100), 9 % (B200):
// OneShot.* in tests/costmodel.
OneShotFit one_shot_fit(Generation generation) {
  switch (generation) {
    case Generation::kCpu: return {};
    case Generation::kVolta:
    case Generation::kAmpere: return {4.74, 0.124, 82.9, 6.91, 73.9};
    case Generation::kHopper: return {4.16, 0.067, 129.6, 4.01, 139.6};
    case Generation::kBlackwell: return {6.68, 0.089, 84.2, 11.4, 253.8};
  }
  return {};
}

namespace {

Seconds shots(const OneShotFit& fit, double ranks, Bytes bytes) {
  const auto size = static_cast<double>(bytes.value);
  const double one = (ranks - 1) * size / (fit.one_shot_gbs * 1e9);
  const double two =
      fit.again_us * 1e-6 + 2 * (ranks - 1) / ranks * size / (fit.two_shot_gbs * 1e9);
  return Seconds(std::min(one, two));
}

Seconds start(const OneShotFit& fit, double ranks) {
  return Seconds((fit.start_us + fit.rank_us * ranks) * 1e-6);
}

}  // namespace

Seconds one_shot_time(const OneShotFit& fit, double ranks, Bytes bytes) {
  return start(fit, ranks) + shots(fit, ranks, bytes);
}

std::optional<Cost> one_shot_cost(Bytes bytes, const GroupPlacement& group, const Device& device) {
  const Generation generation = generation_of(device);
  if (generation == Generation::kCpu || group.nodes > 1 || group.ranks > 8 || group.ranks < 2 ||
      group.intra.link != LinkClass::kNvlink || bytes > kLargestOneShot) {
    return std::nullopt;
  }
  const OneShotFit fit = one_shot_fit(generation);
  const auto ranks = static_cast<double>(group.ranks);
  const double links = group.intra.bandwidth / fitted_link_rate(generation);
  Cost cost;
  cost.share[latency_of(LinkClass::kNvlink)] = start(fit, ranks) * latency_ratio(group.intra);
  cost.share[bandwidth_of(LinkClass::kNvlink)] = shots(fit, ranks, bytes) / links;
  cost.provenance = is_measured(device) ? Provenance::kFitted : Provenance::kExtrapolated;
  cost.band = is_measured(device) ? 0.1 : 0.25;
  return cost;
}

}  // namespace plait
