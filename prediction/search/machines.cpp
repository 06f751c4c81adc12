#include "prediction/search/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "core/parallel.h"
#include "prediction/prices.h"
#include "prediction/run_facts.h"
#include "prediction/search/figures.h"
#include "reports/human.h"
#include "scenarios/open.h"
#include "scenarios/overrides.h"
#include "scenarios/varied_fields.h"

namespace plait {
namespace {

std::string machines_in_words(const Studies& studies) {
  std::string first = cluster_text(studies.front()->scenario().cluster);
  if (studies.size() == 1) return first;
  const bool alike = std::ranges::all_of(
      studies, [&](const auto& study) { return cluster_text(study->scenario().cluster) == first; });
  if (alike) return fmt::format("{}, in {} variants", first, studies.size());
  const auto gpus = [](const auto& study) { return study->scenario().cluster.world_size(); };
  const auto [least, most] = std::ranges::minmax_element(studies, {}, gpus);
  const std::string range = gpus(*least) == gpus(*most) ? "" : fmt::format("{} to ", gpus(*least));
  return fmt::format("{} machines of {}{} GPUs", studies.size(), range, gpus(*most));
}

/// That of the machine and the layout that the scenario itself has, or the only machine.
const Study* study_of_written(const Studies& studies, const SearchQuestion& q) {
  if (studies.size() == 1 && !studies.front()->holds_fields()) return studies.front().get();
  try {
    const OpenScenario own = parse_open_scenario(q.text, q.file, q.sets);
    const auto found =
        std::ranges::find_if(studies, [&own](const auto& study) { return study->is_written(own); });
    return found == studies.end() ? nullptr : found->get();
  } catch (const InputError&) {
    return nullptr;  // it may lack what is varied
  }
}

/// What is said of them: names, and the smallest where all are too large.
SearchReport said_of(const SearchQuestion& q, const Studies& studies) {
  SearchReport report;
  report.objective = name_of(q.objective);
  const Scenario& s = studies.front()->scenario();
  report.tokens = s.training ? s.training->tokens : 0;
  report.scenario = s.name, report.model = s.model.name;
  report.cluster = machines_in_words(studies);
  report.run = run_facts(s, q.command_line);
  const bool one_framework = std::ranges::all_of(
      studies, [&s](const auto& study) { return study->scenario().framework == s.framework; });
  if (one_framework) {
    report.framework = s.framework;
    for (const FrameworkOffer& offer : studies.front()->offers()) {
      report.limits.push_back({offer.path, offer.values});
    }
  }
  report.flow_asked = s.flow_network;
  std::int64_t least = s.cluster.world_size();
  for (const auto& study : studies) least = std::min(least, study->scenario().cluster.world_size());
  if (q.max_gpus > 0 && least > q.max_gpus) {
    report.nothing = fmt::format("NO MACHINE OF AT MOST {} GPUS: the smallest has {}",
                                 human_count(q.max_gpus), human_count(least));
  }
  return report;
}

/// Those of the question, and the fields that the scenario lists values of and it says nothing
/// about.
std::vector<Variation> variations_of(const SearchQuestion& q) {
  std::vector<Variation> out = q.varied;
  for (const Variation& v : out) {
    for (const std::string& value : v.values) refuse_open_value(v.path, value);
  }
  for (VariedField& field : varied_fields(q.text, q.file, q.sets)) {
    const bool asked = std::ranges::any_of(
        out, [&](const Variation& v) { return canonical_path(v.path) == field.path; });
    // No -L said so: --set is what makes it one of the values.
    if (!asked) out.push_back({std::move(field.path), std::move(field.values), "--set"});
  }
  return out;
}

/// Fields that have one value on all machines.
Assignments held_fields(const Study& study, const std::vector<Variation>& variations) {
  Assignments out;
  for (const HeldField& held : study.held_fields()) {
    const auto varies = [&held](const Variation& v) {
      const std::string path = canonical_path(v.path);
      return held.path == path || held.path.starts_with(path + ".");
    };
    if (std::ranges::none_of(variations, varies)) out.push_back({held.path, held.value});
  }
  return out;
}

/// A step knows no days.
void require_tokens(const SearchQuestion& q, const std::vector<const Scenario*>& machines) {
  if (q.days <= 0) return;
  const auto trains = [](const Scenario* s) { return s->training.has_value(); };
  if (std::ranges::all_of(machines, trains)) return;
  throw InputError({.code = "G001",
                    .problem = "--deadline, and nothing says how many tokens are to be trained on",
                    .expected = "--tokens, or training.tokens in the scenario",
                    .cure = "for example --tokens 15e12"});
}

}  // namespace

Machines machines_of(const SearchQuestion& q) {
  const std::vector<Variation> variations = variations_of(q);
  Machines out;
  std::vector<const Scenario*> scenarios;
  std::vector<std::string> devices;
  const std::vector<Assignments> machines = combinations(variations);
  out.studies.resize(machines.size());
  in_parallel(machines.size(), q.jobs, [&](std::size_t i) {
    out.studies[i] = std::make_unique<Study>(q, outer_first(machines[i]));
  });
  for (const std::unique_ptr<Study>& study : out.studies) {
    scenarios.push_back(&study->scenario());
    std::ranges::copy(kinds_of_devices(scenarios.back()->cluster), std::back_inserter(devices));
  }
  require_prices(q.prices, devices);
  require_figures(q, scenarios);
  require_tokens(q, scenarios);
  out.about = said_of(q, out.studies);
  out.about.held = held_fields(*out.studies.front(), variations);
  out.warnings = out.studies.front()->warnings();
  append(out.warnings, idle_prices(q.prices, devices));
  std::vector<PricedDevice> priced;
  for (const Scenario* s : scenarios)
    std::ranges::copy(priced_devices(*s), std::back_inserter(priced));
  append(out.warnings, shared_prices(q.prices, priced));
  const auto is_too_large = [&q](const Study& study) {
    return q.max_gpus > 0 && study.scenario().cluster.world_size() > q.max_gpus;
  };
  const Study* written = study_of_written(out.studies, q);
  if (written != nullptr && !is_too_large(*written)) out.as_written = written;
  std::erase_if(out.studies, [&](const auto& study) { return is_too_large(*study); });
  return out;
}

}  // namespace plait
