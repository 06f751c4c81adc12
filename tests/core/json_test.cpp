#include "core/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/new_file.h"

namespace plait::json_test {

InputError::Text error_of(std::string_view text) {
  try {
    parse_json(text, "a.json");
  } catch (const InputError& e) {
    return e.text();
  }
  ADD_FAILURE() << "accepted: " << text.substr(0, 80);
  return {};
}

TEST(Json, EveryKindIsRead) {
  const JsonDocument d =
      parse_json(R"({"n":null,"b":true,"i":-3,"x":2.5,"t":"é\n","l":[1,[]],"o":{}})", "a.json");
  const Json& o = d.root();
  EXPECT_TRUE(o.find("n")->is(Json::Kind::kNull));
  EXPECT_TRUE(o.find("b")->boolean());
  EXPECT_EQ(o.find("i")->integer(), -3);
  EXPECT_EQ(o.find("i")->number(), -3.0);
  EXPECT_EQ(o.find("x")->number(), 2.5);
  EXPECT_EQ(o.find("t")->text(), "é\n");
  EXPECT_EQ(o.find("l")->children().size(), 2U);
  EXPECT_TRUE(o.find("o")->children().empty());
  EXPECT_EQ(o.find("missing"), nullptr);
}

TEST(Json, AskingForTheWrongKindIsOurBug) {
  const JsonDocument d = parse_json("[]", "a.json");
  EXPECT_THROW(d.root().text(), InternalError);
  EXPECT_THROW(d.root().number(), InternalError);
}

TEST(Json, EveryValueKnowsItsPlace) {
  const JsonDocument d = parse_json(
      "// a comment, with \"quotes\": {\n"
      "{\"a\": [10, {\"b\\\"}\": /* , */ -1.5e3}],\n"
      " \"é\": \"x\", \"c\": [ ]  , \"d\": true}",
      "a.json");
  const auto place = [](const Json& json) {
    const Where w = json.where();
    return fmt::format("{}:{} {}", w.line, w.column, w.path);
  };
  const Json& root = d.root();
  EXPECT_EQ(place(root), "2:1 ");
  const Json& list = *root.find("a");
  EXPECT_EQ(place(list), "2:7 a");
  EXPECT_EQ(place(*list.children()[0]), "2:8 a.0");
  EXPECT_EQ(place(*list.children()[1]->children()[0]), "2:29 a.1.b\"}");
  EXPECT_EQ(place(*root.find("é")), "3:7 é");  // columns count characters, not bytes
  EXPECT_EQ(place(*root.find("c")), "3:17 c");
  EXPECT_EQ(place(*root.find("d")), "3:29 d");
  EXPECT_EQ(root.where().file, "a.json");
}

TEST(Json, ByteOrderMarkOfUtf8IsSkipped) {
  EXPECT_EQ(parse_json("\xEF\xBB\xBF[1]", "a.json").root().children()[0]->where().column, 2);
}

TEST(Json, EachSyntaxErrorHasItsPlaceAndCode) {
  struct Case {
    std::string text, code;
    int line, column;
  };
  const std::vector<Case> cases = {
      {"", "J011", 1, 1},
      {" \n ", "J011", 1, 1},
      {"{", "J005", 1, 2},
      {"{\"a\": 1,}", "J005", 1, 9},
      {"[1,\n 2,\n]", "J005", 3, 1},
      {"{a: 1}", "J005", 1, 2},
      {"{'a': 1}", "J005", 1, 2},
      {"[\n  True]", "J005", 2, 3},
      {"[NaN]", "J005", 1, 2},
      {"[-Infinity]", "J005", 1, 3},
      {"[1 2]", "J005", 1, 4},
      {"{\"a\" 1}", "J005", 1, 6},
      {"[1]]", "J005", 1, 4},
      {"[01]", "J005", 1, 2},
      {"[\"abc", "J005", 1, 6},
      {"[\"a\tb\"]", "J005", 1, 4},
      {"[\"\\x\"]", "J005", 1, 4},
      {"[\"\\ud800\"]", "J005", 1, 9},
      {"/* no end", "J005", 1, 10},
      {"[1e999]", "J008", 1, 2},
      {"[-1e999]", "J008", 1, 2},
      {"[9223372036854775808]", "J008", 1, 2},
      {"[99999999999999999999999]", "J008", 1, 2},
      {"[\"\xC3\"]", "J009", 1, 4},
      {"[\"\xFF\"]", "J009", 1, 3},
      {"\xFF\xFE[\0", "J009", 1, 1},
      {"{\"a\": 1,\n \"a\": 2}", "J007", 2, 2},
  };
  for (const Case& c : cases) {
    const InputError::Text e = error_of(c.text);
    EXPECT_EQ(e.code, c.code) << c.text << "\n" << e.problem;
    EXPECT_EQ(e.where.line, c.line) << c.text;
    EXPECT_EQ(e.where.column, c.column) << c.text;
    EXPECT_EQ(e.where.file, "a.json");
  }
}

TEST(Json, CommonSlipsHaveCures) {
  EXPECT_EQ(error_of("[1,]").cure, "remove the comma before");
  EXPECT_EQ(error_of("{'a': 1}").cure, "use double quotes");
  EXPECT_EQ(error_of("[NaN]").cure, "write a finite number");
  EXPECT_EQ(error_of("{name: 1}").cure, "put words in double quotes");
  EXPECT_EQ(error_of(R"({"a": 8k})").cure, "write 8192 (8 x 1024) or 8e3");
  EXPECT_EQ(error_of(R"({"a": 8_192, "b": 1})").cure, "write 8192");
  EXPECT_EQ(error_of("[1 2]").cure, "put a comma before");
  EXPECT_EQ(error_of(R"({"a": "b" "c": 1})").cure, "put a comma before");
  EXPECT_EQ(error_of(R"({"a" 1})").cure, "put a colon between key and value");
  EXPECT_EQ(error_of(R"({"a": [1})").cure, "");
  EXPECT_EQ(error_of("[01]").cure, "");
  EXPECT_EQ(error_of("[tp, pp]").cure, "");
  EXPECT_EQ(error_of("[tp]").cure, "");
  EXPECT_EQ(error_of("[1, pp]").cure, "put words in double quotes");
  for (const char* other : {"model: llama", "--bf16 --num-layers 2", "[training]\nsteps = 2",
                            "\x7f"
                            "ELF"}) {
    EXPECT_EQ(error_of(other).cure, "name a file of JSON, which begins with {") << other;
  }
}

TEST(Json, WhatIsEmptyTooDeepOrTooLargeHasACure) {
  const std::string deep(JsonDocument::kMaxDepth + 1, '[');
  for (const std::string& text :
       {std::string(), deep, std::string("[1e400]"), std::string(30, '9')})
    EXPECT_NE(error_of(text).cure, "") << text;
}

TEST(Json, DepthSizeAndCountAreLimited) {
  const std::string deepest = std::string(JsonDocument::kMaxDepth, '[');
  EXPECT_NO_THROW(parse_json(deepest + std::string(JsonDocument::kMaxDepth, ']'), "a.json"));
  EXPECT_EQ(error_of(deepest + "[").code, "J006");
  EXPECT_EQ(error_of(std::string(60 << 20, '[')).code, "J006");
  EXPECT_EQ(error_of(std::string(100 << 20, '[')).code, "J004");
  std::string many = "[1";
  for (std::size_t i = 0; i < JsonDocument::kMaxValues; ++i) many += ",1";
  EXPECT_EQ(error_of(many + "]").code, "J010");
}

TEST(Json, DuplicateAmongManyKeysIsFoundFast) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += fmt::format("\"{}\":0,", i);
  EXPECT_EQ(error_of(text + "\"5\":1}").code, "J007");
}

