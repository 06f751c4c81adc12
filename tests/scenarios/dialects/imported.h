#pragma once
// Files of other programs read as tests read them: over a base, and what became of it.
#include <gtest/gtest.h>

#include <string>

#include "scenarios/dialects/dialects.h"

namespace plait::import_test {

inline constexpr const char* kBase = R"({"model": "llama-3.1-8b",
  "workload": {"sequence_length": 4096, "global_batch": 64}, "cluster": "hgx-h100"})";

inline Scenario imported(Dialect dialect, const std::string& text,
                         const std::string& base = kBase) {
  const Imported settings = read_settings(text, "run.sh", dialect);
  return parse_scenario(scenario_json(settings, "run.sh", {base, "base.json"}, ""), "out.json");
}

/// "D004 line 3"
inline std::string refusal(Dialect dialect, const std::string& text,
                           const std::string& base = kBase) {
  try {
    imported(dialect, text, base);
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().where.file, "run.sh");
    EXPECT_TRUE(e.text().code[0] != 'D' || !e.text().cure.empty());
    return e.text().code + " line " + std::to_string(e.text().where.line);
  }
  return "accepted";
}

inline std::string warnings(Dialect dialect, const std::string& text) {
  std::string out;
  for (const Warning& w : read_settings(text, "run.sh", dialect).warnings) out += printed(w) + "\n";
  return out;
}

}  // namespace plait::import_test
