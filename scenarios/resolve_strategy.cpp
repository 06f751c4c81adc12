#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/schedule.h"
#include "scenarios/resolve.h"

namespace plait {
namespace {

/// a * b, or `limit` when that is exceeded; 1 <= a, b.
std::int64_t bounded_product(std::int64_t a, std::int64_t b, std::int64_t limit) {
  return a > limit / b ? limit : a * b;
}

constexpr std::int64_t kTooMany = std::int64_t{1} << 40;

std::string sizes_text(const StrategyPart& p, bool with_dp) {
  const std::string dp = with_dp ? fmt::format(" * dp {}", p.dp) : "";
  const std::string cp = p.cp > 1 ? fmt::format(" * cp {}", p.cp) : "";
  const std::string ep = p.ep > 1 ? fmt::format(" * ep {}", p.ep) : "";
  if (!p.stage_tp.empty()) {
    return fmt::format("stage_tp ({}){} * fsdp {}{}{}", fmt::join(p.stage_tp, " + "), dp, p.fsdp,
                       cp, ep);
  }
  return fmt::format("pp {}{} * fsdp {}{}{} * tp {}", p.pp, dp, p.fsdp, cp, ep, p.tp);
}

/// The list says how many stages there are, and the largest degree.
void fill_from_stage_tp(StrategyPart& p) {
  const std::vector<std::int64_t>& degrees = p.stage_tp;
  if (degrees.empty()) return;
  const auto stages = static_cast<std::int64_t>(degrees.size());
  const std::int64_t widest = std::ranges::max(degrees);
  if ((p.pp != 1 && p.pp != stages) || (p.tp != 1 && p.tp != widest)) {
    refuse_field(
        "S052",
        fmt::format("strategy has pp {} and tp {}, and the list {} stages of degree {} at most",
                    p.pp, p.tp, stages, widest),
        "strategy.stage_tp", fmt::format("{} degrees, the largest of them {}", p.pp, p.tp),
        "correct the list, or leave out strategy.pp and strategy.tp",
        {"strategy.pp", "strategy.tp"});
  }
  p.pp = stages, p.tp = widest;
}

/// Ranks of one replica of the model's layers: of all stages, those that split a layer.
std::int64_t ranks_of_layers(const StrategyPart& p) {
  if (p.stage_tp.empty()) return bounded_product(p.pp, p.tp, kTooMany);
  std::int64_t sum = 0;
  for (const std::int64_t tp : p.stage_tp) sum = std::min(sum + tp, kTooMany);
  return sum;
}

std::int64_t replicas(const StrategyPart& p, std::int64_t others, std::int64_t world_size) {
  if (others <= world_size && world_size % others == 0) return world_size / others;
  refuse_field("S002",
               fmt::format("the cluster's {} devices are no multiple of {} = {}", world_size,
                           sizes_text(p, false), others),
               "strategy", fmt::format("pp * fsdp * cp * ep * tp that divides {}", world_size),
               others > world_size
                   ? fmt::format("use smaller axes, or a cluster of at least {} devices", others)
                   : "change an axis of strategy or cluster.nodes",
               fields_of_sizes());
}

void check_world_size(const StrategyPart& p, std::int64_t others, std::int64_t world_size) {
  const std::int64_t ranks = bounded_product(others, p.dp, kTooMany);
  if (ranks == world_size) return;
  const bool divides = others <= world_size && world_size % others == 0;
  refuse_field(
      "S001",
      fmt::format("the strategy has {} = {} ranks and the cluster {} {}", sizes_text(p, true),
                  ranks, world_size, world_size == 1 ? "device" : "devices"),
      "strategy.dp", fmt::format("{} {}", world_size, world_size == 1 ? "rank" : "ranks"),
      divides ? fmt::format("set strategy.dp to {}, or leave it out", world_size / others)
              : "change an axis of strategy or cluster.nodes",
      fields_of_sizes());
}

void check_hybrid(const StrategyPart& p) {
  const ContextOptions& c = p.context;
  const bool hybrid = c.kind == ContextKind::kHybrid;
  if (hybrid ? p.cp == 1 || p.cp % c.ulysses == 0 : c.ulysses == 1) return;
  refuse_field("S019",
               hybrid ? fmt::format("{} of cp = {} ranks cannot exchange heads in equal groups",
                                    c.ulysses, p.cp)
                      : "context.ulysses is how many ranks of a hybrid exchange heads",
               "strategy.context.ulysses",
               hybrid ? fmt::format("a divisor of {}", p.cp) : "kind \"hybrid\"",
               hybrid ? "change strategy.context.ulysses or strategy.cp"
                      : "remove strategy.context.ulysses, or set the kind to \"hybrid\"",
               {"strategy.cp", "strategy.context.kind"});
}

void check_expert_tp(const StrategyPart& p, const Strategy& s) {
  const std::int64_t ranks = s.experts.ranks_of_one(p.tp);
  if (p.tp % ranks == 0) return;
  refuse_field(
      "S095",
      fmt::format("tp = {} ranks have no equal groups of {} that split an expert", p.tp, ranks),
      "strategy.expert_tp", fmt::format("a divisor of {}", p.tp),
      "change strategy.expert_tp or strategy.tp", {"strategy.tp"});
}

}  // namespace

void resolve_chunks(const Json& root, PipelineOptions& pipeline) {
  const ScheduleKind& kind = kind_of(pipeline.schedule);
  const bool only = kind.fewest_chunks == kind.most_chunks;
  if (only && root.find_path("strategy.pipeline.chunks") == nullptr) {
    pipeline.chunks = kind.fewest_chunks;
  }
}

Strategy resolve_strategy(StrategyPart& part, std::int64_t world_size) {
  check_hybrid(part);
  fill_from_stage_tp(part);
  std::int64_t others = bounded_product(ranks_of_layers(part), part.fsdp, kTooMany);
  others = bounded_product(others, part.cp, kTooMany);
  others = bounded_product(others, part.ep, kTooMany);
  const ParameterServerOptions& p = part.parameter_server;
  const std::int64_t serving = p.dedicated ? std::min(p.servers, world_size - 1) : 0;
  world_size -= serving;
  if (part.dp == 0) part.dp = replicas(part, others, world_size);
  check_world_size(part, others, world_size);
  if (part.zero_stage < 0) part.zero_stage = part.fsdp > 1 ? 3 : 0;

  Strategy out;
  out.mesh[Axis::kPp] = part.pp;
  out.mesh[Axis::kDp] = part.dp + serving;
  out.mesh[Axis::kFsdp] = part.fsdp;
  out.mesh[Axis::kEp] = part.ep;
  out.context = part.context;
  out.share_tokens(part.cp);
  out.experts.axes = part.expert_axes, out.experts.tp = part.expert_tp;
  check_expert_tp(part, out);
  out.split_layers(part.tp);
  out.experts.gates = part.expert_gates, out.experts.dispatch = part.expert_dispatch;
  out.sequence_parallel = part.sequence_parallel;
  out.zero_stage = part.zero_stage;
  out.keep_weight_shard = part.keep_weight_shard;
  out.pipeline = part.pipeline;
  out.pipeline.stage_tp = part.stage_tp;
  out.recompute = part.recompute;
  out.data = part.data;
  out.fsdp = part.fsdp_options;
  out.tensor = part.tensor;
  out.zero_plus_plus = part.zero_plus_plus;
  out.offload = part.offload;
  out.parameter_server = part.parameter_server;
  return out;
}

}  // namespace plait
