// Profiles that build on others.
#include "scenarios/framework_files.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"

namespace plait::framework_files_test {

/// Of profiles by name.
std::vector<Framework> read(const std::map<std::string, std::string>& files) {
  std::vector<CatalogueEntry> entries;
  for (const auto& [name, json] : files) entries.push_back({"frameworks", name, json});
  return frameworks_of(entries);
}

std::map<std::string, std::string> values_of(const Framework& profile) {
  std::map<std::string, std::string> out;
  for (const FrameworkDefault& d : profile.defaults) out[d.path] = d.value;
  return out;
}

const std::string kOld = R"({"title": "Old", "offers": {
    "strategy.zero_stage": {"values": [0], "source": "o"}}, "defaults": {
    "kernels.bias": {"value": "eager", "source": "o"},
    "kernels.norm": {"value": "eager", "source": "o"}}})";

std::string new_on(const std::string& base, const std::string& more = "") {
  return R"({"title": "New", "base": ")" + base + "\"" + more + "}";
}

TEST(FrameworkFiles, AProfileSaysWhatItsBaseSaysButForItsOwnEntries) {
  const auto all = read({{"new", new_on("old", R"(, "defaults": {
      "kernels.norm": {"value": "fused", "source": "n"},
      "kernels.rope": {"value": "eager", "source": "n"}})")},
                         {"old", kOld}});
  EXPECT_EQ(all[0].title, "New");
  EXPECT_EQ(values_of(all[0]),
            (std::map<std::string, std::string>{{"kernels.bias", R"("eager")"},
                                                {"kernels.norm", R"("fused")"},
                                                {"kernels.rope", R"("eager")"}}));
  ASSERT_EQ(all[0].offers.size(), 1U);
  EXPECT_EQ(all[0].offers[0].path, "strategy.zero_stage");
  EXPECT_EQ(all[1].title, "Old");
  EXPECT_EQ(values_of(all[1]).size(), 2U) << "the base stays as it is";
}

TEST(FrameworkFiles, NullTakesAnEntryOfTheBaseAway) {
  const auto all = read({{"new", new_on("old", R"(, "offers": {"strategy.zero_stage": null},
      "defaults": {"kernels.bias": null})")},
                         {"old", kOld}});
  EXPECT_TRUE(all[0].offers.empty());
  EXPECT_EQ(values_of(all[0]),
            (std::map<std::string, std::string>{{"kernels.norm", R"("eager")"}}));
}

TEST(FrameworkFiles, ABaseMayHaveABase) {
  const auto all = read({{"newer", new_on("new")}, {"new", new_on("old")}, {"old", kOld}});
  for (const Framework& profile : all) EXPECT_EQ(values_of(profile).size(), 2U) << profile.name;
}

InputError::Text refused(const std::map<std::string, std::string>& files) {
  try {
    read(files);
  } catch (const InputError& error) {
    EXPECT_EQ(error.text().code, "C016");
    return error.text();
  }
  ADD_FAILURE() << "not refused";
  return {};
}

TEST(FrameworkFiles, AnUnknownBaseIsLikenedToOne) {
  const auto text = refused({{"new", new_on("odl")}, {"old", kOld}});
  EXPECT_EQ(text.where.file, "topologies/catalogue/frameworks/new.json");
  EXPECT_EQ(text.problem, "a base that is no profile: odl");
  EXPECT_EQ(text.cure, R"(did you mean "old"?)");
}

TEST(FrameworkFiles, BasesInACircleAreNamed) {
  EXPECT_EQ(refused({{"a", new_on("b")}, {"b", new_on("c")}, {"c", new_on("b")}}).problem,
            "profiles that build on one another: b, c, b");
  EXPECT_EQ(refused({{"a", new_on("a")}}).problem, "profiles that build on one another: a, a");
}

TEST(FrameworkFiles, NothingIsTakenAwayThatTheBaseDoesNotSay) {
  const auto text =
      refused({{"new", new_on("old", R"(, "defaults": {"kernels.qkv": null})")}, {"old", kOld}});
  EXPECT_EQ(text.problem, "null for kernels.qkv of defaults, which the base does not say");
}

/// What the nearest of its bases that says anything of it says; null where none does.
nlohmann::json said_by_base(const std::map<std::string, nlohmann::json>& files,
                            const std::string& name, const char* part, const std::string& path) {
  const std::string base = files.at(name).value("base", "");
  if (base.empty()) return nullptr;
  const nlohmann::json entries = files.at(base).value(part, nlohmann::json::object());
  return entries.contains(path) ? entries[path] : said_by_base(files, base, part, path);
}

// An entry that is the base's own, source and all, is one to be left out.
TEST(FrameworkFiles, NoProfileOfTheCatalogueRepeatsItsBase) {
  std::map<std::string, nlohmann::json> files;
  for (const CatalogueEntry& e : catalogue()) {
    if (e.kind == "frameworks") files[std::string(e.name)] = nlohmann::json::parse(e.json);
  }
  for (const auto& [name, own] : files) {
    for (const char* part : {"offers", "defaults"}) {
      const nlohmann::json entries = own.value(part, nlohmann::json::object());
      for (const auto& [path, entry] : entries.items()) {
        EXPECT_NE(said_by_base(files, name, part, path), entry) << name << " repeats " << path;
      }
    }
  }
}

}  // namespace plait::framework_files_test
