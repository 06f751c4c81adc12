#pragma once
// What exports are compared with: the names that a program has, and golden files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/file.h"
#include "core/json.h"
#include "scenarios/dialects/dialects.h"

namespace plait::export_test {

inline const std::string kRoot = PLAIT_SOURCE_DIR;

inline Scenario scenario_at(const std::string& path, const std::vector<Override>& changes = {}) {
  return load_scenario(kRoot + "/scenarios/" + path + ".json", changes);
}

inline std::vector<std::string> known_options(const DialectRow& row) {
  const std::string file =
      kRoot + "/tests/scenarios/dialects/options/" + std::string(row.name) + ".json";
  const nlohmann::json list = nlohmann::json::parse(read_text_file(file));
  EXPECT_FALSE(list.at("sources").empty()) << file;
  return list.at("options").get<std::vector<std::string>>();
}

/// Each name of the export is one of `known`.
inline void expect_known(const Scenario& s, const DialectRow& row,
                         const std::vector<std::string>& known) {
  for (const Setting& setting : settings_of(s, row.dialect, Launcher::kNone).settings) {
    if (setting.key.empty()) continue;  // a model's name
    const std::string name =
        setting.section.empty() ? setting.key : setting.section + "." + setting.key;
    EXPECT_EQ(std::ranges::count(known, name), 1) << row.name << ": " << name;
  }
}

inline void compare_with_golden(const std::string& name, const std::string& now) {
  const std::string path = kRoot + "/tests/golden/export/" + name;
  if (std::getenv("PLAIT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << now;
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; PLAIT_UPDATE_GOLDEN=1 writes it";
  std::ostringstream recorded;
  recorded << file.rdbuf();
  EXPECT_EQ(now, recorded.str()) << name;
}

}  // namespace plait::export_test
