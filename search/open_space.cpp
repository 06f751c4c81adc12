#include "search/open_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/spelling.h"
#include "plan/refusal.h"
#include "plan/require_hybrid.h"
#include "scenarios/fields.h"
#include "search/layer_kinds.h"
#include "search/offers.h"

namespace plait {
namespace {

[[noreturn]] void refuse(const SearchField& field, const std::string& value,
                         const std::string& expected) {
  throw InputError({.code = "S049",
                    .problem = fmt::format("{} cannot be \"{}\"", field.path, value),
                    .where = field.where,
                    .expected = expected,
                    .cure = ""});
}

/// The parts of a scenario that have fields which are searched.
struct LayoutParts {
  StrategyPart strategy;
  Workload workload;
};

/// With one value of the field, read as in a scenario file that says it.
LayoutParts parts_with(const SearchField& field, const std::string& value) {
  JsonDocument document = parse_json("{}", field.path);
  document.set(split_path(field.path), value, field.path);
  LayoutParts out;
  try {
    if (const Json* strategy = document.root().find("strategy")) {
      strategy_table().read(*strategy, out.strategy, Base::kGiven);
    }
    if (const Json* workload = document.root().find("workload")) {
      workload_table().read(*workload, out.workload, Base::kGiven);
    }
  } catch (const InputError& error) {
    refuse(field, value, error.text().expected);
  }
  return out;
}

/// How the values of one field become those of a knob.
struct Knob {
  std::string path;
  std::function<void(const LayoutParts&, Space&)> add;
  std::function<void(Space&)> open;  // to all values
};

template <class T, class Value>
Knob knob(std::string path, std::vector<T> Space::*values, Value value) {
  const auto add = [values, value](const LayoutParts& parts, Space& space) {
    (space.*values).push_back(value(parts));
  };
  return {std::move(path), add, [values](Space& space) { (space.*values).clear(); }};
}

void read_values(const Knob& k, const SearchField& field, Space& space) {
  k.open(space);
  for (const std::string& value : field.values) k.add(parts_with(field, value), space);
}

template <class V>
auto of_strategy(V StrategyPart::*member) {
  return [member](const LayoutParts& p) { return p.strategy.*member; };
}
template <class Section, class V>
auto of_section(Section StrategyPart::*section, V Section::*member) {
  return [section, member](const LayoutParts& p) { return p.strategy.*section.*member; };
}

const std::vector<Knob>& knobs() {
  using S = StrategyPart;
  static const std::vector<Knob> all = {
      knob("strategy.pp", &Space::pp, of_strategy(&S::pp)),
      knob("strategy.dp", &Space::dp, of_strategy(&S::dp)),
      knob("strategy.fsdp", &Space::fsdp, of_strategy(&S::fsdp)),
      knob("strategy.cp", &Space::cp, of_strategy(&S::cp)),
      knob("strategy.ep", &Space::ep, of_strategy(&S::ep)),
      knob("strategy.tp", &Space::tp, of_strategy(&S::tp)),
      knob("strategy.sequence_parallel", &Space::sequence_parallel,
           of_strategy(&S::sequence_parallel)),
      knob("strategy.zero_stage", &Space::zero_stage, of_strategy(&S::zero_stage)),
      knob("strategy.pipeline.schedule", &Space::schedule,
           of_section(&S::pipeline, &PipelineOptions::schedule)),
      knob("strategy.pipeline.chunks", &Space::chunks,
           of_section(&S::pipeline, &PipelineOptions::chunks)),
      knob("strategy.recompute.kind", &Space::recompute,
           of_section(&S::recompute, &RecomputeOptions::kind)),
      knob("strategy.recompute.layers", &Space::recompute_layers,
           of_section(&S::recompute, &RecomputeOptions::layers)),
      knob("strategy.fsdp_options.reshard_after_forward", &Space::reshard,
           of_section(&S::fsdp_options, &FsdpOptions::reshard_after_forward)),
      knob("strategy.fsdp_options.prefetch", &Space::prefetch,
           of_section(&S::fsdp_options, &FsdpOptions::prefetch)),
      knob("strategy.keep_weight_shard", &Space::keep_weight_shard,
           of_strategy(&S::keep_weight_shard)),
      knob("workload.micro_batch", &Space::micro_batch,
           [](const LayoutParts& p) { return p.workload.micro_batch; }),
  };
  return all;
}

/// Modules are computed again where the scenario names some.
void require_modules(const OpenScenario& open, const Space& space) {
  const SearchField* field = open.find("strategy.recompute.kind");
  const bool asked =
      std::ranges::find(space.recompute, Recompute::kModules) != space.recompute.end();
  if (field == nullptr || !asked || !open.scenario.strategy.recompute.modules.empty()) return;
  refuse(*field, "modules", "a kind that names no modules, or strategy.recompute.modules");
}

/// What the bounds are made of: a small model with all kinds of layers, and modules behind one like
/// the last.
void require_small_model(const Scenario& s) {
  require_hybrid(s.model);
  if (can_predict(s.model)) return;
  throw locate(refusal("S159",
                       "modules that predict further tokens are like the last layer, which has an "
                       "MLP where others have experts behind their mixers",
                       "model.mtp_layers", "0, or a last layer with experts",
                       "compare layouts with plait run --set and plait compare"),
               s);
}

/// Of each layout the order says where its ranks run: it names all axes that may have several.
void require_named_axes(const OpenScenario& open, const Space& space) {
  const std::vector<Axis>& order = open.scenario.placement_rule.order;
  if (order.empty()) return;
  const std::pair<Axis, const std::vector<std::int64_t>*> sizes[] = {
      {Axis::kTp, &space.tp},     {Axis::kEp, &space.ep}, {Axis::kCp, &space.cp},
      {Axis::kFsdp, &space.fsdp}, {Axis::kDp, &space.dp}, {Axis::kPp, &space.pp}};
  std::vector<std::string_view> missing;
  for (const auto& [axis, values] : sizes) {
    const bool named = std::ranges::find(order, axis) != order.end();
    const bool alone = *values == std::vector<std::int64_t>{1};
    const bool experts = axis != Axis::kEp || open.scenario.model.experts > 0;
    if (!named && !alone && experts) missing.push_back(name_of(axis));
  }
  if (missing.empty()) return;
  const std::string names = fmt::format("{}", fmt::join(missing, ", "));
  throw locate(refusal("S050",
                       fmt::format("layouts with several ranks along {} are searched, and "
                                   "placement.order does not say where these run",
                                   names),
                       "placement.order", "each axis that is searched, once",
                       fmt::format("add {}, or keep the size of the axis at 1", names)),
               open.scenario);
}

/// Fields that are searched only where the scenario opens them, and what "auto" stands for there.
const std::vector<std::pair<std::string_view, std::vector<std::string>>>& seldom() {
  static const std::vector<std::pair<std::string_view, std::vector<std::string>>> all = {
      {"strategy.fsdp_options.prefetch", {"0", "1", "2", "4"}},
      {"strategy.keep_weight_shard", {"false", "true"}},
  };
  return all;
}

/// "tp" is strategy.tp, and strategy.tp=8 says its value too.
std::string cure_of(const std::string& kept, const std::vector<std::string>& searched) {
  const std::string name = kept.substr(0, kept.find('='));
  if (name != kept && std::ranges::count(searched, name) > 0) {
    return fmt::format("--set {} --keep {} holds it there", kept, name);
  }
  const auto ends =
      std::ranges::find_if(searched, [&](const std::string& s) { return s.ends_with("." + name); });
  return ends != searched.end() ? fmt::format("did you mean \"{}\"?", *ends)
                                : did_you_mean(name, searched);
}

void check_names(const std::vector<std::string>& keep) {
  for (const std::string& name : keep) {
    if (std::ranges::find(knobs(), name, &Knob::path) != knobs().end()) continue;
    std::vector<std::string> searched = search_paths();
    for (const auto& [path, values] : seldom()) std::erase(searched, path);  // held by themselves
    throw InputError({.code = "G017",
                      .problem = fmt::format("--keep {}: no field that is searched", name),
                      .where = {},
                      .expected = fmt::format("one of {}", fmt::join(searched, ", ")),
                      .cure = cure_of(name, searched)});
  }
}

/// The interleaved schedule begins at two chunks: where it is among several that are asked for and
/// no chunks are, these are open too.
bool needs_chunks(const OpenScenario& open) {
  const SearchField* schedule = open.find("strategy.pipeline.schedule");
  if (schedule == nullptr || open.scenario.strategy.pipeline.chunks > 1) return false;
  const std::string_view interleaved = kind_of(Schedule::kInterleaved).name;
  return schedule->all || std::ranges::count(schedule->values, interleaved) > 0;
}

/// Whether all values of the field are searched.
bool is_whole(const std::string& path, const OpenScenario& open,
              const std::vector<std::string>& keep) {
  if (!open.leaves_open()) return std::ranges::find(keep, path) == keep.end();
  const SearchField* field = open.find(path);
  if (field == nullptr && path == "strategy.pipeline.chunks") return needs_chunks(open);
  return field != nullptr && field->all;
}

const Knob& knob_of(const std::string& path) {
  const auto found = std::ranges::find(knobs(), path, &Knob::path);
  PLAIT_CHECK(found != knobs().end(), "a field that is searched");
  return *found;
}

void limit_to(const std::vector<FrameworkOffer>& offers, const Scenario& s, Space& space) {
  for (const FrameworkOffer& offer : offers) {
    read_values(knob_of(offer.path), {offer.path, {}, false, true, offer.values}, space);
    space.framework_schedules |= offer.path == "strategy.pipeline.schedule";
    if (offer.path != "strategy.recompute.kind") continue;
    std::erase_if(space.recompute,
                  [&s](Recompute r) { return !recomputes(r, s.model, s.workload, s.strategy); });
  }
}

/// Ranks that share no layer have no sequence to share.
bool is_idle(const std::string& path, const Scenario& s) {
  return path == "strategy.sequence_parallel" && s.strategy.mesh.size_of(kTensorAxes) == 1;
}

/// Of the framework, of fields that are searched, with what the scenario says itself.
std::vector<FrameworkOffer> all_offers(const OpenScenario& open) {
  std::vector<FrameworkOffer> out = offers_of(open.scenario);
  std::erase_if(out, [](const FrameworkOffer& offer) {
    return std::ranges::find(knobs(), offer.path, &Knob::path) == knobs().end();
  });
  const auto said = said_in(open);
  for (FrameworkOffer& offer : out) {
    if (is_idle(offer.path, open.scenario)) continue;
    const auto own = std::ranges::find(said, offer.path, &Override::path);
    PLAIT_CHECK(own != said.end(), "a layout says each field that is searched");
    if (std::ranges::count(offer.values, own->value) == 0) offer.values.push_back(own->value);
  }
  return out;
}

}  // namespace

std::vector<Override> said_in(const OpenScenario& open) {
  auto out = settings_of(layout_of(open.scenario.strategy, open.scenario.workload));
  for (Override& set : out) {
    const SearchField* field = open.find(set.path);  // sizes of axes are there alone
    if (field != nullptr && field->values.size() == 1) set.value = field->values.front();
  }
  return out;
}

Space offered_in(const OpenScenario& open) {
  Space out;
  limit_to(all_offers(open), open.scenario, out);
  return out;
}

std::vector<FrameworkOffer> offers_in(const OpenScenario& open,
                                      const std::vector<std::string>& keep) {
  std::vector<FrameworkOffer> out = all_offers(open);
  std::erase_if(out, [&](const FrameworkOffer& o) { return !is_whole(o.path, open, keep); });
  return out;
}

Space space_of(const OpenScenario& open, const std::vector<std::string>& keep) {
  check_names(keep);
  require_small_model(open.scenario);
  Space space = only(layout_of(open.scenario.strategy, open.scenario.workload));
  space.dp.clear();
  const bool everything = !open.leaves_open();
  for (const Knob& k : knobs()) {
    const SearchField* field = open.find(k.path);
    if (is_whole(k.path, open, keep)) {
      k.open(space);
    } else if (field != nullptr) {
      read_values(k, *field, space);
    }
  }
  limit_to(offers_in(open, keep), open.scenario, space);
  for (const auto& [path, values] : seldom()) {
    const SearchField* field = open.find(std::string(path));
    if (field != nullptr && field->all)
      read_values(knob_of(field->path), {field->path, {}, false, true, values}, space);
  }
  require_modules(open, space);
  require_named_axes(open, space);
  space.zero_follows_fsdp = !everything && open.find("strategy.zero_stage") == nullptr;
  if (space.zero_follows_fsdp) space.zero_stage.clear();
  return space;
}

}  // namespace plait
