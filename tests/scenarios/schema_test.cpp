#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/json.h"
#include "core/new_file.h"
#include "scenarios/scenario.h"

namespace plait::schema_test {

const std::string kSourceDir = PLAIT_SOURCE_DIR;

TEST(Schema, NamesEveryTopLevelKey) {
  const auto schema = nlohmann::json::parse(scenario_schema());
  EXPECT_EQ(schema["required"],
            nlohmann::json({"model", "cluster"}));  // and a workload, or serving
  for (const char* key : {"$schema", "comment", "name", "strategy"}) {
    EXPECT_TRUE(schema["properties"].contains(key)) << key;
  }
  const auto& tp = schema["properties"]["strategy"]["properties"]["tp"]["anyOf"];
  EXPECT_EQ(tp[0]["minimum"], 1);
  EXPECT_EQ(tp[1]["enum"], nlohmann::json({"auto"}));
}

// Else an object's would write fields that have none: "max_model_len": 0.
TEST(Schema, DefaultsAreOfFieldsThatHaveOne) {
  const auto schema = nlohmann::json::parse(scenario_schema());
  const auto& serving = schema["properties"]["serving"]["properties"];
  EXPECT_FALSE(serving["engine"].contains("default"));
  EXPECT_FALSE(serving["engine"]["properties"]["max_model_len"].contains("default"));
  EXPECT_EQ(serving["engine"]["properties"]["block_size"]["default"], 16);
}

/// python3 checks all scenarios against the schema, and that a wrong one does not pass.
TEST(Schema, ValidatesEveryScenarioFile) {
  if (std::system("python3 -c 'import jsonschema' 2>/dev/null") != 0) {
    GTEST_SKIP() << "python3-jsonschema is not installed";
  }
  std::string folder = testing::TempDir() + "plaitXXXXXX";  // others may run this test too
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  write_file(folder + "/plait-schema.json", scenario_schema());
  write_file(folder + "/plait-validate.py", R"(
import glob, json, sys
from jsonschema import Draft7Validator
schema = json.load(open(sys.argv[1]))
Draft7Validator.check_schema(schema)
validator = Draft7Validator(schema)
files = sorted(glob.glob(sys.argv[2] + "/scenarios/**/*.json", recursive=True))
assert len(files) >= 14
failed = False
for file in files:
    for error in validator.iter_errors(json.load(open(file))):
        print(file, list(error.path), error.message)
        failed = True
good = json.load(open(files[0]))
for wrong in [{"tpp": 2}, {"tp": 0}, {"tp": "2"}, {"recompute": "ful"}, {"data": {"bucket": "25"}}]:
    if validator.is_valid({**good, "strategy": wrong}):
        print("accepted", wrong)
        failed = True
sys.exit(failed)
)");
  const std::string command = "python3 -W ignore " + folder + "/plait-validate.py " + folder +
                              "/plait-schema.json " + kSourceDir;
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove_all(folder);
}

TEST(Reference, PageIsUpToDate) {
  const std::string page = kSourceDir + "/docs/scenario.md";
  if (std::getenv("PLAIT_UPDATE") != nullptr) write_file(page, scenario_reference());
  EXPECT_EQ(read_text_file(page), scenario_reference())
      << "run PLAIT_UPDATE=1 scenarios_test to write it anew";
}

}  // namespace plait::schema_test
