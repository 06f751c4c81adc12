#include "cli/search_settings.h"

#include <algorithm>

#include "scenarios/overrides.h"

namespace plait {
namespace {

bool contains(const std::vector<std::string>& paths, const std::string& path) {
  return std::ranges::find(paths, path) != paths.end();
}

/// What a scenario that does not name the field has by itself depends on sizes of the layout.
bool depends_on_sizes(const std::string& path, const Scenario& s) {
  return !s.framework.empty() || path == "strategy.zero_stage" ||
         path == "strategy.keep_weight_shard";
}

/// The scenario has the value without being told.
bool follows(const Assignments::value_type& setting, const std::string& by_default,
             const std::string& said, const OpenScenario& open) {
  const auto& [path, value] = setting;
  const SearchField* field = open.find(path);
  if (field != nullptr) return !field->open() && field->values.front() == value;
  if (path == "strategy.dp") return true;  // what is left of the devices
  return value == said && (value == by_default || !depends_on_sizes(path, open.scenario));
}

Assignments resets(const Strategy& was, const Strategy& is) {
  Assignments out;
  const auto add = [&out](bool changed, const char* path, const char* value) {
    if (changed) out.emplace_back(path, value);
  };
  const PipelineOptions &a = was.pipeline, &b = is.pipeline;
  const bool groups = b.schedule == Schedule::kInterleaved;
  add(a.stage_layers != b.stage_layers, "strategy.pipeline.stage_layers", "[]");
  add(a.ends_are_layers != b.ends_are_layers, "strategy.pipeline.ends_are_layers", "false");
  add(groups && a.microbatch_group != b.microbatch_group, "strategy.pipeline.microbatch_group",
      "0");
  add(a.stage_tp != b.stage_tp, "strategy.stage_tp", "[]");
  add(was.recompute.modules != is.recompute.modules, "strategy.recompute.modules", "[]");
  add(was.recompute.keep != is.recompute.keep, "strategy.recompute.keep", "[]");
  add(was.recompute.every != is.recompute.every, "strategy.recompute.every", "1");
  return out;
}

}  // namespace

std::vector<std::string> held_by(const Assignments& assignments, const OpenScenario& open) {
  std::vector<std::string> out;
  for (const SearchField& field : open.fields) {
    const auto says = [&field](const Assignments::value_type& set) {
      const std::string path = canonical_path(set.first);
      return field.path == path || field.path.starts_with(path + ".");
    };
    if (!field.open() && std::ranges::any_of(assignments, says)) out.push_back(field.path);
  }
  return out;
}

Assignments settings_for(const Layout& layout, const Strategy& made, const OpenScenario& open,
                         const std::vector<std::string>& held) {
  const Assignments all = settings_of(layout), defaults = settings_of(Layout{});
  const Assignments said = settings_of(layout_of(open.scenario.strategy, open.scenario.workload));
  Assignments out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool told =
        contains(held, all[i].first) || !follows(all[i], defaults[i].second, said[i].second, open);
    if (told) out.push_back(all[i]);
  }
  for (auto& reset : resets(open.scenario.strategy, made)) out.push_back(std::move(reset));
  return out;
}

}  // namespace plait
