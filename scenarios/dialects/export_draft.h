#pragma once
// An export in the making: the settings so far, and which fields of the scenario they say.

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/hosts.h"

namespace plait {

class ExportDraft {
 public:
  ExportDraft(const Scenario& scenario, Launcher launcher);

  const Scenario& scenario;
  const Launcher launcher;

  void section(std::string name) { section_ = std::move(name); }
  void set(std::string key, std::string value = "");
  void set(std::string key, std::int64_t value) { set(std::move(key), std::to_string(value)); }
  /// These fields of the resolved scenario follow from the settings.
  void say(std::initializer_list<std::string_view> paths) {
    said_.insert(paths.begin(), paths.end());
  }
  /// The program does otherwise: to be listed even where it is as by default.
  void contradict(std::string path) { contradicted_.insert(std::move(path)); }
  /// The program wants this too, which no scenario says.
  void ask(std::string argument) { asked_.push_back(std::move(argument)); }
  /// Which launchers start on.
  Hosts hosts() const;
  /// A setting that is a field's own value.
  void copy(std::string key, std::string_view path);

  Settings finish(Dialect dialect) &&;

 private:
  nlohmann::json resolved_;
  std::string section_;
  std::vector<Setting> settings_;
  std::set<std::string, std::less<>> said_, contradicted_;
  std::vector<std::string> asked_;
};

/// The value at a dotted path of `json`, or null.
const nlohmann::json* value_at(const nlohmann::json& json, std::string_view path);

/// Ranks that hold the same shard, and ranks that a state is cut into: {dp, fsdp}, where a stage of
/// at least 2 shards over fsdp and a lower one over dp, whichever axis the scenario used alone.
struct Replicas {
  std::int64_t dp = 1, fsdp = 1;
};
Replicas replicas_of(const Strategy& strategy);

}  // namespace plait
