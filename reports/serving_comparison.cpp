#include "reports/serving_comparison.h"

#include <fmt/format.h>

#include "reports/csv.h"
#include "reports/human.h"
#include "reports/json_tree.h"
#include "reports/table.h"

namespace plait {
namespace {

const std::vector<TableColumn>& serving_columns() {
  static const std::vector<TableColumn> kColumns = {
      {"TTFT p50"}, {"p99"},     {"TPOT p50"},          {"p99"}, {"tok/s", 8}, {"/device", 9},
      {"cache", 9}, {"fits", 5}, {"bound by", 18, true}};
  return kColumns;
}

TableRow row_of(const ServingCandidate& c) {
  if (!c.report) return {c.label, {}, c.reason};
  const ServingReport& r = *c.report;
  if (!r.fits) {
    return {c.label,
            {},
            fmt::format("does not fit: the cache has room for {} tokens, a sequence has up to {}",
                        human_count(r.capacity.tokens), human_count(r.limits.max_context))};
  }
  const ServiceSummary& s = r.summary;
  return {c.label,
          {{human_time(s.all.first_token.p50.value), Ink::kBold},
           {human_time(s.all.first_token.p99.value)},
           {human_time(s.all.per_token.p50.value), Ink::kBold},
           {human_time(s.all.per_token.p99.value)},
           {human_rate(s.output_tokens_per_s)},
           {human_rate(s.tokens_per_s_per_device)},
           {human_rate(static_cast<double>(r.capacity.tokens * r.replicas))},
           {"yes", Ink::kGood},
           {bound_of(r.service.decode)}},
          ""};
}

}  // namespace

std::string serving_comparison_text(const std::vector<ServingCandidate>& candidates,
                                    const TerminalStyle& style) {
  std::vector<TableRow> rows;
  for (const ServingCandidate& c : candidates) rows.push_back(row_of(c));
  std::vector<Line> lines = table_lines("", serving_columns(), rows, style.width);
  lines.push_back({});
  lines.push_back(
      {{"TTFT: time to the first token; TPOT: per token after it; tok/s: of output; "
        "cache: tokens of all replicas",
        Ink::kDim}});
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
  std::string out =
      csv_row({"label", "served", "fits", "reason", "devices", "replicas", "ttft_p50_s",
               "ttft_p99_s", "tpot_p50_s", "tpot_p99_s", "requests_per_s", "output_tokens_per_s",
               "output_tokens_per_s_per_device", "cache_tokens_per_replica"});
  for (const ServingCandidate& c : candidates) {
    std::vector<std::string> row = {c.label, c.report ? "true" : "false",
                                    c.report && c.report->fits ? "true" : "false", c.reason};
    if (c.report) {
      const ServingReport& r = *c.report;
      row.push_back(fmt::format("{}", r.devices));
      row.push_back(fmt::format("{}", r.replicas));
      const ServiceSummary& s = r.summary;
      for (const double v : {s.all.first_token.p50.value, s.all.first_token.p99.value,
                             s.all.per_token.p50.value, s.all.per_token.p99.value, s.requests_per_s,
                             s.output_tokens_per_s, s.tokens_per_s_per_device}) {
        row.push_back(r.fits ? fmt::format("{}", v) : "");
      }
      row.push_back(fmt::format("{}", r.capacity.tokens));
    } else {
      row.resize(14);
    }
    out += csv_row(row);
  }
  return out;
}

}  // namespace plait
