// Every wrong input gives an InputError with its code and its place; none crashes or hangs.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/json.h"
#include "core/new_file.h"
#include "scenarios/scenario.h"

namespace plait::malformed_test {

/// A good scenario on two nodes of eight devices, which each case spoils in one place.
constexpr std::string_view kGood = R"({
  "name": "good",
  "model": { "layers": 4, "hidden": 64, "heads": 4, "vocab": 128 },
  "workload": { "sequence_length": 64, "global_batch": 16, "precision": "bf16" },
  "strategy": { "pp": 2, "tp": 2, "data": { "bucket": "25 MiB" } },
  "cluster": { "preset": "hgx-h100", "nodes": 2 }
})";

InputError::Text error_of(const std::string& text, const std::vector<Override>& overrides = {}) {
  try {
    parse_scenario(text, "bad.json", overrides);
  } catch (const InputError& e) {
    return e.text();
  }
  return {.code = "accepted", .problem = ""};
}

TEST(Malformed, TheGoodScenarioIsGood) {
  EXPECT_NO_THROW(parse_scenario(std::string(kGood), "good.json"));
}

/// `from` (in kGood) becomes `to`, and the error points at the "@" in it, which is left out, or
/// else at the text `at`.
struct Edit {
  std::string from, to, code;
  std::string at = "@";
};

