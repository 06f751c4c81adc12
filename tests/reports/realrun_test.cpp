// The report of a timed run says every figure it was given, in every format.
#include "reports/realrun.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plait::realrun_test {

RealrunReport made_up() {
  RealrunReport r;
  r.run.scenario = "tiny-dp", r.layout = "dp 2", r.ranks = 2;
  r.transport = "tcp", r.kernels = "real", r.quietness = "quiet";
  r.step_s = {0.011, 0.010, 0.012};
  r.step_median_s = 0.011, r.step_low_s = 0.010, r.step_high_s = 0.012;
  r.predicted_step_s = 0.0121, r.calibration = "laptop, 2026-11-21";
  r.classes = {{"matmul", 40, 0.004, 0.005, 0.25}, {"all_reduce over dp", 6, 0.002, 0.002, 0.01}};
  r.memory = {{0, Bytes(1000), Bytes(1000), Bytes(1100)},
              {1, Bytes(1000), Bytes(1000), Bytes(1000)}};
  return r;
}

TEST(RealrunReport, TextSaysPredictedAgainstMeasured) {
  const std::string text = to_text(made_up());
  EXPECT_NE(text.find("predicted 12.1 ms  +10.0 %  by laptop"), std::string::npos) << text;
  EXPECT_NE(text.find("as planned on every rank, to the byte"), std::string::npos) << text;
  EXPECT_NE(text.find("all_reduce over dp"), std::string::npos) << text;
}

TEST(RealrunReport, TextNamesTheRankWhoseMemoryIsNotAsPlanned) {
  RealrunReport r = made_up();
  r.memory[1].held = Bytes(1001);
  EXPECT_NE(to_text(r).find("rank 1 held 1001 B, planned 1000 B"), std::string::npos);
}

TEST(RealrunReport, WithoutAPredictionThereIsNoError) {
  RealrunReport r = made_up();
  r.predicted_step_s.reset();
  EXPECT_FALSE(step_error(r).has_value());
  EXPECT_NE(to_text(r).find("--calibration FILE"), std::string::npos);
  EXPECT_FALSE(nlohmann::json::parse(to_json(r)).contains("predicted_step_time_s"));
}

TEST(RealrunReport, OnlySixStepsAndMoreHaveAnInterval) {
  RealrunReport r = made_up();
  EXPECT_FALSE(nlohmann::json::parse(to_json(r)).contains("step_time_low_s"));
  EXPECT_NE(to_text(r).find("all within 10.0 ms to 12.0 ms"), std::string::npos);
  r.step_s = {0.011, 0.010, 0.012, 0.011, 0.011, 0.011};
  const nlohmann::json tree = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(tree["step_time_low_s"], 0.010);
  EXPECT_EQ(tree["step_time_high_s"], 0.012);
}

TEST(RealrunReport, JsonAndCsvHaveEveryFigure) {
  const nlohmann::json tree = nlohmann::json::parse(to_json(made_up()));
  EXPECT_EQ(tree["step_time_s"], 0.011);
  EXPECT_EQ(tree["steps_s"].size(), 3U);
  EXPECT_NEAR(tree["step_time_error"].get<double>(), 0.1, 1e-12);
  EXPECT_EQ(tree["classes"][0]["predicted_s"], 0.005);
  EXPECT_EQ(tree["memory"][0]["in_flight_peak_bytes"], 1100);
  EXPECT_EQ(to_csv(made_up()),
            "op,ops,measured_s,predicted_s,mean_log_error\r\n"
            "matmul,40,0.004,0.005,0.25\r\n"
            "all_reduce over dp,6,0.002,0.002,0.01\r\n");
}

}  // namespace plait::realrun_test
