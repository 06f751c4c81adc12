// --nnodes counts the hosts of all ranks, and --data-parallel-size-local the replicas on one, each
// of which may be the first (vllm/engine/arg_utils.py; vllm/config/parallel.py).
#include "scenarios/dialects/vllm/vllm_hosts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/capped_product.h"

namespace plait::vllm {
namespace {

constexpr const char *kHosts = "--nnodes", *kReplicas = "--data-parallel-size",
                     *kLocal = "--data-parallel-size-local";

std::int64_t ranks_of(const Imported& out, std::string_view axis) {
  const auto given = std::ranges::find(out.given, axis, &Given::path);
  return given == out.given.end() ? 1 : std::stoll(given->value);
}

/// 1 where nothing is said.
std::int64_t hosts_of(Arguments& args) {
  const std::int64_t replicas = args.integer(kReplicas).value_or(1);
  const std::int64_t local = args.integer(kLocal, 0).value_or(0);
  const auto hosts = args.integer(kHosts);
  if (hosts) return *hosts;
  if (local == 0 || local >= replicas) return 1;  // 0: this host has no rank
  if (replicas % local != 0) args.contradiction(kLocal, fmt::format("{} replicas", replicas));
  return replicas / local;
}

}  // namespace

void read_hosts(Arguments& args, Imported& out) {
  const std::int64_t hosts = hosts_of(args);
  if (hosts == 1) return;
  const char* by = args.flag(kHosts) ? kHosts : kLocal;
  const std::int64_t ranks = capped_product(
      {ranks_of(out, "strategy.tp"), ranks_of(out, "strategy.pp"), ranks_of(out, "strategy.dp")});
  if (ranks % hosts != 0) args.contradiction(by, fmt::format("{} ranks", ranks));
  out.give("cluster.nodes", std::to_string(hosts), args.line(by));
  out.give("cluster.devices_per_node", std::to_string(ranks / hosts), args.line(by));
}

}  // namespace plait::vllm