TEST(Json, NoBytesMakeTheParserDoAnythingButThrow) {
  const std::string alphabet = "{}[]\",:\\/*u0e1.-tn \n\xC3\xEF\xFF";
  EXPECT_TRUE(rc::check([&] {
    const auto picks = *rc::gen::container<std::vector<std::size_t>>(
        rc::gen::inRange<std::size_t>(0, alphabet.size()));
    std::string text;
    for (const std::size_t i : picks) text += alphabet[i];
    bool accepted = true;
    try {
      parse_json(text, "a.json");
    } catch (const InputError& e) {
      accepted = false;
      RC_ASSERT(e.text().where.line >= 1);
      RC_ASSERT(e.text().where.column >= 1);
    }
    // What the library refuses we refuse; we refuse more (duplicate keys, wide integers).
    if (!nlohmann::json::accept(text, true)) RC_ASSERT(!accepted);
  }));
}

TEST(Json, WritersEscapeSortAndNest) {
  EXPECT_EQ(json_quote("a\"\n"), "\"a\\\"\\n\"");
  EXPECT_EQ(json_object({{"b", "1"}, {"a", "[]"}}), R"({"a":[],"b":1})");
  EXPECT_EQ(json_object({{"b", "1"}, {"a", "[]"}}, false), R"({"b":1,"a":[]})");
  EXPECT_EQ(json_list({"1", "2"}), "[1,2]");
  EXPECT_EQ(json_pretty("{\"b\":1,\"a\":[]}"), "{\n  \"b\": 1,\n  \"a\": []\n}");
}

/// A directory that is gone when the test ends.
class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "plaitXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static std::string code_of(const std::string& path) {
    try {
      read_json_file(path);
    } catch (const InputError& e) {
      return e.text().code;
    }
    return "no error";
  }
  std::string folder_;
};

TEST(Json, AWrappedValueKeepsWhatItHoldsAndItsPlace) {
  JsonDocument document = parse_json("{\"a\":\n [1, {\"b\": 2}]}", "file.json");
  document.wrap({"a"}, "key");
  const Json* list = document.root().find_path("a.key");
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->where().line, 2);
  ASSERT_EQ(list->children().size(), 2U);
  EXPECT_EQ(list->children()[1]->find("b")->path(), "a.key.1.b");
}

TEST_F(Files, WrittenContentIsRead) {
  const std::string path = folder_ + "/a.json";
  write_file(path, "[1]");
  write_file(path, "[1,2]");
  EXPECT_EQ(read_json_file(path).root().children().size(), 2U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);  // no draft left
}

TEST_F(Files, WhatCannotBeReadIsTheUsersError) {
  EXPECT_EQ(code_of(folder_ + "/none.json"), "J001");
  EXPECT_EQ(code_of(folder_ + "/none/a.json"), "J001");
  EXPECT_EQ(code_of(folder_), "J002");
  EXPECT_EQ(code_of("/dev/zero"), "J004");
  EXPECT_EQ(code_of("/dev/null"), "J011");
  EXPECT_EQ(code_of(std::string(10'000, 'x')), "J003");
}

TEST_F(Files, WhatCannotBeWrittenIsTheMachines) {
  EXPECT_THROW(write_file(folder_ + "/none/a.json", "x"), EnvironmentError);
  EXPECT_THROW(write_file(folder_, "x"), EnvironmentError);
  EXPECT_TRUE(std::filesystem::is_directory(folder_));
}

}  // namespace plait::json_test
