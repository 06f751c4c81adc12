#include "costmodel/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/json.h"
#include "core/new_file.h"
#include "costmodel/calibration_cost.h"
#include "costmodel/costmodel.h"
#include "costmodel/kernel_features.h"
#include "tests/costmodel/devices.h"

namespace plait::calibration_test {

Calibration example() {
  Calibration c;
  c.name = "box \"1\"";
  c.raw_sha256 = std::string(64, 'a');
  c.machine = "cpu, kernel, g++";
  c.date = "2026-01-02T03:04:05Z";
  c.cores = 2;
  c.kernels["fill"] = {.coefficients = {1e-7, 1.0 / 3e9},
                       .least = {1, 64},
                       .most = {1, 4096},
                       .missed = {},
                       .fitted_error = 0.01,
                       .held_out_error = 0.021,
                       .fitted_rows = 7,
                       .held_out_rows = 3};
  c.kernels["cast"] = c.kernels["fill"];
  c.kernels["cast"].missed = {.lengths = {0.7},
                              .scale = 0.1,
                              .mean = -0.01,
                              .points = {{std::log(64)}, {std::log(4096)}},
                              .weights = {0.5, -1.0 / 3}};
  c.kernels["matmul.nt.small"] = {.coefficients = {1e-6, 1e-11, 1e-9, 2e-9, 3e-9, 0, 4e-9},
                                  .least = {1, 1, 1, 1, 1, 0, 0},
                                  .most = {1, 1e9, 1e6, 1e6, 1e6, 0, 1e6},
                                  .missed = {},
                                  .held_out_error = 0.03};
  MessageFit threads;
  threads.send = Piecewise({{0, 1e-6}, {1024, 2e-6}});
  threads.receive = Piecewise({{8, 1.5e-6}});
  threads.latency = Seconds(1.0 / 3e6);
  threads.wake = Seconds(1.0 / 7e6);
  threads.held_out_error = 0.04;
  c.transports["threads"] = threads;
  c.copy = Piecewise({{1, 2}, {3, 4}});
  c.held_multiprocessors = {{"all_reduce", 21.5}, {"all_gather over nodes", 1.0 / 3}};
  return c;
}

TEST(Calibration, ReadsBackAsWritten) {
  const std::string text = to_json(example());
  const Calibration back = parse_calibration(text, "test");
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back.kernels.at("fill").coefficients, example().kernels.at("fill").coefficients);
  EXPECT_EQ(back.kernels.at("cast").missed.points, example().kernels.at("cast").missed.points);
  EXPECT_EQ(back.transports.at("threads").latency, example().transports.at("threads").latency);
  EXPECT_EQ(back.transports.at("threads").send.points().size(), 2U);
  EXPECT_TRUE(back.combine.points().empty());
  EXPECT_EQ(back.held_multiprocessors, example().held_multiprocessors);
}

TEST(Calibration, IsReadFromAFile) {
  const std::string path = testing::TempDir() + "/plait-calibration.json";
  write_file(path, to_json(example()));
  EXPECT_EQ(to_json(load_calibration(path)), to_json(example()));
}

struct Wrong {
  const char* text;
  const char* code;
  const char* path;
};

