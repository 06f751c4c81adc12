#include "core/fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plait::fields_test {

enum class Colour { kRed, kBlue };
struct Wheel {
  std::int64_t spokes = 32;
  double radius = 0.5;
  Colour colour = Colour::kBlue;
  bool tubeless = false;
  bool operator==(const Wheel&) const = default;
};
struct Bike {
  std::string name;
  Bytes memory = Bytes(1024);
  BytesPerSecond uplink = BytesPerSecond(1e6);
  Wheel front;
  std::vector<Wheel> spares;
  bool operator==(const Bike&) const = default;
};

const Table<Wheel>& wheel_table() {
  static const Table<Wheel> table(
      "wheel",
      {field("colour", &Wheel::colour,
             Choice<Colour>{{{"red", Colour::kRed}, {"blue", Colour::kBlue}}}, "Paint."),
       field("spokes", &Wheel::spokes, Int{.min = 1, .max = 64}, "How many spokes."),
       field("radius", &Wheel::radius, Real{.min = 0.1, .max = 2}, "In metres."),
       field("tubeless", &Wheel::tubeless, Flag{}, "Without a tube.")},
      "colour");
  return table;
}
const Table<Bike>& bike_table() {
  static const Table<Bike> table(
      "bike", {field("name", &Bike::name, Text{}, "What it is called.").required(),
               field("memory", &Bike::memory, Amount<Bytes>{.min = 1}, "Of its computer."),
               field("uplink", &Bike::uplink, Sourced{Amount<BytesPerSecond>{}}, "Of its radio."),
               field("front", &Bike::front, Nested{&wheel_table()}, "The front wheel."),
               field("spares", &Bike::spares, List{Nested{&wheel_table()}}, "Other wheels.")});
  return table;
}

Bike read(const std::string& text) {
  const JsonDocument document = parse_json(text, "bike.json");
  Bike bike;
  bike_table().read(document.root(), bike);
  return bike;
}

InputError::Text field_error(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& e) {
    return e.text();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

TEST(Fields, AbsentMembersKeepTheDefaults) {
  Bike expected;
  expected.name = "a";
  EXPECT_EQ(read(R"({"name":"a"})"), expected);
}

TEST(Fields, EveryRuleReadsItsValue) {
  const Bike bike = read(R"({"name":"a","memory":"2 KiB","uplink":{"value":"8 Gbps","source":"x"},
      "front":{"colour":"red","spokes":4.0,"radius":1,"tubeless":true},"spares":["red",{}]})");
  EXPECT_EQ(bike.memory.value, 2 * 1024);
  EXPECT_EQ(bike.uplink.value, 1e9);
  EXPECT_EQ(bike.front, (Wheel{4, 1.0, Colour::kRed, true}));
  ASSERT_EQ(bike.spares.size(), 2U);
  EXPECT_EQ(bike.spares[0].colour, Colour::kRed);
  EXPECT_EQ(bike.spares[1], Wheel{});
}

TEST(Fields, WrittenFormReadsBackAsTheSame) {
  Bike bike{"b", Bytes(12345), BytesPerSecond(3.14e9), Wheel{5, 0.3, Colour::kRed, true}, {{}}};
  EXPECT_EQ(read(bike_table().write(bike)), bike);
}

TEST(Fields, WrittenKeysAreSorted) {
  const std::string written = bike_table().write(Bike{});
  EXPECT_EQ(written, nlohmann::json::parse(written).dump());  // the library sorts its keys
}

TEST(Fields, UnknownKeyNamesTheNearestAndThePlace) {
  const InputError::Text e = field_error("{\"name\":\"a\",\n \"front\": {\"spoke\": 3}}");
  EXPECT_EQ(e.code, "F001");
  EXPECT_EQ(e.where.path, "front.spoke");
  EXPECT_EQ(e.where.line, 2);
  EXPECT_EQ(e.where.column, 12);
  EXPECT_EQ(e.cure, "did you mean \"spokes\"?");
}

TEST(Fields, EachMistakeHasItsCode) {
  EXPECT_EQ(field_error("{}").code, "F002");
  EXPECT_EQ(field_error("[]").code, "F003");
  EXPECT_EQ(field_error(R"({"name":1})").code, "F003");
  EXPECT_EQ(field_error(R"({"name":"a","front":"green"})").code, "F004");
  EXPECT_EQ(field_error(R"({"name":"a","front":{"spokes":0}})").code, "U004");
  EXPECT_EQ(field_error(R"({"name":"a","front":{"spokes":1.5}})").code, "F003");
  EXPECT_EQ(field_error(R"({"name":"a","front":{"radius":-1}})").code, "U004");
  EXPECT_EQ(field_error(R"({"name":"a","memory":80})").code, "U001");
  EXPECT_EQ(field_error(R"({"name":"a","memory":"0 B"})").code, "U004");
  EXPECT_EQ(field_error(R"({"name":"a","uplink":{"value":"1 GB/s"}})").code, "F002");
  EXPECT_EQ(field_error(R"({"name":"a","spares":{}})").code, "F003");
  EXPECT_EQ(field_error(R"({"name":"a","spares":[{},{"spokes":99}]})").where.path,
            "spares.1.spokes");
}

