// Files of requests: what they have in common, and what is refused.
#include <gtest/gtest.h>

#include "core/error.h"
#include "serving/requests.h"

namespace plait::trace_test {

using Spans = std::vector<SharedSpan>;

std::vector<Request> read(const std::string& text) {
  Load load;
  return read_trace(text, "t.csv", load);
}

TEST(Trace, PrefixesAndConversationsAreNumberedAsTheyAreMet) {
  const std::vector<Request> r = read(
      "arrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens,conversation_id\n"
      "0,100,10,system,64,a\n"
      "1,100,10,system,64,b\n"
      "2,130,10,system,64,a\n"
      "3,50,5,,,\n");
  EXPECT_EQ(r[0].shared, (Spans{{64, 0}, {110, 1}}));
  EXPECT_EQ(r[1].shared, (Spans{{64, 0}, {110, 2}}));
  EXPECT_EQ(r[2].shared, (Spans{{64, 0}, {140, 1}}));
  EXPECT_TRUE(r[3].shared.empty());
}

TEST(Trace, JsonHasTheSameKeys) {
  const std::vector<Request> r = read(
      R"([{"arrival_s": 1, "prompt_tokens": 700, "output_tokens": 2, "hash_ids": [7, 9]},
          {"arrival_s": 0, "prompt_tokens": 9, "output_tokens": 1, "prefix_id": "x",
           "prefix_tokens": 9}])");
  EXPECT_EQ(r[0].shared, (Spans{{9, 2}}));
  EXPECT_EQ(r[1].shared, (Spans{{512, 0}, {700, 1}}));
}

// As in Mooncake's own: milliseconds, and a number for each 512 tokens of the prompt.
TEST(Trace, MooncakesLinesAreRead) {
  const std::vector<Request> r = read(
      R"({"timestamp": 0, "input_length": 1100, "output_length": 52, "hash_ids": [46, 47, 48]}
{"timestamp": 1500, "input_length": 1024, "output_length": 3, "hash_ids": [46, 47]}
)");
  ASSERT_EQ(r.size(), 2U);
  EXPECT_EQ(r[1].arrival, to_sim_time(Seconds(1.5)));
  EXPECT_EQ(r[0].shared, (Spans{{512, 0}, {1024, 1}, {1100, 2}}));
  EXPECT_EQ(r[1].shared, (Spans{{512, 0}, {1024, 1}}));
}

// In each of the formats: 2^28 tokens, and the 100 days that are counted.
TEST(Trace, NumbersHaveTheSameLimitsInEveryFormat) {
  const std::string csv = "arrival_s,prompt_tokens,output_tokens\n";
  EXPECT_EQ(read(csv + "8640000,268435456,1\n")[0].arrival, kLongestTime);
  const std::string json = R"({"prompt_tokens": 9, "output_tokens": 1, "arrival_s": )";
  EXPECT_EQ(read("[" + json + "8640000}]")[0].arrival, kLongestTime);
  EXPECT_THROW(read("[" + json + "0}, " + json + "8640001}]"), InputError);
  const std::string mooncake = R"({"input_length": 9, "output_length": 1, "timestamp": )";
  EXPECT_EQ(read(mooncake + "8640000000}")[0].arrival, kLongestTime);
  EXPECT_THROW(read(mooncake + "0}\n" + mooncake + "8640000001}"), InputError);
}

// As in the second file of BurstGPT, which goes on where the first ends.
TEST(Trace, TimesFromAStartLongBeforeCountFromTheFirst) {
  const std::string csv = "arrival_s,prompt_tokens,output_tokens\n";
  const std::vector<Request> r = read(csv + "10000003,9,1\n10000001,9,1\n");
  EXPECT_EQ(r[0].arrival, 0);
  EXPECT_EQ(r[1].arrival, to_sim_time(Seconds(2)));
  const std::string json = R"({"prompt_tokens": 9, "output_tokens": 1, "arrival_s": )";
  EXPECT_EQ(read("[" + json + "10000001.5}]")[0].arrival, 0);
  EXPECT_THROW(read(csv + "1e12,9,1\n"), InputError) << "milliseconds, say";
}

TEST(Trace, RequestsWithoutAnAnswerAreLeftOutAndCounted) {
  Load load;
  const std::string text =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n"
      "45,ChatGPT,1087,0,1087,Conversation log\n"
      "118,GPT-4,417,276,693,Conversation log\n";
  EXPECT_EQ(read_trace(text, "t.csv", load).size(), 2U);
  EXPECT_EQ(load.unanswered, 1);
  EXPECT_THROW(read("arrival_s,prompt_tokens,output_tokens\n0,9,0\n"), InputError);
}

TEST(Trace, CellsKeepTheirBlanksAndMayStandInQuotes) {
  Load load;
  const std::string text =
      "\"arrival_s\", prompt_tokens,output_tokens,kind\n"
      "0,9,1,long chat\n1, 9 ,1,longchat\n2,9,1,\"a, b\"\n3,9,1,\"long chat\"\n";
  EXPECT_EQ(read_trace(text, "t.csv", load).size(), 4U);
  ASSERT_EQ(load.kinds.size(), 3U);
  EXPECT_EQ(load.kinds[0].name, "long chat");
  EXPECT_EQ(load.kinds[1].name, "longchat");
  EXPECT_EQ(load.kinds[2].name, "a, b");
}

TEST(Trace, WhatMakesNoSenseIsRefusedWithItsLine) {
  const std::string header = "arrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens\n";
  for (const char* line : {"0,10,1,a,", "0,10,1,,5", "0,10,1,a,11", "0,10,1,a,x", "0,10,1,a",
                           "-1,10,1,,", "0,0,1,,", "nan,10,1,,", "8640001,10,1,,",
                           "0,268435457,1,,", "0,10,9000000000000000000,,", "0,10,1,a,-1"}) {
    try {
      read(header + "0,10,1,a,10\n" + line + "\n");
      FAIL() << line;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "R001");
      EXPECT_EQ(e.text().where.line, 3) << line;
    }
  }
  const std::string json = R"([{"arrival_s": 0, "prompt_tokens": 512, "output_tokens": 1,)";
  EXPECT_THROW(read(json + R"("hash_ids": [1, 2]}])"), InputError);
  EXPECT_THROW(read(json + R"("hash_ids": [1], "prefix_id": "a", "prefix_tokens": 4}])"),
               InputError);
}

}  // namespace plait::trace_test