TEST(Calibration, MalformedFilesAreRefusedWithTheirPlace) {
  for (const Wrong& w : {
           Wrong{R"([])", "F003", ""},
           Wrong{R"({"name": "x"})", "F002", ""},
           Wrong{R"({"name": "x", "raw_sha256": "", "core": 2})", "F001", "core"},
           Wrong{R"({"name": "x", "raw_sha256": "", "cores": -2})", "U004", "cores"},
           Wrong{R"({"name": "x", "raw_sha256": "", "kernels": []})", "F003", "kernels"},
           Wrong{R"({"name": "x", "raw_sha256": "", "copy": {"bytes": [1, 1], "seconds": [1, 2]}})",
                 "K001", "copy"},
           Wrong{R"({"name": "x", "raw_sha256": "", "copy": {"bytes": [1, 2], "seconds": [1]}})",
                 "K001", "copy"},
           Wrong{R"({"name": "x", "raw_sha256": "", "kernels": {"sill": {"features": ["calls"],
                 "coefficients": [1], "least": [1], "most": [1]}}})",
                 "K002", "kernels.sill"},
           Wrong{R"({"name": "x", "raw_sha256": "", "kernels": {"fill": {"features": ["calls"],
                 "coefficients": [1], "least": [1], "most": [1]}}})",
                 "K002", "kernels.fill"},
           Wrong{R"({"name": "x", "raw_sha256": "", "kernels": {"fill": {
                 "features": ["calls", "elements"], "coefficients": [1], "least": [1, 1],
                 "most": [1, 1]}}})",
                 "K002", "kernels.fill"},
           Wrong{R"({"name": "x", "raw_sha256": "", "kernels": {"fill": {
                 "features": ["calls", "elements"], "coefficients": [1, -1], "least": [1, 1],
                 "most": [1, 1]}}})",
                 "U004", "kernels.fill.coefficients.1"},
           Wrong{R"({"name": "x", "raw_sha256": "", "kernels": {"fill": {
                 "features": ["calls", "elements"], "coefficients": [1, 1], "least": [1, 1],
                 "most": [1, 1], "sizes": ["elements"], "missed": {"lengths": [1],
                 "points": [[8, 8]], "weights": [1]}}}})",
                 "K002", "kernels.fill"},
           Wrong{R"({"name": "x", "raw_sha256": "", "kernels": {"fill": {
                 "features": ["calls", "elements"], "coefficients": [], "least": [1, 1],
                 "most": [1, 1]}}})",
                 "K002", "kernels.fill"},
       }) {
    try {
      parse_calibration(w.text, "bad.json");
      ADD_FAILURE() << "taken: " << w.text;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, w.code) << e.what();
      EXPECT_EQ(e.text().where.path, w.path) << e.what();
      EXPECT_EQ(e.text().where.file, "bad.json");
    }
  }
}

// ---- tables

TEST(Piecewise, IsStraightBetweenPointsAndThroughThem) {
  const Piecewise table({{100, 1}, {200, 3}, {400, 4}});
  EXPECT_EQ(table.at(Bytes(0)).value, 1);
  EXPECT_EQ(table.at(Bytes(100)).value, 1);
  EXPECT_EQ(table.at(Bytes(150)).value, 2);  // half way
  EXPECT_EQ(table.at(Bytes(200)).value, 3);
  EXPECT_EQ(table.at(Bytes(300)).value, 3.5);
  EXPECT_EQ(table.at(Bytes(400)).value, 4);
  EXPECT_EQ(table.at(Bytes(800)).value, 6);  // 1 s in 200 bytes, as between the last two
}

TEST(Piecewise, OnePointIsAConstantAndNoneIsZero) {
  EXPECT_EQ(Piecewise({{100, 2}}).at(Bytes(1)).value, 2);
  EXPECT_EQ(Piecewise({{100, 2}}).at(Bytes(1000)).value, 2);
  EXPECT_EQ(Piecewise().at(Bytes(1000)).value, 0);
}

TEST(Piecewise, NeverFallsBeyondItsLastPoint) {
  EXPECT_EQ(Piecewise({{100, 3}, {200, 2}}).at(Bytes(1000)).value, 2);
}

TEST(Piecewise, DisorderIsABug) { EXPECT_THROW(Piecewise({{2, 1}, {1, 2}}), InternalError); }

// ---- the cost model with a calibration

const Device kAny = h100();

CostModel calibrated() {
  CostModel model;
  model.calibration = std::make_shared<const Calibration>(example());
  return model;
}

TEST(CalibratedCost, IsTheSumOfCoefficientsTimesFeatures) {
  const Cost cost = calibrated().compute(Fill{3000, DType::kFp32}, kAny);
  EXPECT_NEAR(cost.total().value, 1e-7 + 3000 / 3e9, 1e-18);
  EXPECT_EQ(cost.share[kLaunchOverhead].value, 1e-7);
  EXPECT_NEAR(cost.share[kMemoryBandwidth].value, 1e-6, 1e-18);
  EXPECT_EQ(cost.provenance, Provenance::kFitted);
  EXPECT_NEAR(cost.band, 2 * 0.021, 1e-15);
}

