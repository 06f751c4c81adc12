#include "prediction/cures.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "prediction/trials.h"

namespace plait {
namespace {

/// Of changes that fit so many are simulated, and of those that do not, so many are tried in pairs.
constexpr std::size_t kSimulated = 16, kPaired = 12;

using Fields = std::set<std::string>;

Fields fields_of(const Neighbour& n) {
  Fields out;
  for (const Override& set : n.sets) out.insert(set.path);
  return out;
}

/// A neighbour, and what it needs.
struct Planned {
  Neighbour neighbour;
  Trials::Peak peak;
};

std::vector<Planned> planned(std::vector<Neighbour> neighbours, Trials& trials) {
  const std::vector<Trials::Peak> peaks = trials.peaks(neighbours);
  std::vector<Planned> out;
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    if (peaks[i].bytes > 0) out.push_back({std::move(neighbours[i]), peaks[i]});
  }
  return out;
}

/// Of each choice of fields the change that saves the most, where it saves anything.
std::vector<Planned> most_saving(const std::vector<Planned>& all, std::int64_t now) {
  std::map<Fields, Planned> least;
  for (const Planned& p : all) {
    if (p.peak.bytes >= now) continue;
    const auto [at, is_new] = least.try_emplace(fields_of(p.neighbour), p);
    if (!is_new && p.peak.bytes < at->second.peak.bytes) at->second = p;
  }
  std::vector<Planned> out;
  for (auto& [fields, p] : least) out.push_back(std::move(p));
  std::ranges::stable_sort(out, {}, [](const Planned& p) { return p.peak.bytes; });
  out.resize(std::min(out.size(), kPaired));
  return out;
}

/// Each two of them once, unless both say one field.
std::vector<Neighbour> pairs_of(const std::vector<Planned>& all) {
  std::vector<Neighbour> out;
  for (auto a = all.begin(); a != all.end(); ++a) {
    const Fields fields = fields_of(a->neighbour);
    for (auto b = std::next(a); b != all.end(); ++b) {
      Neighbour both = a->neighbour;
      for (const Override& set : b->neighbour.sets) {
        if (!fields.contains(set.path)) both.sets.push_back(set);
      }
      const bool apart = both.sets.size() == a->neighbour.sets.size() + b->neighbour.sets.size();
      if (apart) out.push_back(std::move(both));
    }
  }
  return out;
}

/// Those that fit, by what they need, most first: not more than are simulated.
std::vector<Planned> fitting(std::vector<Planned> all) {
  std::erase_if(all, [](const Planned& p) { return !p.peak.fits; });
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const Planned& p) { return p.peak.bytes; });
  all.resize(std::min(all.size(), kSimulated));
  return all;
}

/// The fastest of each choice of fields; of choices that come to the same the one that says least.
void keep_fastest(std::vector<Tried>& tried, std::size_t most) {
  std::erase_if(tried, [](const Tried& t) { return !t.fits(); });
  const auto result = [](const Tried& t) {
    return std::pair(t.step_time_s(), t.outcome.report->memory.peak_memory_bytes);
  };
  std::ranges::stable_sort(
      tried, {}, [&](const Tried& t) { return std::pair(result(t), t.neighbour->sets.size()); });
  std::set<Fields> fields;
  std::set<std::pair<double, std::int64_t>> results;
  std::erase_if(tried, [&](const Tried& t) {
    return results.size() == most || fields.contains(fields_of(*t.neighbour)) ||
           !results.insert(result(t)).second || !fields.insert(fields_of(*t.neighbour)).second;
  });
}

}  // namespace

std::vector<Cure> cures(const ScenarioText& text, const std::vector<Override>& sets,
                        const Scenario& scenario, std::int64_t peak_memory_bytes,
                        Evaluator& evaluator, int jobs, const Watch& watch, std::size_t most) {
  Trials trials(text, sets, evaluator, jobs, watch);
  const std::vector<Planned> single = planned(neighbours(scenario), trials);
  std::vector<Planned> fit = fitting(single);
  if (fit.empty()) {
    fit = fitting(planned(pairs_of(most_saving(single, peak_memory_bytes)), trials));
  }
  std::vector<const Neighbour*> asked;
  for (const Planned& p : fit) asked.push_back(&p.neighbour);
  const bool sketched = may_sketch(scenario);
  std::vector<Tried> tried = trials.run(asked, sketched);
  keep_fastest(tried, most);
  if (sketched && !tried.empty()) {
    asked.clear();
    for (const Tried& t : tried) asked.push_back(t.neighbour);
    tried = trials.run(asked, false);
    keep_fastest(tried, most);
  }
  std::vector<Cure> out;
  for (const Tried& t : tried) {
    out.push_back({made_by(t), t.step_time_s(), t.outcome.report->memory.peak_memory_bytes});
  }
  return out;
}

}  // namespace plait
