#include "costmodel/one_shot.h"

#include <algorithm>

#include "costmodel/collective_fits.h"
#include "costmodel/links.h"

namespace plait {

// Fitted to AIConfigurator's custom_allreduce_perf of vLLM and of TensorRT-LLM in CUDA graphs, 2, 4
// and 8 GPUs, up to 8 MiB, 7 of 10 rows; the tables count elements of two bytes
// (collector/collect_all_reduce.py: the shape of the reduced tensor). Mean error of the other rows:
// vLLM 7 % (A100), 4 % (H100), 5 % (B200); TensorRT-LLM 17, 4 and 5 %: OneShot.* in
// tests/costmodel.
OneShotFit one_shot_fit(EngineReduce engine, Generation generation) {
  const bool vllm = engine == EngineReduce::kVllm;
  switch (generation) {
    case Generation::kCpu:
    case Generation::kCdna: return {};
    case Generation::kVolta:
    case Generation::kAmpere:
      return vllm ? OneShotFit{4.73, 0.144, 178.3, 8.16, 215.8}
                  : OneShotFit{3.99, 0.091, 124.2, 43.3, 237.9};
    case Generation::kHopper:
      return vllm ? OneShotFit{4.19, 0.068, 261.0, 4.21, 300.3}
                  : OneShotFit{2.59, 0.082, 281.8, 16.9, 273.7};
    case Generation::kBlackwell:
      return vllm ? OneShotFit{6.63, 0.078, 182.1, 11.2, 508.3}
                  : OneShotFit{4.66, 0.074, 595.4, 23.0, 655.8};
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

std::optional<Cost> one_shot_cost(EngineReduce engine, Bytes bytes, const GroupPlacement& group,
                                  const Device& device) {
  const Generation generation = generation_of(device);
  const bool without = generation == Generation::kCpu || generation == Generation::kCdna;
  if (engine == EngineReduce::kNone || without || group.nodes > 1 || group.ranks > 8 ||
      group.ranks < 2 || group.intra.link != LinkClass::kNvlink || bytes > kLargestOneShot) {
    return std::nullopt;
  }
  const OneShotFit fit = one_shot_fit(engine, generation);
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
