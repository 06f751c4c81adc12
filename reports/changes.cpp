#include "reports/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/human.h"

namespace plait {
namespace {

nlohmann::ordered_json sets_json(const Assignments& sets) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const Override& set : sets) out[set.path] = set.value;
  return out;
}

nlohmann::ordered_json improvements_json(const Improvements& found, double step_time_s) {
  nlohmann::ordered_json best = nlohmann::ordered_json::array();
  for (const Improvement& i : found.best) {
    best.push_back({{"set", sets_json(i.sets)},
                    {"step_time_s", i.report.step_time_s},
                    {"step_time_change", i.report.step_time_s / step_time_s - 1},
                    {"peak_memory_bytes", i.report.memory.peak_memory_bytes},
                    {"bound_by", i.report.bound_by}});
  }
  return {{"tried", found.tried},
          {"planned", found.planned},
          {"fit", found.fit},
          {"step_time_s", step_time_s},
          {"best", std::move(best)}};
}

constexpr int kTimeWidth = 10, kChangeWidth = 9, kMemoryWidth = 11;

std::vector<Line> improvement_lines(const Improvements& found, double step_time_s) {
  std::vector<Line> out = {{},
                           {{"changes of the layout that help most, each by itself", Ink::kBold}}};
  int width = 0;  // columns of the longest
  for (const Improvement& i : found.best)
    width = std::max(width, display_width(set_options(i.sets)));
  for (const Improvement& i : found.best) {
    const double change = i.report.step_time_s / step_time_s - 1;
    out.push_back({{"  " + pad_right(set_options(i.sets), width)},
                   {pad_left(human_time(i.report.step_time_s), kTimeWidth)},
                   {pad_left(human_change(change), kChangeWidth), Ink::kGood},
                   {pad_left(human_bytes(i.report.memory.peak_memory_bytes), kMemoryWidth)}});
  }
  if (found.best.empty()) out.push_back({{"  none makes the step shorter"}});
  out.push_back({{fmt::format("  of {} tried {} can be planned and {} fit; plait search combines "
                              "sizes, schedules and recomputation",
                              found.tried, found.planned, found.fit),
                  Ink::kDim}});
  return out;
}

constexpr const char* kWholeGradients =
    "strategy.fsdp_options.no_sync keeps gradients whole until the last microbatch: never shards "
    "their sums";

bool sums_shards(const Cure& c) {
  return std::ranges::count(c.sets, "strategy.fsdp_options.no_sync", &Override::path) > 0;
}

}  // namespace

nlohmann::ordered_json cures_json(const std::vector<Cure>& cures) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Cure& c : cures) {
    out.push_back({{"set", sets_json(c.sets)},
                   {"step_time_s", c.step_time_s},
                   {"peak_memory_bytes", c.peak_memory_bytes}});
  }
  return out;
}

std::vector<Line> cure_lines(const std::vector<Cure>& cures) {
  std::vector<Line> out = {{}, {{"smallest changes that fit, the fastest first", Ink::kBold}}};
  for (const Cure& c : cures) {
    out.push_back({{pad_left(human_time(c.step_time_s), kTimeWidth)},
                   {pad_left(human_bytes(c.peak_memory_bytes), kMemoryWidth)},
                   {"  " + set_options(c.sets)}});
  }
  if (std::ranges::any_of(cures, sums_shards)) {
    out.push_back({{std::string("  ") + kWholeGradients, Ink::kDim}});
  }
  if (cures.empty()) {
    out.push_back(
        {{"  none found, alone or in pairs: plait search tries all layouts; else use more "
          "or larger devices"}});
  }
  return out;
}

const char* key_of(const Changes& changes) {
  return changes.fits ? "changes_that_help" : "changes_that_fit";
}

nlohmann::ordered_json changes_json(const Changes& changes) {
  return changes.fits ? improvements_json(changes.improvements, changes.step_time_s)
                      : cures_json(changes.cures);
}

std::vector<Line> change_lines(const Changes& changes) {
  return changes.fits ? improvement_lines(changes.improvements, changes.step_time_s)
                      : cure_lines(changes.cures);
}

}  // namespace plait
