#include "reports/serving_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/json.h"
#include "reports/csv.h"
#include "reports/human.h"
#include "reports/json_tree.h"
#include "reports/table.h"

namespace plait {
namespace {

constexpr std::string_view kCacheTitle = "cache";

/// What is compared besides latencies and tokens.
struct Asked {
  bool objectives = false, rate = false, pools = false, price = false;
  explicit Asked(const std::vector<ServingCandidate>& candidates) {
    for (const ServingCandidate& c : candidates) {
      if (!c.report) continue;
      objectives = objectives || c.report->slo.any();
      pools = pools || !c.report->pools.empty();
      rate = rate || c.report->max_rate.has_value();
      price = price || c.report->price_per_million_output_tokens() > 0;
    }
  }
};

/// With objectives they stand in the place of what fits (rows of what does not say so) and binds.
std::vector<TableColumn> serving_columns(const Asked& asked) {
  std::vector<TableColumn> out = {{"TTFT p50"}, {"p99"},      {"TPOT p50"},
                                  {"p99"},      {"tok/s", 8}, {"/device", 9}};
  out.push_back({.title = std::string(kCacheTitle), .width = 9, .optional = asked.price});
  if (asked.price) out.push_back({"per 1e6", 9});
  if (asked.objectives) {
    const char* rate = asked.rate ? "rate" : "goodput";
    out.insert(out.end(), {{"good", 8}, {rate, 9}, {"/device", 9}});
  } else {
    out.insert(out.end(), {{"fits", 5}, {"bound by", 18, true}});
  }
  return out;
}

/// The share of good requests, and how many come a second, each of a device.
void add_objective_cells(const ServingReport& r, const Asked& asked, std::vector<Span>& cells) {
  const Attainment& a = r.summary.all.attainment;
  const bool found = !asked.rate || r.max_rate->rate_per_s > 0;
  const double rate = asked.rate ? r.max_rate->rate_per_s * r.turns() : r.summary.goodput_per_s;
  const auto number = [found](double v) { return found ? fmt::format("{:.3g}", v) : "none"; };
  cells.push_back({human_percent(a.share(a.good)), r.attains() ? Ink::kGood : Ink::kBad});
  cells.push_back({number(rate)});
  cells.push_back({number(rate / static_cast<double>(r.devices)), Ink::kBold});
}

TableRow row_of(const ServingCandidate& c, const Asked& asked) {
  if (!c.report) return {c.label, {}, c.reason};
  const ServingReport& r = *c.report;
  if (!r.fits) {
    return {c.label,
            {},
            "does not fit: " + lacking_words(r.tightest_cache(), r.limits, "the cache has room")};
  }
  const ServiceSummary& s = r.summary;
  TableRow out = {c.label,
                  {{time_of(s.all.first_token, s.all.first_token.p50), Ink::kBold},
                   {time_of(s.all.first_token, s.all.first_token.p99)},
                   {time_of(s.all.per_token, s.all.per_token.p50), Ink::kBold},
                   {time_of(s.all.per_token, s.all.per_token.p99)},
                   {human_rate(s.output_tokens_per_s)},
                   {human_rate(s.tokens_per_s_per_device)},
                   {human_rate(static_cast<double>(r.capacity.tokens * r.replicas))}},
                  ""};
  if (asked.price) {
    const double price = r.price_per_million_output_tokens();
    out.cells.push_back({price > 0 ? fmt::format("{:.4g}", price) : "-"});
  }
  if (asked.objectives) {
    add_objective_cells(r, asked, out.cells);
  } else {
    out.cells.push_back({"yes", Ink::kGood});
    out.cells.push_back({r.handovers ? r.handovers->bottleneck() : bound_of(r.service.decode)});
  }
  return out;
}

/// `caches`: the table had room for that column.
std::string legend_words(const Asked& asked, bool caches) {
  std::string out = "TTFT: time to the first token; TPOT: per token after it; tok/s: of output";
  if (caches) out += "; cache: tokens of all replicas";
  if (caches && asked.pools) out += " that generate";
  if (asked.price) out += "; per 1e6: price of 1e6 tokens of output";
  if (asked.pools && !asked.objectives) {
    out += "; bound by: the pool, or the transfer between the two, that requests wait longest for";
  }
  if (!asked.objectives) return out;
  out += "; good: requests that keep every limit of serving.slo; ";
  out += asked.rate ? "rate: the highest at which enough are, requests a second"
                    : "goodput: those a second";
  return out;
}

/// None where there is nothing to say.
void add_objective_columns(const ServingReport& r, std::vector<std::string>& row) {
  if (!r.fits || !r.slo.any()) return;
  const Attainment& a = r.summary.all.attainment;
  const bool found = r.max_rate && r.max_rate->rate_per_s > 0;
  row.push_back(fmt::format("{}", a.share(a.good)));
  row.push_back(fmt::format("{}", r.summary.goodput_per_s));
  row.push_back(fmt::format("{}", r.summary.goodput_per_s_per_device));
  row.push_back(found ? fmt::format("{}", r.max_rate->rate_per_s) : "");
}

std::vector<std::string> csv_titles(const Asked& asked) {
  std::vector<std::string> out = {"label",
                                  "served",
                                  "fits",
                                  "reason",
                                  "devices",
                                  "replicas",
                                  "ttft_p50_s",
                                  "ttft_p99_s",
                                  "tpot_p50_s",
                                  "tpot_p99_s",
                                  "requests_per_s",
                                  "output_tokens_per_s",
                                  "output_tokens_per_s_per_device",
                                  "cache_tokens_per_replica"};
  if (asked.price) out.emplace_back("price_per_million_output_tokens");
  if (asked.objectives) {
    out.insert(out.end(), {"attainment", "goodput_requests_per_s",
                           "goodput_requests_per_s_per_device", "max_rate_per_s"});
  }
  return out;
}

void add_csv_cells(const ServingReport& r, const Asked& asked, std::vector<std::string>& row) {
  row.push_back(fmt::format("{}", r.devices));
  row.push_back(fmt::format("{}", r.replicas));
  const ServiceSummary& s = r.summary;
  for (const Quantiles* q : {&s.all.first_token, &s.all.per_token}) {
    for (const Seconds t : {q->p50, q->p99}) {
      row.push_back(q->samples > 0 ? fmt::format("{}", t.value) : "");
    }
  }
  for (const double v : {s.requests_per_s, s.output_tokens_per_s, s.tokens_per_s_per_device}) {
    row.push_back(r.fits ? fmt::format("{}", v) : "");
  }
  row.push_back(fmt::format("{}", r.capacity.tokens));
  if (asked.price) {
    const double price = r.price_per_million_output_tokens();
    row.push_back(price > 0 ? fmt::format("{}", price) : "");
  }
  if (asked.objectives) add_objective_columns(r, row);
}

/// Why there are no numbers; "": there are.
std::string why_not_served(const ServingCandidate& c) {
  return c.report && !c.report->fits ? shortage_of(*c.report).reason : c.reason;
}

}  // namespace

std::string serving_comparison_text(const std::vector<ServingCandidate>& candidates,
                                    const TerminalStyle& style) {
  const Asked asked(candidates);
  std::vector<TableRow> rows;
  for (const ServingCandidate& c : candidates) rows.push_back(row_of(c, asked));
  std::vector<Line> lines = table_lines("", serving_columns(asked), rows, style.width);
  const bool caches = std::ranges::any_of(
      lines.front(), [](const Span& head) { return head.text.ends_with(kCacheTitle); });
  lines.emplace_back();
  lines.push_back({{legend_words(asked, caches), Ink::kDim}});
  return render(lines, style);
}

std::string serving_comparison_json(const std::vector<ServingCandidate>& candidates) {
  using Tree = nlohmann::ordered_json;
  Tree rows = Tree::array();
  for (const ServingCandidate& c : candidates) {
    Tree row = {{"label", c.label}, {"served", c.report.has_value()}};
    if (c.report) {
      row["report"] = Tree::parse(to_json(*c.report));
    } else {
      row["reason"] = c.reason;
    }
    rows.push_back(std::move(row));
  }
  return json_text(Tree{{"candidates", std::move(rows)}});
}

std::string serving_comparison_csv(const std::vector<ServingCandidate>& candidates) {
  const Asked asked(candidates);
  const std::vector<std::string> titles = csv_titles(asked);
  std::string out = csv_row(titles);
  for (const ServingCandidate& c : candidates) {
    std::vector<std::string> row = {c.label, json_bool(c.report.has_value()),
                                    json_bool(c.report && c.report->fits), why_not_served(c)};
    if (c.report) add_csv_cells(*c.report, asked, row);
    row.resize(titles.size());
    out += csv_row(row);
  }
  return out;
}

}  // namespace plait
