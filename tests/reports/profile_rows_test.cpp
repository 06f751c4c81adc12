// From a profile with shapes to rows of measurements, and on to a calibration.
#include "reports/profile/profile_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "costmodel/costmodel.h"
#include "costmodel/fit/calibrate.h"
#include "tests/reports/made_up_profile.h"
#include "topologies/catalogue.h"

namespace plait::profile_rows_test {

// ---- Shapes of operators ----

std::optional<MatMul> product(const char* name, const OperandShapes& operands) {
  return product_of(name, operands);
}

TEST(TraceProducts, AreToldByHowOperandsAreStored) {
  const std::vector<std::string> types = {"c10::BFloat16", "c10::BFloat16"};
  // y[512, 96] = x[512, 64] W^T, W[96, 64]
  const auto y = product("aten::mm", {{{512, 64}, {64, 96}}, {{64, 1}, {1, 64}}, types});
  ASSERT_TRUE(y);
  EXPECT_EQ(y->layout, GemmLayout::kNT);
  EXPECT_EQ(y->pass, Pass::kForward);
  EXPECT_EQ((std::array{y->m, y->n, y->k}), (std::array<std::int64_t, 3>{512, 96, 64}));
  // dx[512, 64] = dy[512, 96] W[96, 64]
  const auto dx = product("aten::mm", {{{512, 96}, {96, 64}}, {{96, 1}, {64, 1}}, types});
  ASSERT_TRUE(dx);
  EXPECT_EQ(dx->layout, GemmLayout::kNN);
  EXPECT_EQ(dx->pass, Pass::kInputGrad);
  // dW[96, 64] = dy[512, 96]^T x[512, 64]
  const auto dw = product("aten::mm", {{{96, 512}, {512, 64}}, {{1, 96}, {64, 1}}, types});
  ASSERT_TRUE(dw);
  EXPECT_EQ(dw->layout, GemmLayout::kTN);
  EXPECT_EQ(dw->pass, Pass::kWeightGrad);
  EXPECT_EQ((std::array{dw->m, dw->n, dw->k}), (std::array<std::int64_t, 3>{96, 64, 512}));
}

TEST(TraceProducts, WithABiasTheOperandsComeBehindIt) {
  const OperandShapes linear = {
      {{96}, {512, 64}, {64, 96}}, {{1}, {64, 1}, {1, 64}}, {"float", "float", "float"}};
  const auto y = product("aten::addmm", linear);
  ASSERT_TRUE(y);
  EXPECT_TRUE(y->bias);
  EXPECT_EQ(y->in, DType::kFp32);
}

TEST(TraceProducts, WhatIsNotKnownIsNotGuessed) {
  const std::vector<std::string> bf16 = {"c10::BFloat16", "c10::BFloat16"};
  EXPECT_FALSE(product("aten::mm", {{{4, 8}, {8, 2}}, {}, bf16}));
  EXPECT_FALSE(product("aten::mm", {{{4, 8}, {9, 2}}, {{8, 1}, {2, 1}}, bf16}));
  EXPECT_FALSE(product("aten::mm", {{{4, 8}, {8, 2}}, {{16, 2}, {2, 1}}, bf16}));
  EXPECT_FALSE(product("aten::mm", {{{4, 8}, {8, 2}}, {{8, 1}, {2, 1}}, {"double", "double"}}));
  EXPECT_FALSE(product("aten::mm", {{}, {}, {}}));
  EXPECT_FALSE(is_product("aten::bmm"));
}

// ---- A trace with shapes ----

/// A step of these products, each `calls` times one behind the other, as the profiler records them.
std::string trace_of(const std::vector<std::pair<MatMul, double>>& products, int calls) {
  std::string events = R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0,
                           "dur": 1000000000, "args": {}})";
  std::int64_t external = 0;
  double now = 10;
  const auto stored = [](std::int64_t rows, std::int64_t columns, bool transposed) {
    return transposed ? std::array{std::int64_t{1}, rows} : std::array{columns, std::int64_t{1}};
  };
  for (const auto& [p, seconds] : products) {
    const auto a = stored(p.m, p.k, p.layout == GemmLayout::kTN);
    const auto b = stored(p.k, p.n, p.layout == GemmLayout::kNT);
    for (int c = 0; c < calls; ++c, ++external, now += 1) {
      events += fmt::format(
          R"(,{{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": {0}, "dur": 1, "args": {{
             "External id": {1}, "Input Dims": [[{2}, {3}], [{3}, {4}]],
             "Input Strides": [[{5}, {6}], [{7}, {8}]],
             "Input type": ["c10::BFloat16", "c10::BFloat16"], "Ev Idx": {1}}}}})",
          now, external, p.m, p.k, p.n, a[0], a[1], b[0], b[1]);
      events += fmt::format(
          R"(,{{"ph": "X", "cat": "kernel", "name": "nvjet_hsh", "ts": {:.3f}, "dur": {:.3f},
             "args": {{"External id": {}, "device": 0}}}})",
          now, seconds * 1e6, external);
      now += seconds * 1e6;
    }
  }
  return R"({"schemaVersion": 1, "baseTimeNanoseconds": 1767225600000000000, "deviceProperties": [
             {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}], "traceEvents": [)" +
         events + "]}";
}

