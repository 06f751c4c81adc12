#include "reports/serving_objectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/human.h"

namespace plait {
namespace {

using JsonTree = nlohmann::ordered_json;

/// A limit that is stated, and how many requests miss it.
struct StatedLimit {
  const char *title, *key;
  Seconds limit;
  std::int64_t missed;
};

std::vector<StatedLimit> stated_limits(const ServingReport& r) {
  const Attainment& a = r.summary.all.attainment;
  std::vector<StatedLimit> out = {{"TTFT", "ttft", r.slo.ttft, a.missed_ttft},
                                  {"TPOT", "tpot", r.slo.tpot, a.missed_tpot},
                                  {"end to end", "e2el", r.slo.e2el, a.missed_e2el}};
  std::erase_if(out, [](const StatedLimit& l) { return l.limit.value == 0; });
  return out;
}

std::string missed_words(const ServingReport& r) {
  const Attainment& a = r.summary.all.attainment;
  std::vector<std::string> out;
  for (const StatedLimit& l : stated_limits(r)) {
    out.push_back(fmt::format("{} of {} by {}", l.title, human_time(l.limit.value),
                              human_percent(a.share(l.missed))));
  }
  return fmt::format("missed: {}", fmt::join(out, ", "));
}

double rate_per_device(const ServingReport& r) {
  return r.max_rate->rate_per_s * r.turns() / static_cast<double>(r.devices);
}

/// Without a share that is asked for there is no verdict.
Line attainment_line(const ServingReport& r, int width) {
  const Attainment& a = r.summary.all.attainment;
  const std::string good = fmt::format("{} of requests are good", human_percent(a.share(a.good)));
  if (r.slo.attainment == 0) return {{pad_right("SLO", width)}, {good}};
  const bool yes = r.attains();
  return {{pad_right(yes ? "SLO MET" : "SLO MISSED", width), yes ? Ink::kGood : Ink::kBad},
          {fmt::format("{}, {} are asked for", good, human_percent(r.slo.attainment))}};
}

std::string max_rate_words(const ServingReport& r) {
  const MaxRate& m = *r.max_rate;
  if (m.rate_per_s == 0) {
    return fmt::format("none: at {:g} a second too many requests miss a limit, or ever more wait",
                       m.missed_per_s);
  }
  const std::string attained =
      fmt::format("{:g} {} a second, {:.3g} requests per device", m.rate_per_s,
                  r.turns() > 1 ? "conversations" : "requests", rate_per_device(r));
  if (m.missed_per_s == 0) {
    return attained + ", and more: begin with a higher one (serving.requests.rate_per_s)";
  }
  return attained + fmt::format("; {:g} does not last", m.missed_per_s);
}

}  // namespace

double ServingReport::turns() const {
  const auto first =
      std::ranges::count_if(requests, [](const Request& q) { return q.follows < 0; });
  return first > 0 ? static_cast<double>(requests.size()) / static_cast<double>(first) : 1;
}

std::vector<Line> objective_lines(const ServingReport& r, int width) {
  if (!r.slo.any()) return {};
  const auto labelled = [width](const std::string& label, const std::string& text) {
    return Line{{pad_right(label, width)}, {text}};
  };
  std::vector<Line> out = {
      attainment_line(r, width), labelled("", missed_words(r)),
      labelled("goodput",
               fmt::format("{:.3g} requests per second, {:.3g} per device", r.summary.goodput_per_s,
                           r.summary.goodput_per_s_per_device))};
  if (r.max_rate) out.push_back(labelled("highest rate", max_rate_words(r)));
  return out;
}

void add_attainment(JsonTree& tree, const Attainment& a) {
  tree["good_requests"] = a.good;
  tree["attainment"] = a.share(a.good);
}

JsonTree objectives_json(const ServingReport& r) {
  const Attainment& a = r.summary.all.attainment;
  JsonTree limits = JsonTree::object(), missed = JsonTree::object();
  for (const StatedLimit& l : stated_limits(r)) {
    limits[std::string(l.key) + "_s"] = l.limit.value;
    missed[l.key] = a.share(l.missed);
  }
  JsonTree out = {{"limits", std::move(limits)},
                  {"attainment_asked", r.slo.attainment},
                  {"attained", r.slo.attainment > 0 ? JsonTree(r.attains()) : JsonTree(nullptr)}};
  add_attainment(out, a);
  out["missed"] = std::move(missed);
  out["goodput_requests_per_s"] = r.summary.goodput_per_s;
  out["goodput_requests_per_s_per_device"] = r.summary.goodput_per_s_per_device;
  return out;
}

JsonTree max_rate_json(const ServingReport& r) {
  const auto known = [](double rate) { return rate > 0 ? JsonTree(rate) : JsonTree(nullptr); };
  const bool any = r.max_rate->rate_per_s > 0;
  return {{"rate_per_s", known(r.max_rate->rate_per_s)},
          {"missed_rate_per_s", known(r.max_rate->missed_per_s)},
          {"requests_per_s_per_device", known(any ? rate_per_device(r) : 0)},
          {"count", any ? JsonTree(r.max_rate->count) : JsonTree(nullptr)},
          {"runs", r.max_rate->runs}};
}

}  // namespace plait
