#include <fmt/format.h>

#include <algorithm>

#include "reports/human.h"
#include "reports/serving.h"
#include "reports/serving_objectives.h"
#include "reports/table.h"

namespace plait {
namespace {

constexpr std::string_view kPartNames[] = {"memory bandwidth", "compute", "communication",
                                           "kernel launches", "the processor"};

constexpr double kWorthSaying = 0.005;  // of a step, for what most machines do not do at all

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::vector<Line> header(const ServingReport& r) {
  return {{{r.run.scenario, Ink::kBold}, {"  " + r.model + " on " + r.cluster}},
          serving_line("layout", r.layout),
          {}};
}

/// What is sent between the pools, and which of them, or whether for that, requests wait.
std::vector<Line> handover_lines(const ServingReport& r) {
  if (!r.handovers) return {};
  const HandoverSummary& h = *r.handovers;
  const double each =
      h.transfers > 0 ? static_cast<double>(h.bytes.value) / static_cast<double>(h.transfers) : 0;
  return {serving_line("transfers", fmt::format("{} of {} on average, {} each, 99 % within {}",
                                                human_count(h.transfers),
                                                human_bytes(static_cast<std::int64_t>(each)),
                                                time_of(h.transfer, h.transfer.mean),
                                                time_of(h.transfer, h.transfer.p99))),
          serving_line(
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
      serving_line("requests",
                   fmt::format("{} in {}, {:.3g} per second, {} preemptions",
                               human_count(s.all.requests), human_time(s.makespan.value),
                               s.requests_per_s, human_count(s.all.preemptions))),
      serving_line("output", output_words(s), Ink::kBold),
      serving_line("all tokens", human_rate(s.tokens_per_s) + " tokens/s with prompts")};
  if (const double price = r.price_per_million_output_tokens(); price > 0) {
    out.push_back(serving_line("price", fmt::format("{:.4g} per 1e6 tokens of output", price)));
  }
  if (r.caches_prefixes()) {
    out.push_back(serving_line(
        "prefix cache",
        fmt::format("hit rate {}: {} of {} tokens of prompts", human_percent(s.all.hit_rate()),
                    human_count(s.all.found_tokens), human_count(s.all.prompt_tokens))));
  }
  if (r.speculation.any()) {
    const GuessTotals& g = r.service.guessed;
    out.push_back(serving_line(
        "guesses",
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
  if (t.steps == 0) return {serving_line(name, "no steps")};
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
  return {serving_line(name, fmt::format("{} of {} {}, {} each and {} of the host",
                                         human_plural(t.steps, "step"), tokens,
                                         tokens == "1" ? "token" : "tokens",
                                         human_time(to_seconds(t.time).value / steps),
                                         human_time(to_seconds(t.host).value / steps))),
          serving_line("", parts)};
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
    out.push_back(serving_line("bound by", bound_of(s.decode) + " (generation)"));
    out.push_back(serving_line("in use", use_words(r.summary.devices_busy, s, r.capacity)));
    return out;
  }
  append(out, step_line("prefill", s.prefill_pool->prefill));
  append(out, step_line("decode", s.decode));
  if (s.prefill.steps > 0) append(out, step_line("recomputed", s.prefill));
  out.push_back(
      serving_line("bound by", fmt::format("{} (prefill), {} (decode)",
                                           bound_of(s.prefill_pool->prefill), bound_of(s.decode))));
  out.push_back(serving_line(
      "prefill", use_words(r.handovers->prefill_busy, *s.prefill_pool, r.pools[0].capacity)));
  out.push_back(serving_line("decode", use_words(r.handovers->decode_busy, s, r.capacity)));
  return out;
}

}  // namespace

Line serving_line(const std::string& label, const std::string& text, Ink ink) {
  return {{pad_right(label, kServingLabel)}, {text, ink}};
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