std::vector<Row> rows_of(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() /
                    (std::string("profile_rows_") + std::to_string(::getpid()));
  std::ofstream(path) << text;
  const KinetoTrace trace = read_kineto(path.string());
  std::filesystem::remove(path);
  // Through their text, as plait calibrate has them.
  return parse_rows(lines_of(profile_rows(trace, steps_of(trace), Compared()(trace))),
                    "rows.jsonl");
}

/// Those of a layer of Llama 3.1 8B and its head, on 8192 tokens, and how long they take where
/// everything takes 20 % longer than the data sheet's model says.
std::vector<std::pair<MatMul, double>> products_of_llama() {
  const Device h100 = find_device("h100-sxm");
  std::vector<std::pair<MatMul, double>> out;
  const std::int64_t tokens = 8192;
  for (const auto& [n, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}, {128256, 4096}}) {
    out.push_back(
        {{.pass = Pass::kForward, .layout = GemmLayout::kNT, .m = tokens, .n = n, .k = k}, 0});
    out.push_back(
        {{.pass = Pass::kInputGrad, .layout = GemmLayout::kNN, .m = tokens, .n = k, .k = n}, 0});
    out.push_back(
        {{.pass = Pass::kWeightGrad, .layout = GemmLayout::kTN, .m = n, .n = k, .k = tokens}, 0});
  }
  for (auto& [op, seconds] : out) seconds = 1.2 * CostModel{}.compute(op, h100).total().value;
  return out;
}

TEST(ProfileRows, EachShapeIsARowWithItsTimes) {
  const auto products = products_of_llama();
  const std::vector<Row> rows = rows_of(trace_of(products, 3));
  const auto& run = std::get<RunRow>(rows.front());
  EXPECT_EQ(run.bench, "profile");
  EXPECT_EQ(run.processor, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(run.date, "2026-01-01T00:00:00Z");
  ASSERT_EQ(rows.size(), products.size() + 2);
  for (std::size_t i = 0; i < products.size(); ++i) {
    const auto& row = std::get<KernelRow>(rows[i + 1]);
    const auto& op = std::get<MatMul>(row.op);
    EXPECT_EQ(row.repeats, 3);
    EXPECT_EQ(op.layout, products[i].first.layout);
    EXPECT_EQ((std::array{op.m, op.n, op.k}),
              (std::array{products[i].first.m, products[i].first.n, products[i].first.k}));
    EXPECT_NEAR(row.cpu.median, products[i].second, 2e-9);
  }
}

TEST(ProfileRows, CalibrateTheProductsThatTheyAreOf) {
  const auto products = products_of_llama();
  const Device h100 = find_device("h100-sxm");
  const CalibrationResult result = calibrate(rows_of(trace_of(products, 3)), "job", "sha", &h100);
  CostModel fitted;
  fitted.calibration = std::make_shared<const Calibration>(result.calibration);
  for (const auto& [op, seconds] : products) {
    const double predicted = fitted.compute(op, h100).total().value;
    EXPECT_NEAR(predicted / seconds, 1, 0.07) << op.m << " " << op.n << " " << op.k;
  }
}

}  // namespace plait::profile_rows_test
