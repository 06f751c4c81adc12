#include <fmt/format.h>

#include <algorithm>

#include "reports/human.h"
#include "reports/serving.h"
#include "reports/serving_objectives.h"
#include "reports/table.h"

namespace plait {
namespace {

constexpr int kServingLabel = 14;  // columns of the labels on the left
constexpr std::string_view kPartNames[] = {"memory bandwidth", "compute", "communication",
                                           "kernel launches", "the processor"};

constexpr double kWorthSaying = 0.005;  // of a step, for what most machines do not do at all

Line labelled(const std::string& label, const std::string& text, Ink ink = Ink::kPlain) {
  return {{pad_right(label, kServingLabel)}, {text, ink}};
}

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::vector<Line> header(const ServingReport& r) {
  return {{{r.run.scenario, Ink::kBold}, {"  " + r.model + " on " + r.cluster}},
          labelled("layout", r.layout),
          {}};
}

std::string cache_words(const CacheCapacity& c, const EngineLimits& limits) {
  const StageRoom& room = c.stages[c.tightest];
  if (room.state_bytes.value == 0) {
    return fmt::format("GPU KV cache size: {} tokens ({}, {} per token and device)",
                       human_count(c.tokens), human_bytes(room.bytes_per_token.value * c.tokens),
                       human_bytes(room.bytes_per_token.value));
  }
  return fmt::format(
      "{} blocks of {} tokens, or a state, of one layer ({}); {} per token and {} "
      "per sequence and device",
      human_count(c.blocks), human_count(limits.block_size), human_bytes(room.cache.value),
      human_bytes(room.bytes_per_token.value), human_bytes(room.state_bytes.value));
}

/// The pool that is stated has no room, though a sequence has.
bool is_too_large_a_pool(const CacheCapacity& c, const EngineLimits& limits) {
  return limits.cache_tokens > c.tokens && c.tokens >= limits.max_context;
}

/// What makes room; whose fields they are, the scenario's or a pool's, is above.
std::string cures_words(const CacheCapacity& c, const EngineLimits& limits,
                        const std::string& release) {
  if (is_too_large_a_pool(c, limits)) {
    return fmt::format(
        "kv_cache_tokens of {} or less, or none, takes what there is; narrower "
        "weights or a larger tp or pp leave room for more",
        c.tokens);
  }
  if (c.lacks_by_choice(limits)) {
    return fmt::format(
        "a kv_cache_tokens of {} or more takes them (memory leaves room for {} tokens), or "
        "max_model_len = {} shorter requests",
        limits.max_context, human_count(c.room), c.tokens);
  }
  const std::string shorter =
      c.tokens == 0 ? "" : fmt::format("; max_model_len = {} takes shorter requests", c.tokens);
  if (limits.engine == ServingEngine::kLlamaCpp) {
    return "serving.layers.gpu_layers = -1 keeps on devices what fits, host_experts = -1 experts "
           "(--n-cpu-moe); a smaller kv_cache_tokens or max_model_len, or a narrower kv_cache, "
           "takes less" +
           shorter;
  }
  const std::string own =
      release.empty() ? "" : fmt::format(" (the model is published with {})", release);
  return "a larger tp or pp shares weights among more devices; serving.weights, "
         "serving.expert_weights and serving.products make them narrower" +
         own + shorter;
}

std::vector<Line> capacity_lines(const CacheCapacity& c, const EngineLimits& limits, bool fits,
                                 const std::string& release) {
  const std::string used = fmt::format("{} of weights, activations and process",
                                       human_bytes(c.stages[c.tightest].use.bytes().value));
  if (!fits) {
    return {{{"DOES NOT FIT  ", Ink::kBad}, {lacking_words(c, limits, used + " leave room")}},
            labelled("", cures_words(c, limits, release))};
  }
  return {{{pad_right("FITS", kServingLabel), Ink::kGood}, {used + " per device, and the cache"}},
          labelled("cache", cache_words(c, limits)),
          labelled("", fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x",
                                   human_count(limits.max_context), c.concurrency(limits)))};
}

}  // namespace

std::vector<Line> capacity_lines(const ServingReport& r) {
  if (r.pools.empty()) return capacity_lines(r.capacity, r.limits, r.fits, r.narrower_release);
  std::vector<Line> out;
  for (const PoolReport& p : r.pools) {
    if (!out.empty()) out.emplace_back();
    out.push_back(labelled(
        p.name,
        fmt::format("{} of {} on {}",
                    p.replicas == 1 ? "an instance" : human_count(p.replicas) + " instances",
                    p.instance, human_plural(p.devices, "device")),
        Ink::kBold));
    append(out, capacity_lines(p.capacity, p.limits, p.fits, r.narrower_release));
  }
  return out;
}

