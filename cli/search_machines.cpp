#include "cli/search_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/search_objective.h"
#include "core/error.h"
#include "core/json.h"
#include "prediction/prediction.h"
#include "prediction/run_facts.h"
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
const Study* study_of_written(const Studies& studies, const std::string& text,
                              const std::string& file, const std::vector<Override>& sets) {
  if (studies.size() == 1 && !studies.front()->holds_fields()) return studies.front().get();
  try {
    const OpenScenario own = parse_open_scenario(text, file, sets);
    const auto found =
        std::ranges::find_if(studies, [&own](const auto& study) { return study->is_written(own); });
    return found == studies.end() ? nullptr : found->get();
  } catch (const InputError&) {
    return nullptr;  // it may lack what -L says
  }
}

/// What is said of them: names, and the smallest where all are too large.
SearchReport report_of(const SearchCommand& o, const Command& command, const Studies& studies) {
  SearchReport report;
  report.objective = o.objective;
  const Scenario& s = studies.front()->scenario();
  report.tokens = s.training ? s.training->tokens : 0;
  report.scenario = s.name, report.model = s.model.name;
  report.cluster = machines_in_words(studies);
  report.run = run_facts(s, command.line);
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
  if (o.max_gpus > 0 && least > o.max_gpus) {
    report.nothing = fmt::format("NO MACHINE OF AT MOST {} GPUS: the smallest has {}",
                                 human_count(o.max_gpus), human_count(least));
  }
  return report;
}

/// Those of -L, and the fields that the scenario lists values of and -L says nothing about.
std::vector<Variation> variations_of(const SearchCommand& o, const std::string& text,
                                     const std::string& file) {
  std::vector<Variation> out;
  for (const std::string& v : o.variations) {
    out.push_back(parse_variation(v));
    for (const std::string& value : out.back().values) refuse_open_value(out.back().path, value);
  }
  for (VariedField& field : varied_fields(text, file, o.scenario.overrides())) {
    const bool asked = std::ranges::any_of(
        out, [&](const Variation& v) { return canonical_path(v.path) == field.path; });
    if (!asked) out.push_back({std::move(field.path), std::move(field.values)});
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
    if (std::ranges::none_of(variations, varies)) out.emplace_back(held.path, held.value);
  }
  return out;
}

}  // namespace

Machines machines_of(const SearchCommand& o, const Command& command) {
  const std::string file = input_name(o.scenario.file);
  const std::string text = read_text_file(o.scenario.file);
  const std::vector<Variation> variations = variations_of(o, text, file);
  Machines out;
  std::vector<const Scenario*> scenarios;
  for (const Assignments& machine : combinations(variations)) {
    out.studies.push_back(std::make_unique<Study>(o, command, text, file, outer_first(machine)));
    scenarios.push_back(&out.studies.back()->scenario());
  }
  require_figures(o, scenarios);
  out.about = report_of(o, command, out.studies);
  out.about.held = held_fields(*out.studies.front(), variations);
  out.warnings = out.studies.front()->warnings();
  std::ranges::copy(idle_prices(o.prices, scenarios), std::back_inserter(out.warnings));
  const auto is_too_large = [&o](const Study& study) {
    return o.max_gpus > 0 && study.scenario().cluster.world_size() > o.max_gpus;
  };
  const Study* written = study_of_written(out.studies, text, file, o.scenario.overrides());
  if (written != nullptr && !is_too_large(*written)) out.as_written = written;
  std::erase_if(out.studies, [&](const auto& study) { return is_too_large(*study); });
  return out;
}

}  // namespace plait