TEST(Fields, AllKeysThatAreMissingAreToldAtOnce) {
  const Table<Wheel> unlike("wheel", {field("spokes", &Wheel::spokes, Int{.min = 1}, "").required(),
                                      field("tubeless", &Wheel::tubeless, Flag{}, ""),
                                      field("radius", &Wheel::radius, Real{}, "").required()});
  const JsonDocument document = parse_json("{}", "wheel.json");
  Wheel wheel;
  try {
    unlike.read(document.root(), wheel);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().problem, "\"spokes\", \"radius\" are missing in the top level");
    EXPECT_EQ(e.text().cure, "add \"spokes\", \"radius\" to the top level");
  }
}

TEST(Fields, NumbersInOtherWordsAreToldPlainly) {
  EXPECT_EQ(field_error(R"({"name":"a","front":{"spokes":"36k"}})").cure,
            "write 36864 (36 x 1024) or 36e3");
  EXPECT_EQ(field_error(R"({"name":"a","front":{"radius":"$2.5"}})").cure, "write 2.5 alone");
  EXPECT_NE(field_error(R"({"name":"a","front":{"spokes":"24,36"}})").cure.find("-L"),
            std::string::npos);
  // Two values, or one of six digits.
  EXPECT_EQ(field_error(R"({"name":"a","front":{"spokes":"128,256"}})").cure,
            "write 128256 alone; several are for -L, of plait compare, whatif, search and serve");
  EXPECT_EQ(field_error(R"({"name":"a","front":{"spokes":"24,many"}})").cure, "");
  EXPECT_EQ(field_error(R"({"name":"a","front":{"radius":"long"}})").cure, "");
}

JsonDocument overridden(const std::string& text, const std::string& path,
                        const std::string& value) {
  JsonDocument document = parse_json(text, "bike.json");
  apply_override(document, bike_table().shape(), path, value, "--set " + path + "=" + value);
  return document;
}

Bike read(const JsonDocument& document) {
  Bike bike;
  bike_table().read(document.root(), bike);
  return bike;
}

TEST(Override, ReplacesAddsAndReachesIntoLists) {
  const std::string text = R"({"name":"a","spares":[{"spokes":1},{"spokes":2}]})";
  EXPECT_EQ(read(overridden(text, "name", "b")).name, "b");
  EXPECT_EQ(read(overridden(text, "front.spokes", "7")).front.spokes, 7);
  EXPECT_EQ(read(overridden(text, "spares.1.spokes", "9")).spares[1].spokes, 9);
  EXPECT_EQ(read(overridden(text, "spares", "[{}]")).spares.size(), 1U);
  EXPECT_EQ(read(overridden(text, "memory", "3 KiB")).memory.value, 3 * 1024);
}

TEST(Override, OpensATextThatStandsForAnObject) {
  const Bike bike = read(overridden(R"({"name":"a","front":"red"})", "front.spokes", "7"));
  EXPECT_EQ(bike.front.colour, Colour::kRed);
  EXPECT_EQ(bike.front.spokes, 7);
}

TEST(Override, ItsOwnTextIsItsPlace) {
  try {
    read(overridden(R"({"name":"a"})", "front.spokes", "many"));
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().where.file, "--set front.spokes=many");
    EXPECT_EQ(e.text().where.path, "front.spokes");
    EXPECT_EQ(e.text().where.line, 0);
  }
}

TEST(Override, ABrokenObjectIsNoText) {
  for (const std::string value : {R"({"spokes":7)", "{'spokes':7}", "[1, 2"}) {
    try {
      overridden(R"({"name":"a"})", "front", value);
      ADD_FAILURE() << value;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "J005") << e.what();
      EXPECT_EQ(e.text().where.file, "--set front=" + value);
    }
  }
}

TEST(Override, UnknownPathNamesTheNearestKey) {
  for (const auto& [path, cure] : {std::pair{"front.spoke", "did you mean \"spokes\"?"},
                                   std::pair{"spokes", "did you mean \"front.spokes\"?"},
                                   std::pair{"frnt.spokes", "did you mean \"front\"?"}}) {
    try {
      overridden(R"({"name":"a"})", path, "1");
      ADD_FAILURE() << path;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "F005");
      EXPECT_EQ(e.text().cure, cure);
    }
  }
  EXPECT_THROW(overridden(R"({"name":"a"})", "name.x", "1"), InputError);
  EXPECT_THROW(overridden(R"({"name":"a","spares":[]})", "spares.0.spokes", "1"), InputError);
  EXPECT_THROW(overridden(R"({"name":"a"})", "", "1"), InputError);
  EXPECT_THROW(overridden(R"({"name":"a"})", "front..spokes", "1"), InputError);
}

TEST(Shape, SchemaCarriesTypesRangesDefaultsAndRequirement) {
  const auto schema = nlohmann::json::parse(schema_document(bike_table().shape(), "Bike"));
  EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#");
  EXPECT_EQ(schema["required"], nlohmann::json::array({"name"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["memory"]["default"], "1 KiB");
  const auto& wheel = schema["properties"]["front"]["anyOf"][1]["properties"];
  EXPECT_EQ(wheel["spokes"]["maximum"], 64);
  EXPECT_EQ(schema["properties"]["front"]["anyOf"][0]["enum"].size(), 2U);
  EXPECT_EQ(schema["properties"]["spares"]["type"], "array");
}

TEST(Shape, ReferenceListsEveryKey) {
  const std::string page = reference_of(bike_table().shape());
  for (const char* key : {"name", "memory", "front", "spokes", "radius", "tubeless"}) {
    EXPECT_NE(page.find("| `" + std::string(key) + "` |"), std::string::npos) << key;
  }
}

}  // namespace plait::fields_test