TEST(CalibratedCost, WhatTheSumMissesIsAFactor) {
  const Calibration c = example();
  const Cast cast{.elements = 64, .from = DType::kFp32, .to = DType::kFp32};
  const Fill fill{.elements = 64, .dtype = DType::kFp32};
  const auto total = [&](const Compute& op) { return fitted_cost(op, c, kAny)->total(); };
  // k(64, 64) = s^2, and of 4096, 4.16 away in logarithms: r = 10.3
  const double far = std::sqrt(3) * std::log(64) / 0.7;
  const double missed = -0.01 + 0.01 * (0.5 - (1 + far) * std::exp(-far) / 3);
  EXPECT_NEAR(total(cast) / total(fill), std::exp(missed), 1e-12);
}

TEST(CalibratedCost, ProductsSpendTheirTimeOnThePeakRate) {
  const MatMul op{.m = 10, .n = 20, .k = 30, .in = DType::kFp32, .out = DType::kFp32};
  const Cost cost = calibrated().compute(op, cpu());
  EXPECT_NEAR(cost.share[kPeakFlops].value,
              6000 * 1e-11 + 200 * 1e-9 + 600 * 2e-9 + 300 * 3e-9 + 200 * 4e-9, 1e-18);
  EXPECT_EQ(cost.share[kMemoryBandwidth].value, 0);
}

// Vidur's layers on an H100 take 1.10 times as long as the same products alone (efficiency.cpp). A
// profile's rows are of a step already, and a processor has nothing to share.
TEST(CalibratedCost, ProductsThatWereMeasuredAloneTakeLongerInAStep) {
  const MatMul op{.m = 10, .n = 20, .k = 30, .in = DType::kFp32, .out = DType::kFp32};
  const auto seconds = [&](bool in_steps, const Device& device) {
    Calibration c = example();
    c.in_steps = in_steps;
    CostModel model;
    model.calibration = std::make_shared<const Calibration>(c);
    return model.compute(op, device).total().value;
  };
  EXPECT_NEAR(seconds(false, kAny) / seconds(true, kAny), 1.10, 1e-12);
  EXPECT_EQ(seconds(false, cpu()), seconds(true, cpu()));
  const Compute fill = Fill{3000, DType::kFp32};
  EXPECT_EQ(calibrated().compute(fill, kAny).total(), calibrated().compute(fill, cpu()).total());
}

TEST(CalibratedCost, OutsideTheMeasuredSizesItIsExtrapolatedAndLessSure) {
  const Cost inside = calibrated().compute(Fill{4096, DType::kFp32}, kAny);
  const Cost outside = calibrated().compute(Fill{4097, DType::kFp32}, kAny);
  EXPECT_EQ(inside.provenance, Provenance::kFitted);
  EXPECT_EQ(outside.provenance, Provenance::kExtrapolated);
  EXPECT_GT(outside.band, inside.band);
  const MatMul with_bias{.m = 10, .n = 20, .k = 30, .in = DType::kFp32, .bias = true};
  EXPECT_EQ(calibrated().compute(with_bias, kAny).provenance, Provenance::kExtrapolated)
      << "no row with a bias was fitted";
}

/// Of a class without rows to judge it by no error is known: that is none of 0.
TEST(CalibratedCost, WhatNoRowJudgedIsAsUnsureAsWhatIsExtrapolatedAtLeast) {
  CostModel model;
  Calibration c = example();
  KernelFit& fill = c.kernels.at("fill");
  fill.held_out_error = 0, fill.held_out_rows = 0;
  model.calibration = std::make_shared<const Calibration>(c);
  const Cost inside = model.compute(Fill{4096, DType::kFp32}, kAny);
  const Cost outside = model.compute(Fill{4097, DType::kFp32}, kAny);
  EXPECT_EQ(inside.provenance, Provenance::kFitted);
  EXPECT_GT(inside.band, 0);
  EXPECT_EQ(inside.band, outside.band);
}

TEST(CalibratedCost, WhatWasNotMeasuredIsAsWithout) {
  for (const Compute& op : {Compute(Fill{3000, DType::kBf16}), Compute(SquaredNorm{3000}),
                            Compute(Fill{0, DType::kFp32})}) {
    const Cost with = calibrated().compute(op, kAny), without = CostModel{}.compute(op, kAny);
    EXPECT_EQ(with.total(), without.total());
    EXPECT_EQ(with.provenance, without.provenance);
  }
}