const std::vector<Edit>& edits() {
  static const std::vector<Edit> all = {
      // Broken JSON.
      {"\"good\",", "\"good\"", "J005", "\"model\": {"},
      {"\"nodes\": 2 }", "\"nodes\": 2, @}", "J005"},
      {"\"pp\": 2", "@pp: 2", "J005"},
      {"\"pp\": 2", "@'pp': 2", "J005"},
      {"\"pp\": 2", "\"pp\" @2", "J005"},
      {"\"pp\": 2", "\"pp\":@: 2", "J005"},
      {"\"pp\": 2", "\"pp\": @", "J005"},
      {"\"pp\": 2", "\"pp\": @NaN", "J005"},
      {"\"pp\": 2", "\"pp\": @Infinity", "J005"},
      {"\"pp\": 2", "\"pp\": @+2", "J005"},
      {"\"pp\": 2", "\"pp\": 0@x2", "J005"},
      {"\"pp\": 2", "\"pp\": @.5", "J005"},
      {"\"pp\": 2", "\"pp\": @02", "J005"},
      {"\"pp\": 2", "\"pp\": @True", "J005"},
      {"\"good\"", "\"go@\nod\"", "J005"},
      {"\"good\"", "\"go\\@qod\"", "J005"},
      {"\"good\"", "\"go\xC3@\"", "J009"},
      {"\"good\"", "\"@\xC0\x80\"", "J009"},
      {"\"pp\": 2", "\"pp\": @1e999", "J008"},
      {"\"pp\": 2", "\"pp\": @18446744073709551616", "J008"},
      {"\"pp\": 2", "\"pp\": 2, @\"pp\": 2", "J007"},
      // Keys.
      {"\"pp\"", "@\"ppp\"", "F001"},
      {"\"hidden\"", "@\"hiden\"", "F001"},
      {"\"workload\"", "@\"work_load\"", "F001"},
      {"\"bucket\"", "@\"buckets\"", "F001"},
      {"\"layers\": 4, ", "", "F002", "{ \"hidden\""},
      {"\"sequence_length\": 64, ", "", "F002", "{ \"global_"},
      {"\"preset\": \"hgx-h100\", ", "", "F002", "{ \"nodes\":"},
      // Types.
      {"\"good\"", "@17", "F003"},
      {"\"layers\": 4", "\"layers\": @\"4\"", "F003"},
      {"\"layers\": 4", "\"layers\": @4.5", "F003"},
      {"\"layers\": 4", "\"layers\": @null", "F003"},
      {"\"layers\": 4", "\"layers\": @[4]", "F003"},
      {"\"layers\": 4", "\"layers\": @true", "F003"},
      {"{ \"bucket\": \"25 MiB\" }", "@\"25 MiB\"", "F003"},
      {"{ \"bucket\": \"25 MiB\" }", "{ \"overlap\": @1 }", "F003"},
      {"\"bf16\"", "@16", "F003"},
      {"\"bf16\"", "@\"bf61\"", "F004"},
      {"\"hgx-h100\"", "@\"hgx-h10\"", "F004"},
      {"\"pp\": 2", "\"pp\": 2, \"recompute\": @\"most\"", "F004"},
      {"\"good\",", "\"good\", \"placement\": {\"order\": [\"pp\", @\"xx\"]},", "F004"},
      // Units and ranges.
      {"\"25 MiB\"", "@25", "U001"},
      {"\"25 MiB\"", "@\"25\"", "U001"},
      {"\"25 MiB\"", "@\"25 mib\"", "U002"},
      {"\"25 MiB\"", "@\"25 GB/s\"", "U002"},
      {"\"25 MiB\"", "@\"many MiB\"", "U003"},
      {"\"25 MiB\"", "@\"nan MiB\"", "U003"},
      {"\"25 MiB\"", "@\"1e999 MiB\"", "U003"},
      {"\"25 MiB\"", "@\"1e40 MiB\"", "U004"},
      {"\"25 MiB\"", "@\"0 MiB\"", "U004"},
      {"\"25 MiB\"", "@\"-25 MiB\"", "U004"},
      {"\"layers\": 4", "\"layers\": @0", "U004"},
      {"\"layers\": 4", "\"layers\": @-4", "U004"},
      {"\"layers\": 4", "\"layers\": @32001", "U004"},
      {"\"layers\": 4", "\"layers\": @9000000000000000000", "U004"},
      {"\"layers\": 4", "\"layers\": @1e30", "U004"},
      {"\"nodes\": 2", "\"nodes\": 2, \"jitter\": @-0.5", "U004"},
      {"\"nodes\": 2", "\"nodes\": 2, \"slowdowns\": [{\"device\": 0, \"factor\": @0.5}]", "U004"},
      // Sizes that do not divide or combine.
      {"\"heads\": 4", "\"heads\": @5", "S003"},
      {"\"heads\": 4", "\"heads\": 4, \"kv_heads\": @3", "S003"},
      {"\"pp\": 2", "\"pp\": 3", "S002", "{ \"pp\": 3,"},
      {"\"pp\": 2", "\"pp\": 32", "S002", "{ \"pp\": 32"},
      {"\"pp\": 2", "\"pp\": 2, \"dp\": @3", "S001"},
      {"\"pp\": 2", "\"pp\": 16777216, \"fsdp\": 16777216, \"dp\": @16777216", "S001"},
      {"\"good\",", "\"good\", \"placement\": {\"order\": @[\"pp\", \"tp\"]},", "S006"},
      {"\"good\",", "\"good\", \"placement\": {\"order\": @[\"pp\", \"pp\", \"dp\", \"tp\"]},",
       "S006"},
      {"\"good\",", "\"good\", \"placement\": {\"stages_per_node\": @3},", "S007"},
      {"\"good\",", "\"good\", \"placement\": {\"map\": @[0, 1]},", "S008"},
      {"\"good\",", "\"good\", \"placement\": @{\"order\": [\"tp\"], \"map\": [0]},", "S009"},
      {"\"vocab\": 128", "\"vocab\": 128, \"positions\": \"learned\", \"max_positions\": 32",
       "S004", "64, \"globa"},
      {"{ \"layers\"", "{ \"preset\": \"tiny\", \"hf_config\": @\"a.json\", \"layers\"", "S005"},
      // Files and machines that are not there.
      {"{ \"layers\": 4, \"hidden\": 64, \"heads\": 4, \"vocab\": 128 }",
       "{ \"hf_config\": @\"none.json\" }", "J001"},
      {"{ \"layers\": 4, \"hidden\": 64, \"heads\": 4, \"vocab\": 128 }",
       "{ \"hf_config\": @\"/\" }", "J002"},
      {"\"model\":", "\"calibration\": @\"none.json\", \"model\":", "J001"},
      {"\"nodes\": 2", "\"nodes\": 2, \"slowdowns\": @[{\"device\": 16, \"factor\": 2}]", "C006"},
      {"\"nodes\": 2", "\"nodes\": 2, \"faults\": @[{\"at\": \"node 2: nic 0\"}]", "C010"},
      {"\"nodes\": 2", "\"nodes\": 2, \"other_nodes\": @[{\"nodes\": [2, 2]}]", "C011"},
      {"\"nodes\": 2", "\"nodes\": 2, \"other_nodes\": [{\"nodes\": @[1]}]", "C011"},
      {"\"nodes\": 2", "\"nodes\": 2, \"faults\": @[{\"at\": \"node 1: device 0\"}]", "C009"},
      {"\"nodes\": 2", "\"nodes\": 2, \"node\": {\"nics\": 0}", "C007", "{ \"preset\""},
      {"\"nodes\": 2", "\"nodes\": @16000000", "C004"},
      {"\"nodes\": 2", "\"nodes\": 2, \"device\": @\"h1000\"", "F004"},
  };
  return all;
}

