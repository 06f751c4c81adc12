// Samples whose times are a + f S / B, rounded as nccl-tests rounds them.
#include "costmodel/fit/latency_bandwidth.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/error.h"

namespace plait::latency_bandwidth_test {

CollectiveTimings sample(const std::string& name) {
  std::ifstream in(std::string(PLAIT_SOURCE_DIR) + "/tests/topologies/samples/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return read_nccl_tests(text.str(), name);
}

struct Expected {
  std::string file, collective, device;
  std::int64_t ranks, hosts;
  std::size_t rows;
  double latency, busbw, factor;
};

TEST(NcclTests, EachSampleIsReadAndFitted) {
  const std::vector<Expected> all = {
      {"all_reduce-8xh100.txt", "all_reduce", "h100-sxm", 8, 1, 11, 30e-6, 370e9, 14.0 / 8},
      {"all_gather-mpirun.txt", "all_gather", "h100-sxm", 16, 2, 10, 60e-6, 45e9, 15.0 / 16},
      {"reduce_scatter-old.txt", "reduce_scatter", "a100-80-sxm", 8, 1, 9, 25e-6, 180e9, 7.0 / 8},
      {"all_reduce.json", "all_reduce", "a100-80-sxm", 4, 1, 9, 20e-6, 200e9, 6.0 / 4},
  };
  for (const Expected& e : all) {
    SCOPED_TRACE(e.file);
    const CollectiveTimings run = sample(e.file);
    EXPECT_EQ(run.collective, e.collective);
    EXPECT_EQ(catalogue_name(run.device), e.device);
    EXPECT_EQ(run.ranks, e.ranks);
    EXPECT_EQ(run.hosts, e.hosts);
    EXPECT_EQ(run.rows.size(), e.rows);
    EXPECT_NEAR(run.factor / e.factor, 1, 1e-3);
    const LatencyBandwidth fit = fit_latency_bandwidth(run);
    EXPECT_NEAR(fit.latency.value / e.latency, 1, 0.01);
    EXPECT_NEAR(fit.busbw.value / e.busbw, 1, 0.01);
    EXPECT_LT(fit.worst_error, 0.01);
  }
}

TEST(NcclTests, RowsWithoutNumbersAreLeftOutAndInPlaceStandsIn) {
  const CollectiveTimings run = read_nccl_tests(
      "# busbw\n0 0 float sum -1 0.21 0.00 0.00 0 0.18 0.00 0.00 0\n"
      "1024 256 float sum -1 N/A N/A N/A N/A 10.0 0.1 0.2 N/A\n",
      "f");
  ASSERT_EQ(run.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(run.rows[0].time.value, 10e-6);
}

const std::string kRight = "1024 256 float sum -1 10.0 0.1 0.2 0 10.0 0.1 0.2 N/A\n";
const std::string kWrong = "2048 512 float sum -1 10.0 0.2 0.4 0 10.0 0.2 0.4 512\n";

TEST(NcclTests, RowsWithWrongResultsAreCountedAndLeftOut) {
  // Before 2.12 the column is an error, not a count.
  const std::string old = "4096 1024 float sum 10.0 0.4 0.8 4e-07 10.0 0.4 0.8 0e+00\n";
  const CollectiveTimings run = read_nccl_tests("# busbw\n" + kRight + kWrong + old, "f");
  EXPECT_EQ(run.wrong, 1);
  ASSERT_EQ(run.rows.size(), 2U);
  EXPECT_EQ(run.rows[1].size.value, 4096);
  const std::string half = R"({"time": 1, "alg_bw": 1, "bus_bw": 1, "nwrong": )";
  const CollectiveTimings json =
      read_nccl_tests(R"({"results": [{"size": 8, "out_of_place": )" + half +
                          "0}}, {\"size\": 16, \"in_place\": " + half + "3}}]}",
                      "f");
  EXPECT_EQ(json.wrong, 1);
  EXPECT_EQ(json.rows.size(), 1U);
}

std::string code_of(const std::string& text, int* line = nullptr) {
  try {
    read_nccl_tests(text, "f");
  } catch (const InputError& e) {
    if (line != nullptr) *line = e.text().where.line;
    return e.text().code;
  }
  return "";
}

TEST(NcclTests, ASecondTableIsRefusedWhereItBegins) {
  const std::string header = "#       size         count      type   redop    root     time\n";
  int line = 0;
  EXPECT_EQ(code_of(header + kRight + header + kRight, &line), "T019");
  EXPECT_EQ(line, 3);
  EXPECT_EQ(code_of(header + kWrong + "# Avg bus bandwidth : 1\n# nThread 1 nGpus 1\n", &line),
            "T019");
  EXPECT_EQ(line, 4);
}

TEST(NcclTests, WhatIsWrongHasACode) {
  EXPECT_EQ(code_of(kWrong), "T018");
  EXPECT_EQ(code_of("# size count busbw\n"), "T010");
  EXPECT_EQ(code_of("1024 256 float sum -1 10.0\n"), "T012");
  EXPECT_EQ(code_of("{\"results\": []}"), "T010");
  EXPECT_EQ(code_of("{\"results\": "), "J005");
}

}  // namespace plait::latency_bandwidth_test
