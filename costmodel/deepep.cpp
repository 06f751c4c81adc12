#include "costmodel/deepep.h"

#include <algorithm>

#include "costmodel/collective_fits.h"
#include "costmodel/links.h"

namespace plait {
namespace {

// Achieved of a NIC's data-sheet rate. DeepEP's own figures, H800 with 50 GB/s, count the tokens
// that stay in the node: 58 GB/s on 4 nodes and 51 GB/s on 8 are 43.5 and 44.6 GB/s on the wire.
constexpr double kNetworkShare = 0.88;
// A message between nodes (Vidur's send/recv profile, H100 over InfiniBand).
constexpr double kMessageStartUs = 18;

struct Load {
  double tokens, row_bytes;    // of a rank
  double ranks, remote_nodes;  // that a token travels to
};

Load load_of(const Collective& op, const GroupPlacement& group) {
  const TokenExchange& t = op.tokens;
  const auto nodes = static_cast<double>(group.nodes);
  return {static_cast<double>(op.elements) / static_cast<double>(t.chosen * t.width),
          static_cast<double>(t.width * size_of(op.dtype)),
          groups_met(group.ranks, t.experts, t.chosen),
          groups_met(group.nodes, t.experts, t.chosen) * (nodes - 1) / nodes};
}

/// `links`: of the device's NVLink over the fitted GPU's.
Seconds inside_time(const DeepEpFit& fit, const Load& load, double links) {
  const double row = load.row_bytes * (load.ranks + fit.own) / (fit.rate_gbps * 1e9 * links);
  return Seconds(load.tokens * (fit.token_ns * 1e-9 + row));
}

}  // namespace

// Fitted to AIConfigurator's wideep_deepep_normal_perf of 8 GPUs, with the 20 multiprocessors that
// Megatron-LM takes (moe_deepep_num_sms), all shapes and numbers of tokens, 7 of 10 shapes, by
// relative error: fp8 with a scale for every 128 elements there, bf16 back. Mean error of the other
// shapes 5 % there and 9 % back on both (DeepEp.* in tests/costmodel). A100 has none: Hopper's.
DeepEpFits deepep_fits(Generation generation) {
  switch (generation) {
    case Generation::kCpu:
    case Generation::kCdna: return {};
    case Generation::kVolta:
    case Generation::kAmpere:
    case Generation::kHopper: return {{26.2, 21.4, 392, 0}, {38.1, 6.8, 522, 2.58}};
    case Generation::kBlackwell: return {{35.9, 25.6, 385, 0}, {47.2, 33.7, 622, 1.62}};
  }
  return {};
}

double groups_met(std::int64_t groups, std::int64_t experts, std::int64_t chosen) {
  const auto all = static_cast<double>(experts);
  const double others = all - all / static_cast<double>(groups);
  double none = 1;
  for (double i = 0; i < static_cast<double>(chosen); ++i) {
    none *= std::max(0.0, others - i) / (all - i);
  }
  return static_cast<double>(groups) * (1 - none);
}

std::optional<Cost> deepep_cost(const Collective& op, const GroupPlacement& group,
                                const Device& device) {
  const Generation generation = generation_of(device);
  const bool island = group.ranks_per_node == 1 || group.intra.link == LinkClass::kNvlink;
  if (op.tokens.chosen == 0 || group.ranks < 2 || !device.runs_deepep() || !island)
    return std::nullopt;
  if (op.tokens.width == 1) return Cost{};  // gates travel with their tokens (topk_weights)
  const Load load = load_of(op, group);
  const double links =
      group.ranks_per_node > 1 ? group.intra.bandwidth / fitted_link_rate(generation) : 1;
  const DeepEpFits fits = deepep_fits(generation);
  const Seconds inside =
      (inside_time(fits.dispatch, load, links) + inside_time(fits.combine, load, links)) * 0.5;
  Seconds outside;
  Cost cost;
  if (group.nodes > 1) {
    outside = Seconds(load.tokens * load.row_bytes * load.remote_nodes /
                      (group.exchange.carried().value * kNetworkShare));
    cost.share[latency_of(group.inter.outermost())] =
        Seconds(kMessageStartUs * 1e-6) * latency_ratio(group.inter);
  }
  const double start = (fits.dispatch.start_us + fits.combine.start_us) / 2;
  cost.share[kLaunchOverhead] = Seconds(start * 1e-6) * launch_ratio(device);
  cost.share[bandwidth_of(outside > inside ? group.exchange.link : LinkClass::kNvlink)] =
      std::max(inside, outside);
  const bool measured = group.nodes == 1 && group.ranks <= 8 && is_measured(device) &&
                        generation != Generation::kAmpere;
  cost.provenance = measured ? Provenance::kFitted : Provenance::kExtrapolated;
  cost.band = measured ? 0.15 : 0.35;
  return cost;
}

}  // namespace plait
