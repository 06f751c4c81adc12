// What kernels are for that all have the same name.
#include "reports/profile/kernel_origins.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/reports/made_up_operators.h"

namespace plait::kernel_origins_test {

using enum KernelKind;

struct Told {
  std::vector<KernelKind> kinds;  // of the trace's events
  std::vector<std::string> labels;
};

Told told(const MadeUpOperators& m) {
  const KernelOrigins origins = origins_of(m.trace);
  Told out;
  for (const KernelOrigin& o : origins.of_event) {
    out.kinds.push_back(o.kind);
    out.labels.push_back(o.label < 0 ? "" : origins.labels[static_cast<std::size_t>(o.label)]);
  }
  return out;
}

TEST(KernelOrigins, TheOperatorAroundTells) {
  MadeUpOperators m;
  m.op("aten::embedding", 0, 100), m.op("aten::index_select", 10, 90), m.op("aten::copy_", 20, 30);
  m.launch();
  const Told t = told(m);
  EXPECT_EQ(t.kinds, std::vector{kEmbedding});
  EXPECT_EQ(t.labels[0], "aten::embedding");
}

// Slots take their tokens' rows; times gates they are added up to these. Another product is none of
// it.
TEST(KernelOrigins, RowsToExpertsAndBackAreRouting) {
  MadeUpOperators m;
  m.run("aten::topk", 9), m.run("aten::index_select", 10), m.run("aten::mul", 11);
  m.run("aten::zeros_like"), m.run("aten::index_add", 12), m.run("aten::mul", 13);
  m.node("IndexAddBackward0", 12, {"aten::index_select"});
  m.node("MulBackward0", 11, {"aten::mul"});
  m.node("IndexSelectBackward0", 10, {"aten::index_add_"});
  const Told t = told(m);
  EXPECT_EQ(t.kinds, (std::vector{kRouting, kRouting, kRouting, kRouting, kRouting, kUnknown,
                                  kRouting, kRouting, kRouting}));
}

TEST(KernelOrigins, WithoutOperatorsNothingIsKnown) {
  MadeUpOperators m;
  m.kernel("elementwise_kernel", -1, 0, 10);
  m.kernel("elementwise_kernel", -1, 10, 20).external = 77;
  const Told t = told(m);
  EXPECT_EQ(t.kinds, (std::vector{kUnknown, kUnknown}));
  EXPECT_EQ(t.labels[1], "");
}

TEST(KernelOrigins, ANodeIsOfWhatRanForward) {
  MadeUpOperators m;
  m.run("aten::silu", 10), m.run("aten::mul", 11), m.run("aten::mul", 12);
  m.node("MulBackward0", 12, {"aten::mul"});
  m.node("MulBackward0", 11, {"aten::mul"});
  m.node("SiluBackward0", 10, {"aten::silu_backward"});
  const Told t = told(m);
  EXPECT_EQ(t.kinds,
            (std::vector{kActivation, kActivation, kUnknown, kUnknown, kActivation, kActivation}));
  EXPECT_EQ(t.labels[3], "aten::mul in MulBackward0");
}

TEST(KernelOrigins, OfOperatorsThatSawANumberTheLastUsedItUp) {
  MadeUpOperators m;
  m.run("aten::randint", 10), m.run("aten::silu", 10);
  m.node("SomeBackward0", 10, {"aten::mul"});
  EXPECT_EQ(told(m).kinds.back(), kActivation);
}

TEST(KernelOrigins, ANumberOfTwoThreadsTellsNothing) {
  MadeUpOperators m;
  m.run("aten::silu", 10);
  m.op("aten::mul", 0, 5, 10, 3), m.launch();
  m.node("SomeBackward0", 10, {"aten::mul"});
  EXPECT_EQ(told(m).kinds.back(), kUnknown);
}

TEST(KernelOrigins, GradientsAreSummedByAccumulateGrad) {
  MadeUpOperators m;
  m.node("torch::autograd::AccumulateGrad", -1, {"aten::add_"}, "aten::add_");
  const Told t = told(m);
  EXPECT_EQ(t.kinds, (std::vector{kGradientSum, kGradientSum}));
  EXPECT_EQ(t.labels[1], "aten::add_ in AccumulateGrad");
}

TEST(KernelOrigins, TheEngineAddsToTheResidualStreamBehindANorm) {
  MadeUpOperators m;
  m.run("aten::rms_norm", 10);
  m.node("FusedRmsNormBackward0", 10, {"aten::sum"}, "aten::add_");
  EXPECT_EQ(told(m).kinds, (std::vector{kNorm, kNorm, kResidualAdd}));
}

TEST(KernelOrigins, SumsOfAProductsNodeAreOfItsBias) {
  MadeUpOperators m;
  m.op("aten::linear", 0, 100, 10), m.op("aten::addmm", 10, 90, 11), m.launch("nvjet");
  m.node("AddmmBackward0", 11, {"aten::mm", "aten::sum"});
  EXPECT_EQ(told(m).kinds, (std::vector{kMatMul, kMatMul, kBiasGradient}));
}

TEST(KernelOrigins, InputGradientsOfSeparateProductsAreSummedBehindAView) {
  MadeUpOperators m;
  m.op("aten::linear", 0, 100, 10), m.op("aten::matmul", 10, 90, 11);
  m.op("aten::view", 20, 30, 11), m.op("aten::mm", 40, 80, 12), m.launch("nvjet");
  m.node("ViewBackward0", 11, {}, "aten::add_");
  EXPECT_EQ(told(m).kinds, (std::vector{kMatMul, kMatMul}));
}

TEST(KernelOrigins, WhatIsComputedAgainIsNotOfItsNode) {
  MadeUpOperators m;
  m.op("autograd::engine::evaluate_function: SiluBackward0", 0, 100, 10, 2);
  m.op("SiluBackward0", 1, 99, 10, 2);
  m.op("aten::mul", 10, 20, 900, 2), m.launch();
  m.op("aten::gelu", 20, 30, 901, 2), m.launch();
  m.op("aten::silu_backward", 30, 40, -1, 2), m.launch();
  const Told t = told(m);
  EXPECT_EQ(t.kinds, (std::vector{kUnknown, kActivation, kActivation}));
  EXPECT_EQ(t.labels[0], "aten::mul");
}

TEST(KernelOrigins, WithinAnOptimizersStepEverythingIsOfIt) {
  MadeUpOperators m;
  m.op("Optimizer.step#AdamW.step", 0, 100), m.op("aten::mul", 10, 20), m.launch();
  m.op("fsdp::all_gather_copy_in", 100, 200), m.op("aten::_foreach_copy_", 110, 120), m.launch();
  EXPECT_EQ(told(m).kinds, (std::vector{kOptimizer, kElementwise}));
}

TEST(KernelOrigins, AnAnnotationTellsForwardAndBackward) {
  MadeUpOperators m;
  m.op("apply_rotary", 0, 100), m.op("aten::sub", 10, 20, 5), m.launch();
  m.node("SubBackward0", 5, {"aten::neg"});
  EXPECT_EQ(told(m).kinds, (std::vector{kRope, kRope}));
}

TEST(KernelOrigins, FunctionsOfPythonKeepTheirName) {
  MadeUpOperators m;
  m.op("autograd::engine::evaluate_function: MyRopeBackward", 0, 100, 10, 2);
  m.op("MyRopeBackward", 10, 90, 10, 2), m.launch();
  m.run("aten::mul");
  const Told t = told(m);
  EXPECT_EQ(t.kinds, (std::vector{kRope, kUnknown}));
  EXPECT_EQ(t.labels[0], "MyRopeBackward");
}

TEST(KernelOrigins, ViewsAndTheirNodesAreNotKept) {
  MadeUpOperators m;
  m.op("aten::view", 0, 10, 1), m.op("aten::transpose", 10, 20, 2), m.op("aten::empty", 20, 30);
  m.node("TransposeBackward0", 2, {});
  m.run("aten::mul");
  std::size_t kept = 0;
  for (const TraceThread& t : m.trace.threads) kept += t.operators.size();
  EXPECT_EQ(kept, 1 + 2);  // the node is dropped when another operator of its thread follows
  m.op("aten::mul", m.now, m.now + 1, -1, 2);
  EXPECT_EQ(m.trace.threads[1].operators.size(), 1);
}

/// Whatever operators are within, and whatever numbers they have, something is told or nothing.
RC_GTEST_PROP(KernelOrigins, AnyOperatorsAreTaken, ()) {
  MadeUpOperators m;
  const std::vector<std::string> names = {"aten::mul",
                                          "aten::silu",
                                          "aten::neg",
                                          "aten::cat",
                                          "aten::view",
                                          "MulBackward0",
                                          "autograd::engine::evaluate_function: MulBackward0",
                                          "aten::linear",
                                          "torch::autograd::AccumulateGrad"};
  for (int n = *rc::gen::inRange(0, 30); n > 0; --n) {
    const std::int64_t start = *rc::gen::inRange<std::int64_t>(0, 100);
    m.op(*rc::gen::elementOf(names), start, start + *rc::gen::inRange<std::int64_t>(0, 100),
         *rc::gen::inRange<std::int64_t>(-1, 4), *rc::gen::inRange<std::int64_t>(1, 3));
    m.launch();
  }
  RC_ASSERT(told(m).kinds.size() == m.trace.events.size());
}

}  // namespace plait::kernel_origins_test
