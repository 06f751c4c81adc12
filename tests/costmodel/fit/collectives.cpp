#include "tests/costmodel/fit/collectives.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "costmodel/fit/linear.h"

namespace plait {
namespace {

using Rows = std::vector<CollectiveFitRow>;

constexpr Seconds kMicrosecond(1e-6);

/// Of the link, what a protocol can use: LL has 4 bytes of data in 8, LL128 120 in 128.
double data_share(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl: return 0.5;
    case Protocol::kLl128: return 0.9375;
    case Protocol::kSimple: return 1;
  }
  return 1;
}

/// Which terms of the formula the rows tell apart.
struct Terms {
  bool hops = true, small = true, ramp = true;
};

ProtocolFit fit_protocol(const Rows& rows, Algorithm algorithm, Protocol protocol, Terms terms) {
  const NcclGroup& g = rows.front().group;
  const double fastest = fitted_link_rate(g.generation).value / 1e9 * data_share(protocol);
  std::vector<FitRow> fit_rows;
  for (const CollectiveFitRow& row : rows) {
    const IslandWork work = island_work(row.group, row.bytes, algorithm, protocol);
    const double sent = work.sent / 1e3;  // us at 1 GB/s
    fit_rows.push_back({{1, terms.hops ? work.steps : 0, sent,
                         terms.small ? sent / row.group.ranks : 0, terms.ramp ? work.ramp : 0},
                        row.time / kMicrosecond,
                        sent / fastest});
  }
  const std::vector<double> c = fit_nonnegative(fit_rows);
  const double rate = 1 / (1 / fastest + c[2]);
  return {g.kind, g.generation, algorithm, protocol, c[0], c[1], rate, c[3] * rate, c[4]};
}

// A switch is measured with one n; LL128 at so few sizes that only a line can be found.
Terms terms_of(Algorithm algorithm, Protocol protocol) {
  const bool ring = algorithm != Algorithm::kNvls, line = protocol == Protocol::kLl128;
  return {.hops = ring, .small = ring && !line, .ramp = !line};
}

using ChosenBy = std::tuple<Generation, CollectiveKind, Algorithm, Protocol>;

ChosenBy choice_of(const CollectiveFitRow& row) {
  const std::size_t chosen = nccl_choice(row.group, row.bytes);
  const NcclOption option = nccl_options(row.group, row.bytes, Speeds::kLadder).at(chosen);
  const bool shared = option.protocol == Protocol::kLl128;
  return {row.group.generation, shared ? CollectiveKind::kAllReduce : row.group.kind,
          option.algorithm, option.protocol};
}

double squared_log_error(const PairwiseFit& fit, const Rows& rows) {
  double sum = 0;
  for (const CollectiveFitRow& row : rows) {
    const Seconds time = std::min(island_time(fit.small, row.group, row.bytes).total(),
                                  island_time(fit.large, row.group, row.bytes).total());
    sum += std::pow(std::log(time / row.time), 2);
  }
  return sum;
}

double message_of(const CollectiveFitRow& row) {
  return static_cast<double>(row.bytes.value) / row.group.ranks;
}

}  // namespace

std::vector<ProtocolFit> fit_islands(const Rows& rows) {
  std::map<ChosenBy, Rows> chosen;
  for (const CollectiveFitRow& row : rows) chosen[choice_of(row)].push_back(row);
  std::vector<ProtocolFit> fits;
  for (const auto& [choice, own] : chosen) {
    const auto& [generation, kind, algorithm, protocol] = choice;
    fits.push_back(fit_protocol(own, algorithm, protocol, terms_of(algorithm, protocol)));
    fits.back().kind = kind;
  }
  return fits;
}

PairwiseFit fit_pairwise(const Rows& rows) {
  std::vector<double> messages;
  for (const CollectiveFitRow& row : rows) messages.push_back(message_of(row));
  std::ranges::sort(messages);
  const Terms line = {.small = false, .ramp = false};
  PairwiseFit best;
  double least = std::numeric_limits<double>::infinity();
  for (double limit : messages) {
    Rows small, large;
    for (const CollectiveFitRow& row : rows)
      (message_of(row) <= limit ? small : large).push_back(row);
    if (small.size() < 6 || large.size() < 6) continue;
    const PairwiseFit fit = {fit_protocol(small, Algorithm::kPairwise, Protocol::kLl, line),
                             fit_protocol(large, Algorithm::kPairwise, Protocol::kSimple, {})};
    const double error = squared_log_error(fit, rows);
    if (error < least) least = error, best = fit;
  }
  return best;
}

FabricFit fit_fabric(const Rows& rows) {
  std::vector<FitRow> fit_rows;
  for (const CollectiveFitRow& row : rows) {
    const double levels = std::log2(row.group.nodes);
    const IslandWork work = island_work(row.group, row.bytes, Algorithm::kRing, Protocol::kSimple);
    fit_rows.push_back({{1, levels, work.sent / 1e3, levels * work.ramp}, row.time / kMicrosecond});
  }
  const std::vector<double> c = fit_nonnegative(fit_rows);
  return {c[0], c[1], 1 / c[2], c[3]};
}

}  // namespace plait