TEST(Malformed, EachEditIsRefusedAtItsPlace) {
  EXPECT_GE(edits().size(), 60U);
  for (const Edit& edit : edits()) {
    std::string text(kGood);
    const std::size_t at = text.find(edit.from);
    ASSERT_NE(at, std::string::npos) << edit.from;
    text.replace(at, edit.from.size(), edit.to);
    const std::size_t place = text.find(edit.at);
    ASSERT_NE(place, std::string::npos) << edit.to;
    if (edit.at == "@") text.erase(place, 1);
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(place), '\n');
    const std::size_t column = place - text.substr(0, place).rfind('\n');
    const InputError::Text e = error_of(text);
    const std::string message = edit.from + " -> " + edit.to + "\n" + InputError(e).what();
    EXPECT_EQ(e.code, edit.code) << message;
    EXPECT_EQ(e.where.file, "bad.json") << message;
    EXPECT_EQ(e.where.line, line) << message;
    EXPECT_EQ(static_cast<std::size_t>(e.where.column), column) << message;
    EXPECT_FALSE(e.expected.empty() && e.cure.empty() && e.code[0] != 'J') << message;
  }
}

TEST(Malformed, ARangeOfOneNodeIsWrittenTwice) {
  std::string text(kGood);
  const std::string_view nodes = "\"nodes\": 2";
  text.replace(text.find(nodes), nodes.size(),
               R"("nodes": 2, "other_nodes": [{"preset": "dgx-a100", "nodes": [1]}])");
  EXPECT_EQ(error_of(text).cure, "write \"nodes\": [1, 1]");
}

TEST(Malformed, WholeTextsAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "J011"},
      {" \r\n\t", "J011"},
      {"\xEF\xBB\xBF", "J011"},
      {std::string("\xFF\xFE{\0}\0", 6), "J009"},
      {std::string("\xFE\xFF\0{\0}", 6), "J009"},
      {std::string("\0", 1), "J005"},
      {"// nothing but a comment", "J005"},
      {"/* comment without end", "J005"},
      {"null", "F003"},
      {"17", "F003"},
      {"[]", "F003"},
      {"\"llama-3.1-8b\"", "F003"},
      {"{}", "F002"},
      {"{} {}", "J005"},
      {"model: tiny", "J005"},
      {"<xml/>", "J005"},
      {std::string(kGood.substr(0, kGood.size() / 2)), "J005"},
      {std::string(10'000, '{'), "J005"},
      {std::string(60 << 20, '['), "J006"},
      {std::string(100 << 20, '['), "J004"},
  };
  for (const auto& [text, code] : cases) {
    const InputError::Text e = error_of(text);
    EXPECT_EQ(e.code, code) << text.substr(0, 40) << "\n" << InputError(e).what();
    EXPECT_EQ(e.where.file, "bad.json");
    EXPECT_GE(e.where.line, 1);
  }
}

TEST(Malformed, NoPrefixOfAScenarioIsAccepted) {
  for (std::size_t size = 0; size + 1 < kGood.size(); ++size) {
    EXPECT_NE(error_of(std::string(kGood.substr(0, size))).code, "accepted") << size;
  }
}

TEST(Malformed, NoDroppedCharacterCrashes) {
  for (std::size_t at = 0; at < kGood.size(); ++at) {
    std::string text(kGood);
    text.erase(at, 1);
    try {
      parse_scenario(text, "bad.json");
    } catch (const InputError& e) {
      EXPECT_FALSE(e.text().where.file.empty()) << e.what();
    }
  }
}

TEST(Malformed, OverridesAreRefusedInTheirOwnName) {
  const std::vector<std::pair<Override, std::string>> cases = {
      {{"strategy.tpp", "4"}, "F005"},
      {{"strateg.tp", "4"}, "F005"},
      {{"strategy.tp.x", "4"}, "F005"},
      {{"", "4"}, "F005"},
      {{"strategy.tp", "four"}, "F003"},
      {{"strategy.tp", ""}, "F003"},
      {{"strategy.tp", "0"}, "U004"},
      {{"strategy.tp", "1e999"}, "F003"},
      {{"strategy.dp", "3"}, "S001"},
      {{"strategy.data.bucket", "25"}, "U001"},
      {{"model.preset", "lama"}, "F004"},
      {{"cluster", "[]"}, "F003"},
      {{"cluster.jitter", "[["}, "J005"},
      {{"model", "{\"a\":1,\"a\":2}"}, "J007"},
      {{"cluster.slowdowns.0.factor", "2"}, "F005"},
  };
  for (const auto& [override, code] : cases) {
    const InputError::Text e = error_of(std::string(kGood), {override});
    EXPECT_EQ(e.code, code) << override.path << "\n" << InputError(e).what();
    EXPECT_EQ(e.where.file, "--set " + override.path + "=" + override.value);
  }
}

TEST(Malformed, FilesThatCannotBeReadAreNamed) {
  std::string folder = testing::TempDir() + "plaitXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string huge = folder + "/huge.json";
  write_file(huge, std::string(100 << 20, '['));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {folder + "/none.json", "J001"}, {folder, "J002"}, {huge, "J004"}, {"/dev/null", "J011"}};
  for (const auto& [path, code] : cases) {
    try {
      load_scenario(path);
      ADD_FAILURE() << path;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, code) << e.what();
      EXPECT_EQ(e.text().where.file, path);
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace plait::malformed_test