namespace {

/// What is sent between the pools, and which of them, or whether for that, requests wait.
std::vector<Line> handover_lines(const ServingReport& r) {
  if (!r.handovers) return {};
  const HandoverSummary& h = *r.handovers;
  const double each =
      h.transfers > 0 ? static_cast<double>(h.bytes.value) / static_cast<double>(h.transfers) : 0;
  return {labelled("transfers", fmt::format("{} of {} on average, {} each, 99 % within {}",
                                            human_count(h.transfers),
                                            human_bytes(static_cast<std::int64_t>(each)),
                                            time_of(h.transfer, h.transfer.mean),
                                            time_of(h.transfer, h.transfer.p99))),
          labelled(
              "bottleneck",
              fmt::format("{}: requests wait {} for a step of prefill, {} for the transfer, {} for "
                          "room and a step of decode",
                          h.bottleneck(), time_of(h.prefill_wait, h.prefill_wait.mean),
                          time_of(h.transfer, h.transfer.mean),
                          time_of(h.decode_wait, h.decode_wait.mean)))};
}

std::string output_words(const ServiceSummary& s) {
  std::string out = fmt::format("{} tokens/s, {} per device", human_rate(s.output_tokens_per_s),
                                human_rate(s.tokens_per_s_per_device));
  if (s.tokens_per_s_per_user > 0) {
    out += fmt::format(", {} per user", human_rate(s.tokens_per_s_per_user));
  }
  return out;
}

std::vector<Line> rate_lines(const ServingReport& r) {
  const ServiceSummary& s = r.summary;
  std::vector<Line> out = {
      {},
      labelled("requests", fmt::format("{} in {}, {:.3g} per second, {} preemptions",
                                       human_count(s.all.requests), human_time(s.makespan.value),
                                       s.requests_per_s, human_count(s.all.preemptions))),
      labelled("output", output_words(s), Ink::kBold),
      labelled("all tokens", human_rate(s.tokens_per_s) + " tokens/s with prompts")};
  if (const double price = r.price_per_million_output_tokens(); price > 0) {
    out.push_back(labelled("price", fmt::format("{:.4g} per 1e6 tokens of output", price)));
  }
  if (r.caches_prefixes()) {
    out.push_back(labelled(
        "prefix cache",
        fmt::format("hit rate {}: {} of {} tokens of prompts", human_percent(s.all.hit_rate()),
                    human_count(s.all.found_tokens), human_count(s.all.prompt_tokens))));
  }
  if (r.speculation.any()) {
    const GuessTotals& g = r.service.guessed;
    out.push_back(
        labelled("guesses",
                 fmt::format("mean acceptance length {:.2f} tokens of {}, {} of "
                             "guesses are right",
                             g.mean_length(), r.speculation.tokens + 1, human_percent(g.rate()))));
  }
  return out;
}

TableRow row(const std::string& label, const Quantiles& q) {
  TableRow out{label, {}, ""};
  for (const Seconds t : {q.mean, q.p50, q.p90, q.p95, q.p99, q.most}) {
    out.cells.push_back({time_of(q, t)});
  }
  return out;
}

std::vector<Line> latency_lines(const KindSummary& k, const std::string& title, int width,
                                const Quantiles* gap) {
  std::vector<TableRow> rows = {row("first token (TTFT)", k.first_token),
                                row("per token (TPOT)", k.per_token)};
  if (gap != nullptr) rows.push_back(row("between tokens (ITL)", *gap));
  rows.push_back(row("end to end", k.end_to_end));
  std::vector<Line> out = {{}};
  const std::vector<TableColumn> columns = {{"mean"}, {"p50"}, {"p90"}, {"p95"}, {"p99"}, {"most"}};
  for (Line& l : table_lines(title, columns, rows, width)) {
    out.push_back(std::move(l));
  }
  return out;
}

std::string kind_title(const KindSummary& k, bool prefix_caching, const Slo& slo) {
  std::string out = fmt::format("{}: {} requests", k.name, human_count(k.requests));
  if (slo.any()) {
    const Attainment& a = k.attainment;
    out += fmt::format(", {} good", human_percent(a.share(a.good)));
  }
  if (prefix_caching) out += fmt::format(", {} cached", human_percent(k.hit_rate(), 0));
  return out;
}

/// "8,201 steps of 5.4 tokens, 14.2 ms each and 180 us of the host", and what of it is what.
std::vector<Line> step_line(const std::string& name, const StepTotals& t) {
  if (t.steps == 0) return {labelled(name, "no steps")};
  const auto steps = static_cast<double>(t.steps);
  TotalTime sum;
  for (const TotalTime p : t.parts) sum += p;
  std::string parts;
  for (std::size_t p = 0; p < kStepParts; ++p) {
    const double share = share_of(to_seconds(t.parts[p]).value, to_seconds(sum).value);
    if (p == static_cast<std::size_t>(StepPart::kProcessor) && share < kWorthSaying) continue;
    parts += fmt::format("{}{} {}", p == 0 ? "" : ", ", kPartNames[p], human_percent(share, 0));
  }
  const std::string tokens = fmt::format("{:.4g}", static_cast<double>(t.tokens) / steps);
  return {labelled(name, fmt::format("{} of {} {}, {} each and {} of the host",
                                     human_plural(t.steps, "step"), tokens,
                                     tokens == "1" ? "token" : "tokens",
                                     human_time(to_seconds(t.time).value / steps),
                                     human_time(to_seconds(t.host).value / steps))),
          labelled("", parts)};
}

std::string use_words(double busy, const PoolUse& use, const CacheCapacity& capacity) {
  return fmt::format("devices {} of the time; at most {} of the cache, {} sequences a step",
                     human_percent(busy),
                     human_percent(share_of(static_cast<double>(use.most_blocks),
                                            static_cast<double>(capacity.blocks))),
                     human_count(use.most_sequences));
}

std::vector<Line> step_lines(const ServingReport& r) {
  std::vector<Line> out = {{}, {{"what steps spend their time on", Ink::kBold}}};
  const Service& s = r.service;
  if (!r.handovers) {
    append(out, step_line("generation", s.decode));
    append(out, step_line("with prompts", s.prefill));
    out.push_back(labelled("bound by", bound_of(s.decode) + " (generation)"));
    out.push_back(labelled("in use", use_words(r.summary.devices_busy, s, r.capacity)));
    return out;
  }
  append(out, step_line("prefill", s.prefill_pool->prefill));
  append(out, step_line("decode", s.decode));
  if (s.prefill.steps > 0) append(out, step_line("recomputed", s.prefill));
  out.push_back(
      labelled("bound by", fmt::format("{} (prefill), {} (decode)",
                                       bound_of(s.prefill_pool->prefill), bound_of(s.decode))));
  out.push_back(labelled(
      "prefill", use_words(r.handovers->prefill_busy, *s.prefill_pool, r.pools[0].capacity)));
  out.push_back(labelled("decode", use_words(r.handovers->decode_busy, s, r.capacity)));
  return out;
}

}  // namespace

