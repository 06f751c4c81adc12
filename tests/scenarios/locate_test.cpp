// Where messages say that an error is: in the file, or at the option that gave the value.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.h"
#include "scenarios/scenario.h"

namespace plait::locate_test {

/// A scenario on a node of eight H100, with `strategy` as given.
std::string scenario(const std::string& strategy) {
  return R"({"name":"s","model":"tiny","workload":{"sequence_length":64,"global_batch":16},)"
         R"("cluster":"hgx-h100","strategy":)" +
         strategy + "}";
}

Scenario parse(const std::string& text, const std::vector<Override>& overrides = {}) {
  return parse_scenario(text, "s.json", overrides);
}

TEST(Locate, AddsThePlaceOfThePath) {
  const Scenario s = parse(
      "{\"model\":\"tiny\",\n \"workload\":{\"sequence_length\":64,"
      "\"global_batch\":8},\n \"strategy\":{\"tp\":8},\n "
      "\"cluster\":\"hgx-h100\"}");
  const Where tp{"", 0, 0, "strategy.tp"};
  const InputError::Text e = locate(InputError({"P001", "p", tp, "", ""}), s).text();
  EXPECT_EQ(e.where.file, "s.json");
  EXPECT_EQ(e.where.line, 3);
  EXPECT_EQ(e.where.column, 19);
  EXPECT_EQ(e.where.path, "strategy.tp");
  // A path that is not in the file: the place of what is around it.
  const Where dp{"", 0, 0, "strategy.dp"};
  const InputError::Text around = locate(InputError({"P001", "p", dp, "", ""}), s).text();
  EXPECT_EQ(around.where.line, 3);
  EXPECT_EQ(around.where.column, 13);
  EXPECT_EQ(around.where.path, "strategy.dp");
}

TEST(Locate, OverriddenPathNamesTheOverride) {
  const Where tp{"", 0, 0, "strategy.tp"};
  for (const std::string option : {"--set", "-L"}) {
    const Scenario s = parse(scenario("{}"), {{"strategy.tp", "4", option}});
    EXPECT_EQ(locate(InputError({"P001", "p", tp, "", ""}), s).text().where.file,
              option + " strategy.tp=4");
  }
}

/// Of an error about `path`, strategy.recompute.kind and strategy.fsdp.
Where place_of_error(const Scenario& s, const std::string& path = "workload.global_batch") {
  const Where main{"", 0, 0, path};
  InputError::Text text{"P001", "p", main, "", ""};
  text.others = {"strategy.recompute.kind", "strategy.fsdp"};
  return locate(InputError(std::move(text)), s).text().where;
}

TEST(Locate, AnOverrideOfAnotherFieldOfTheErrorIsItsPlace) {
  const std::string text = scenario(R"({"recompute": "none", "fsdp": 8})");
  const auto at = [&text](const std::vector<Override>& overrides) {
    const Where where = place_of_error(parse(text, overrides));
    return where.path + " " + where.file;
  };
  EXPECT_EQ(at({{"strategy.fsdp", "4"}}), "workload.global_batch --set strategy.fsdp=4");
  EXPECT_EQ(at({{"strategy.fsdp", "4", "-L"}, {"name", "other"}}),
            "workload.global_batch -L strategy.fsdp=4");
  // A text that stands for a section.
  EXPECT_EQ(at({{"strategy.recompute", "full"}}),
            "workload.global_batch --set strategy.recompute=full");
  // The field that the error names goes first.
  EXPECT_EQ(at({{"strategy.fsdp", "4"}, {"workload.global_batch", "16"}}),
            "workload.global_batch --set workload.global_batch=16");
}

TEST(Locate, OfASectionTheFieldThatWasOverriddenIsThePath) {
  const Scenario s = parse(scenario(R"({"tp": 2})"), {{"strategy.fsdp", "4", "-L"}});
  const Where where = place_of_error(s, "strategy");
  EXPECT_EQ(where.path + " " + where.file, "strategy.fsdp -L strategy.fsdp=4");
}

TEST(Locate, OverridesOfFieldsThatTheErrorIsNotAboutAreNotItsPlace) {
  const std::string text = scenario(R"({"recompute": "none", "fsdp": 8})");
  const Where written = place_of_error(parse(text));
  EXPECT_EQ(written.file, "s.json");
  EXPECT_GT(written.line, 0);
  for (const Override& apart : {Override{"name", "other"}, Override{"strategy.zero_stage", "2"},
                                Override{"strategy.recompute.layers", "-1"}}) {
    const Where where = place_of_error(parse(text, {apart}));
    EXPECT_EQ(where.path, "workload.global_batch");
    EXPECT_EQ(where.file, "s.json");
    EXPECT_EQ(where.line, written.line);
  }
}

/// What a framework does stands in no file, and is said by no option.
TEST(Locate, DefaultsOfAFrameworkAreNoOverrides) {
  Scenario s = parse(scenario("{}"), {{"framework", "torchtitan"}});
  InputError::Text text{"P001", "p", {"", 0, 0, "workload.global_batch"}, "", ""};
  bool any = false;
  for (const Json* field : s.source->root().find("strategy")->children()) {
    any = any || field->where().file == "framework torchtitan";
    text.others.push_back(field->path());
  }
  EXPECT_TRUE(any);
  EXPECT_EQ(locate(InputError(text), s).text().where.file, "s.json");
}

TEST(Locate, ASectionThatAFrameworkMadeGivesWayToWhatTheFileSays) {
  const Scenario s = parse(
      "{\"framework\":\"megatron-core\",\"model\":\"tiny\",\n"
      "\"workload\":{\"sequence_length\":64,\"global_batch\":8,\"micro_batch\":1},\n"
      "\"strategy\":{\"pp\":2},\n\"cluster\":\"hgx-h100\"}");
  ASSERT_EQ(s.source->root().find("strategy")->find("pipeline")->where().file,
            "framework megatron-core");
  InputError::Text text{"P001", "p", {"", 0, 0, "strategy.pipeline"}, "", ""};
  text.others = {"strategy.pipeline.chunks", "strategy.pp"};
  const Where where = locate(InputError(std::move(text)), s).text().where;
  EXPECT_EQ(where.file, "s.json");
  EXPECT_EQ(where.line, 3);
  EXPECT_EQ(where.path, "strategy.pp");
}

}  // namespace plait::locate_test
