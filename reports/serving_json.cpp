#include <fmt/format.h>

#include "reports/csv.h"
#include "reports/json_tree.h"
#include "reports/serving.h"
#include "reports/serving_objectives.h"
#include "reports/serving_room.h"

namespace plait {
namespace {

using Tree = nlohmann::ordered_json;

/// Null where there are none.
Tree tree_of(const Quantiles& q) {
  const auto seconds = [&q](Seconds t) { return q.samples > 0 ? Tree(t.value) : Tree(nullptr); };
  return {{"mean_s", seconds(q.mean)}, {"p50_s", seconds(q.p50)}, {"p90_s", seconds(q.p90)},
          {"p95_s", seconds(q.p95)},   {"p99_s", seconds(q.p99)}, {"max_s", seconds(q.most)}};
}

Tree tree_of(const KindSummary& k, bool prefix_caching, bool objectives) {
  Tree out = {{"name", k.name},
              {"requests", k.requests},
              {"prompt_tokens", k.prompt_tokens},
              {"output_tokens", k.output_tokens},
              {"preemptions", k.preemptions},
              {"ttft", tree_of(k.first_token)},
              {"tpot", tree_of(k.per_token)},
              {"end_to_end", tree_of(k.end_to_end)}};
  if (prefix_caching) {
    out["prompt_tokens_cached"] = k.found_tokens;
    out["prefix_cache_hit_rate"] = k.hit_rate();
  }
  if (objectives) add_attainment(out, k.attainment);
  return out;
}

Tree tree_of(const StepTotals& t) {
  const auto seconds = [](TotalTime x) { return to_seconds(x).value; };
  return {{"steps", t.steps},
          {"tokens", t.tokens},
          {"sequences", t.sequences},
          {"time_s", seconds(t.time)},
          {"host_s", seconds(t.host)},
          {"memory_bandwidth_s", seconds(t.parts[0])},
          {"compute_s", seconds(t.parts[1])},
          {"communication_s", seconds(t.parts[2])},
          {"launch_s", seconds(t.parts[3])},
          {"processor_s", seconds(t.parts[4])}};
}

Tree host_tree(const HostRoom& h) {
  const std::int64_t capacity = h.use.capacity.value;
  return {{"used_bytes", h.use.memory.value},
          {"capacity_bytes", capacity > 0 ? Tree(capacity) : Tree(nullptr)},
          {"mapped", h.mapped},
          {"cache_bytes_per_token", h.bytes_per_token.value},
          {"cache_bytes_needed", h.needed.value}};
}

Tree tree_of(const CacheCapacity& c, const EngineLimits& limits) {
  Tree stages = Tree::array();
  for (const StageRoom& s : c.stages) {
    Tree items = Tree::object();
    for (std::size_t k = 0; k < kTensorClasses; ++k) {
      const Bytes bytes = s.use.live.by_class[k];
      if (bytes.value > 0) {
        items[std::string(name_of(static_cast<TensorClass>(k))) + "_bytes"] = bytes.value;
      }
    }
    for (const MemoryItem& i : s.use.overheads) items[i.name + "_bytes"] = i.bytes.value;
    stages.push_back({{"used_bytes", s.use.bytes().value},
                      {"cache_bytes", s.cache.value},
                      {"cache_bytes_per_token", s.bytes_per_token.value},
                      {"tokens", s.tokens},
                      {"items", std::move(items)}});
    if (s.state_bytes.value > 0) {
      stages.back()["state_bytes_per_sequence"] = s.state_bytes.value;
    }
  }
  Tree out = {{"tokens", c.tokens},
              {"blocks", c.blocks},
              {"block_size_tokens", limits.block_size},
              {"max_model_len_tokens", limits.max_context},
              {"max_concurrency", c.concurrency(limits)},
              {"stages", std::move(stages)}};
  if (c.host) out["host"] = host_tree(*c.host);
  return out;
}

/// What replicas of a pool have done.
Tree use_tree(const PoolUse& use, double busy) {
  return {{"devices_busy", busy},
          {"generation_steps", tree_of(use.decode)},
          {"prompt_steps", tree_of(use.prefill)},
          {"most_blocks_in_use", use.most_blocks},
          {"most_sequences_in_step", use.most_sequences}};
}

Tree pools_tree(const ServingReport& r) {
  Tree out = Tree::object();
  for (const PoolReport& p : r.pools) {
    Tree& pool = out[p.name] = {{"layout", p.layout},
                                {"devices", p.devices},
                                {"replicas", p.replicas},
                                {"fits", p.fits},
                                {"kv_cache", tree_of(p.capacity, p.limits)}};
    if (!r.handovers) continue;
    const bool prefill = p.name == "prefill";
    pool["use"] = prefill ? use_tree(*r.service.prefill_pool, r.handovers->prefill_busy)
                          : use_tree(r.service, r.handovers->decode_busy);
  }
  return out;
}

Tree handovers_tree(const HandoverSummary& h) {
  return {{"transfers", h.transfers},
          {"tokens", h.tokens},
          {"bytes", h.bytes.value},
          {"time", tree_of(h.transfer)},
          {"wait_for_prefill", tree_of(h.prefill_wait)},
          {"wait_for_decode", tree_of(h.decode_wait)},
          {"bottleneck", h.bottleneck()}};
}

Tree served_tree(const ServingReport& r) {
  const ServiceSummary& s = r.summary;
  const double per_user = s.tokens_per_s_per_user;
  Tree out = {{"makespan_s", s.makespan.value},
              {"requests_per_s", s.requests_per_s},
              {"output_tokens_per_s", s.output_tokens_per_s},
              {"tokens_per_s", s.tokens_per_s},
              {"output_tokens_per_s_per_device", s.tokens_per_s_per_device},
              {"output_tokens_per_s_per_user", per_user > 0 ? Tree(per_user) : Tree(nullptr)},
              {"all", tree_of(s.all, r.caches_prefixes(), r.slo.any())},
              {"itl", tree_of(s.token_gap)},
              {"kinds", Tree::array()},
              {"generation_steps", tree_of(r.service.decode)},
              {"prompt_steps", tree_of(r.service.prefill)},
              {"generation_bound_by", bound_of(r.service.decode)},
              {"devices_busy", s.devices_busy},
              {"most_blocks_in_use", r.service.most_blocks},
              {"most_sequences_in_step", r.service.most_sequences},
              {"step_shapes_simulated", r.shapes}};
  if (const double price = r.price_per_million_output_tokens(); price > 0) {
    out["price_per_million_output_tokens"] = price;
  }
  if (r.speculation.any()) {
    const GuessTotals& g = r.service.guessed;
    out["speculative"] = {{"num_speculative_tokens", r.speculation.tokens},
                          {"checked_sequences", g.checks},
                          {"draft_tokens", g.guesses},
                          {"accepted_tokens", g.accepted},
                          {"mean_acceptance_length_tokens", g.mean_length()},
                          {"draft_acceptance_rate", g.rate()}};
  }
  for (const KindSummary& k : s.kinds) {
    out["kinds"].push_back(tree_of(k, r.caches_prefixes(), r.slo.any()));
  }
  if (r.slo.any()) out["slo"] = objectives_json(r);
  if (r.handovers) out["handovers"] = handovers_tree(*r.handovers);
  return out;
}

Tree room_tree(const ServingReport& r) {
  Tree out = {{"scenario", r.run.scenario},
              {"model", r.model},
              {"cluster", r.cluster},
              {"layout", r.layout},
              {"devices", r.devices},
              {"replicas", r.replicas},
              {"fits", r.fits},
              {"kv_cache", tree_of(r.capacity, r.limits)}};
  if (!r.fits) {
    const ServingShortage lack = shortage_of(r);
    out["reason"] = lack.reason, out["cure"] = lack.cure, out["cures"] = r.cures;
  }
  if (!r.pools.empty()) out["pools"] = pools_tree(r);
  return out;
}

Tree run_tree(const RunFacts& run) {
  return {{"version", run.version},
          {"revision", run.revision},
          {"scenario_sha256", run.scenario_sha256},
          {"command", run.command},
          {"warnings", printed(run.warnings)}};
}

}  // namespace

std::string to_json(const ServingReport& r) {
  Tree out = room_tree(r);
  if (r.fits) out["service"] = served_tree(r);
  if (r.max_rate) out["max_rate"] = max_rate_json(r);
  out["run"] = run_tree(r.run);
  return json_text(out);
}

std::string room_json(const ServingReport& r) {
  Tree out = room_tree(r);
  out["run"] = run_tree(r.run);
  return json_text(out);
}

std::string to_csv(const ServingReport& r) {
  const bool cached = r.caches_prefixes();
  const bool objectives = r.slo.any(), apart = r.handovers.has_value();
  std::string out =
      "request,arrival_s,first_token_s,finish_s,replica,preemptions,kind,prompt_tokens,"
      "output_tokens";
  if (cached) out += ",prompt_tokens_cached";
  if (apart) out += ",prefilled_s,asked_s,received_s,decode_replica,tokens_sent";
  out += objectives ? ",good\n" : "\n";
  const auto seconds = [](SimTime t) { return to_seconds(t).value; };
  for (std::size_t i = 0; i < r.service.requests.size(); ++i) {
    const Served& s = r.service.requests[i];
    const Request& asked = r.requests[i];
    out += fmt::format("{},{},{},{},{},{},{},{},{}", i, seconds(s.arrival), seconds(s.first_token),
                       seconds(s.finish), s.replica, s.preemptions,
                       csv_field(r.kinds[asked.kind].name), asked.prompt, asked.output);
    if (cached) out += fmt::format(",{}", s.found);
    if (apart) {
      const Handover& h = r.service.handovers[i];
      out += fmt::format(",{},{},{},{},{}", seconds(h.prefilled), seconds(h.asked),
                         seconds(h.received), h.replica, h.tokens);
    }
    if (objectives) out += fmt::format(",{}", kept_by(latency_of(r.requests[i], s), r.slo).all());
    out += "\n";
  }
  return out;
}

}  // namespace plait