// ---- features

std::vector<Compute> every_op() {
  return {MatMul{},      Attention{},  Norm{},        HeadNorm{},  Activation{}, Rope{},
          LatentHeads{}, CausalConv{}, Scan{},        GatedNorm{}, Embedding{},  CrossEntropy{},
          Route{},       Dispatch{},   Combine{},     Add{},       BiasGrad{},   Cast{},
          Fill{},        Adam{},       SquaredNorm{}, Amax{},      DeltaRule{},  Gate{}};
}

TEST(KernelFeatures, EveryOpHasAValueForEachName) {
  ASSERT_EQ(every_op().size(), std::variant_size_v<Compute>);
  for (const Compute& op : every_op()) {
    const std::vector<double> values = kernel_features(op);
    EXPECT_EQ(values.size(), feature_names(kernel_name(op)).size()) << kernel_name(op);
    EXPECT_EQ(kernel_sizes(op).size(), size_names(kernel_name(op)).size()) << kernel_name(op);
    EXPECT_EQ(values.at(0), 1) << "the call itself";
    const bool heads = std::holds_alternative<HeadNorm>(op);
    EXPECT_TRUE(kernel_class(op).starts_with(heads ? "norm" : kernel_name(op)));
  }
  EXPECT_TRUE(feature_names("no such kernel").empty());
}

TEST(KernelFeatures, FusedCausalAttentionVisitsTilesUpToTheDiagonal) {
  Attention op{.batch = 1, .heads = 1, .kv_heads = 1, .head_dim = 1, .dtype = DType::kFp32};
  const auto pairs = [&](std::int64_t s) {
    op.seq_q = op.seq_kv = s;
    return kernel_features(op).at(3);
  };
  EXPECT_EQ(pairs(32), 32 * 32);            // part of one tile
  EXPECT_EQ(pairs(128), 3 * 64 * 64);       // 3 of 4 tiles
  EXPECT_EQ(pairs(96), 64 * 64 + 32 * 96);  // a whole row of tiles, then a part of one
  op.causal = false;
  EXPECT_EQ(pairs(128), 128 * 128);
}

/// The shares of the two nearest widths add up to the elements, in proportion to the octave.
TEST(KernelFeatures, RowsAreInterpolatedBetweenWidths) {
  const auto of = [](std::int64_t width) {
    return kernel_features(BiasGrad{10, width, DType::kFp32, DType::kFp32});
  };
  EXPECT_EQ(of(128), (std::vector<double>{1, 10, 0, 1280, 0, 0, 0, 0}));
  EXPECT_EQ(of(2048), (std::vector<double>{1, 10, 0, 0, 0, 0, 0, 20480}));
  EXPECT_EQ(of(8192), (std::vector<double>{1, 10, 0, 0, 0, 0, 0, 81920})) << "as the last one";
  EXPECT_EQ(of(16), (std::vector<double>{1, 10, 160, 0, 0, 0, 0, 0})) << "as the first one";
  const std::vector<double> between = of(181);  // half an octave above 128
  EXPECT_NEAR(between[3], 905, 2);
  EXPECT_NEAR(between[4], 905, 2);
}

TEST(KernelFeatures, ClassesTellApartWhatRunsDifferentCode) {
  EXPECT_EQ(kernel_class(MatMul{
                .layout = GemmLayout::kTN, .m = 128, .n = 128, .k = 128, .in = DType::kFp32}),
            "matmul.tn");
  EXPECT_EQ(kernel_class(MatMul{.m = 1, .n = 1, .k = 1, .in = DType::kFp32}), "matmul.nt.small");
  EXPECT_EQ(kernel_class(Norm{Pass::kBackward, NormKind::kLayerNorm, 1, 1, DType::kFp32}),
            "norm.layer.backward");
  EXPECT_EQ(kernel_class(HeadNorm{.pass = Pass::kBackward, .dtype = DType::kFp32}),
            "norm.rms.backward");
  EXPECT_EQ(kernel_class(Add{Pass::kForward, 1, 1, true, true, DType::kFp32}),
            "add.dropout.bias.forward");
}

}  // namespace plait::calibration_test
