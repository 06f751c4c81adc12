#include "prediction/search/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>

#include "core/error.h"
#include "core/parallel.h"

namespace plait {
namespace {

constexpr const char* kNothingDivides =
    "NO LAYOUT: no sizes that may be chosen multiply to the devices and divide the batch, the "
    "sequence, and the model's heads, key/value heads, vocabulary and layers";

/// Grouped heads are what tensor parallelism is split over.
std::string heads_in_the_way(const FreedSize& size, const Model& model) {
  const auto splits = [&model](std::int64_t tp) { return model.kv_heads % tp == 0; };
  if (size.field != "strategy.tp" || std::ranges::any_of(size.asked, splits)) return "";
  return fmt::format(" (of {} key/value heads)", model.kv_heads);
}

/// Sizes that others may be chosen for, each alone, on the first machine.
std::string nothing_divides(const Machines& machines) {
  std::vector<std::string> sizes;
  for (const FreedSize& size : machines.studies.front()->freed()) {
    sizes.push_back(fmt::format("{} is to be {}{}, and with all else as asked can be {}",
                                size.field, fmt::join(size.asked, ", "),
                                heads_in_the_way(size, machines.studies.front()->scenario().model),
                                fmt::join(size.others, ", ")));
  }
  if (sizes.empty()) return kNothingDivides;
  return fmt::format("NO LAYOUT: {}", fmt::join(sizes, "; or "));
}

/// Sizes that were asked for and not tried on any machine that was searched.
std::vector<SearchedValues> untried_on(std::span<const std::unique_ptr<Study>> searched) {
  std::vector<SearchedValues> out;
  if (searched.empty()) return out;
  const auto also = [](const Study& study, std::string_view field, std::int64_t value) {
    return std::ranges::any_of(study.untried(), [&](const UntriedSize& size) {
      return size.field == field && std::ranges::count(size.values, value) > 0;
    });
  };
  for (const UntriedSize& size : searched.front()->untried()) {
    std::vector<std::string> values;
    for (const std::int64_t value : size.values) {
      const auto leaves = [&](const auto& study) { return also(*study, size.field, value); };
      if (std::ranges::all_of(searched, leaves)) values.push_back(std::to_string(value));
    }
    if (!values.empty()) out.push_back({std::string(size.field), std::move(values)});
  }
  return out;
}

constexpr const char* kNotYet = "ENDED BEFORE A LAYOUT THAT FITS WAS FOUND";

constexpr const char* kNotPlanned = "NO LAYOUT THAT FITS CAN BE PLANNED";

/// Where nothing is found for one reason that no layout escapes: throws it.
void say_why(const SearchReport& report, const Scenario& scenario) {
  const auto for_all = [&](const SearchRefusal& r) {
    return r.all && r.why.code == report.refusals.front().why.code;
  };
  const SearchCounts& c = report.counts;
  if (c.simulated + c.open > 0 || report.refusals.empty()) return;
  if (!std::ranges::all_of(report.refusals, for_all)) return;
  throw locate(InputError(report.refusals.front().why), scenario);
}

/// The scenario as written may be none of the layouts that are searched, and better than these.
void put_first_if_best(const SearchQuestion& q, SearchReport& out) {
  if (!out.own || !out.own->report.memory.fits || out.best.empty()) return;
  if (!is_better(q, *out.own, out.best.front())) return;
  out.own_is_best = true;
  out.best.insert(out.best.begin(), *out.own);
  out.best.front().settings.clear();
  if (out.best.size() > q.best) out.best.pop_back();
}

/// Calls of its plan, which its report is made from.
std::int64_t calls_of(const Ranked& ranked) {
  const EvaluatedStep* step = ranked.found.step.get();
  if (step == nullptr) return std::numeric_limits<std::int64_t>::max();  // to be simulated first
  std::int64_t n = 0;
  for (const Program& p : step->plan.programs) n += std::ssize(p.calls);
  return n;
}

}  // namespace

std::vector<Ranked> search_machines(const SearchQuestion& q, const Machines& machines,
                                    SearchRecords& records, const SearchControl& control,
                                    SearchReport& report) {
  const Studies& studies = machines.studies;
  Ranking ranking(q);
  std::uint32_t i = 0;
  for (; i < studies.size() && !control.stop; ++i) {
    Study& study = *studies[i];
    study.prepare(control.crews, control.stop, control.progress);
    std::vector<Found> found;
    const bool ahead = i + 1 < studies.size() && control.crews.may_look_ahead();
    in_parallel(ahead ? 2 : 1, q.jobs, [&](std::size_t which) {
      if (which == 0) {
        found = study.run({control.stop, control.progress, records.ears(i, study), records.known(i),
                           ranking.slowest(study.scenario())},
                          report);
      } else if (!control.stop) {  // beside its simulations, which cannot be shared out evenly
        studies[i + 1]->prepare(control.crews, control.stop);
      }
    });
    control.crews.dismiss(control.stop);
    ranking.add(study.scenario(), i, found);
  }
  report.not_begun = std::ssize(studies) - i;
  report.untried = untried_on(std::span(studies).first(i));
  const bool cut = report.not_begun > 0 || report.front_cut || report.counts.open > 0;
  report.interrupted = control.stop && cut;
  return ranking.reported();
}

void report_rows(const SearchQuestion& q, const Machines& machines, const std::vector<Ranked>& best,
                 SearchReport& out) {
  if (machines.studies.empty()) return;
  say_why(out, machines.studies.front()->scenario());
  const Study& guided = machines.as_written ? *machines.as_written : *machines.studies.front();
  std::vector<SearchRow> rows(best.size());
  const std::vector<std::size_t> order =
      longest_first(best.size(), [&](std::size_t i) { return calls_of(best[i]); });
  in_parallel(best.size() + 2, q.jobs, [&](std::size_t i) {
    if (i == 0) out.rule_of_thumb = guided.guides();  // which are to be simulated
    if (i == 1 && machines.as_written) out.own = machines.as_written->own(out.own_refused);
    if (i < 2) return;
    const std::size_t row = order[i - 2];
    rows[row] = machines.studies[best[row].study]->row(best[row].found);
  });
  const std::string too_late = leave_the_best(q, rows);
  if (out.nothing.empty()) out.nothing = too_late;
  const SearchCounts& c = out.counts;
  if (out.nothing.empty() && c.considered == 0) out.nothing = nothing_divides(machines);
  const bool all_refused = c.refused > 0 && c.simulated == 0;
  if (out.nothing.empty() && all_refused && c.open == 0) out.nothing = kNotPlanned;
  if (out.nothing.empty() && out.counts.open > 0) out.nothing = kNotYet;
  if (q.front) out.front.insert(out.front.begin(), rows.begin(), rows.end());
  leave_in_time(q, out.front);
  out.front = pareto_front(std::move(out.front));
  out.best = std::move(rows);
  put_first_if_best(q, out);
}

}  // namespace plait