std::string lacking_words(const CacheCapacity& c, const EngineLimits& limits,
                          const std::string& leaves) {
  const bool by_choice = c.lacks_by_choice(limits);
  const std::string has =
      by_choice ? fmt::format("kv_cache_tokens is {}", human_count(limits.cache_tokens))
                : fmt::format("{} for {} tokens", leaves, human_count(c.room));
  if (is_too_large_a_pool(c, limits)) {
    return fmt::format("{}; kv_cache_tokens asks for {}", has, human_count(limits.cache_tokens));
  }
  return fmt::format("{}; a sequence has up to {}", has, human_count(limits.max_context));
}

std::string time_of(const Quantiles& q, Seconds part) {
  return q.samples > 0 ? human_time(part.value) : "-";
}

std::string bound_of(const StepTotals& totals) {
  const auto most = std::ranges::max_element(totals.parts);
  const auto part = static_cast<std::size_t>(most - totals.parts.begin());
  if (totals.steps == 0) return "nothing";
  return std::string(totals.host > *most ? "host" : kPartNames[part]);
}

double ServingReport::price_per_million_output_tokens() const {
  constexpr double kHour = 3600, kMillion = 1e6;
  if (!fits || summary.output_tokens_per_s <= 0) return 0;
  const double per_second = price_per_device_hour * static_cast<double>(devices) / kHour;
  return per_second / summary.output_tokens_per_s * kMillion;
}

std::string to_text(const ServingReport& r, const TerminalStyle& style) {
  std::vector<Line> lines = header(r);
  append(lines, capacity_lines(r));
  if (r.fits) {
    append(lines, rate_lines(r));
    append(lines, handover_lines(r));
    append(lines, objective_lines(r, kServingLabel));
    append(lines,
           latency_lines(r.summary.all, "latency of requests", style.width, &r.summary.token_gap));
    for (const KindSummary& k : r.summary.kinds) {
      append(lines,
             latency_lines(k, kind_title(k, r.caches_prefixes(), r.slo), style.width, nullptr));
    }
    append(lines, step_lines(r));
  }
  return render(lines, style);
}

}  // namespace plait
