#include "search/settings.h"

#include <algorithm>

#include "core/error.h"
#include "scenarios/overrides.h"

namespace plait {
namespace {

bool contains(const std::vector<std::string>& paths, const std::string& path) {
  return std::ranges::find(paths, path) != paths.end();
}

/// What a scenario that does not name the field has by itself depends on sizes of the layout.
bool depends_on_sizes(const std::string& path, const Scenario& s) {
  return !s.framework.empty() || path == "strategy.zero_stage";
}

/// The scenario has the value without being told.
bool follows(const Override& setting, const std::string& by_default, const std::string& said,
             const OpenScenario& open) {
  const std::string &path = setting.path, &value = setting.value;
  const SearchField* field = open.find(path);
  if (field != nullptr) return !field->open() && field->values.front() == value;
  if (path == "strategy.dp") return true;  // what is left of the devices
  return value == said && (value == by_default || !depends_on_sizes(path, open.scenario));
}

/// How gathered weights are kept and fetched: of no effect where no weights are sharded (W001).
bool of_gathering(const std::string& path) {
  return path.starts_with("strategy.fsdp_options.") || path == "strategy.keep_weight_shard";
}

/// The layout can do without being told, whatever the scenario says.
bool idle(const std::string& path, const Strategy& made, const OpenScenario& open) {
  const SearchField* field = open.find(path);
  return made.zero_stage < 3 && of_gathering(path) && (field == nullptr || !field->open());
}

std::vector<Override> resets(const Strategy& was, const Strategy& is) {
  std::vector<Override> out;
  const auto add = [&out](bool changed, const char* path, const char* value) {
    if (changed) out.push_back({path, value});
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

std::vector<std::string> held_by(const std::vector<Override>& assignments,
                                 const OpenScenario& open) {
  std::vector<std::string> out;
  for (const SearchField& field : open.fields) {
    const auto says = [&field](const Override& set) {
      const std::string path = canonical_path(set.path);
      return field.path == path || field.path.starts_with(path + ".");
    };
    if (!field.open() && std::ranges::any_of(assignments, says)) out.push_back(field.path);
  }
  return out;
}

std::vector<Override> settings_for(const Layout& layout, const Strategy& made,
                                   const OpenScenario& open, const std::vector<std::string>& held) {
  const std::vector<Override> all = settings_of(layout), defaults = settings_of(Layout{});
  const std::vector<Override> said =
      settings_of(layout_of(open.scenario.strategy, open.scenario.workload));
  std::vector<Override> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool told =
        contains(held, all[i].path) || !follows(all[i], defaults[i].value, said[i].value, open);
    if (told && !idle(all[i].path, made, open)) out.push_back(all[i]);
  }
  for (auto& reset : resets(open.scenario.strategy, made)) out.push_back(std::move(reset));
  return out;
}

std::vector<Override> that_matter(std::vector<Override> settings,
                                  const std::vector<std::string>& held,
                                  const ScenarioParser& parse) {
  const std::string made = parse(settings).canonical_json;
  for (std::size_t i = settings.size(); i-- > 0;) {
    if (contains(held, settings[i].path)) continue;
    std::vector<Override> fewer = settings;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    try {
      if (parse(fewer).canonical_json == made) settings = std::move(fewer);
    } catch (const InputError&) {
      // Without it there is no such layout.
    }
  }
  return settings;
}

}  // namespace plait
