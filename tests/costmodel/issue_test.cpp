// What the host has to do for ops, blocks and checkpoints.
#include "costmodel/issue.h"

#include <gtest/gtest.h>

#include <numeric>

namespace plait::issue_test {

constexpr Host kHost{Seconds(10e-6), Seconds(25e-6)};

Op op(Body body, Phase phase = Phase::kForward) {
  return {std::move(body), Stream::kCompute, phase, {}};
}
Seconds total(const Block& block, const Host& host, const Kernels& kernels = {}) {
  const std::vector<Seconds> each = issue_times(block, host, kernels);
  return std::accumulate(each.begin(), each.end(), Seconds(0));
}
MatMul product(Pass pass, bool bias = false) {
  MatMul m;
  m.pass = pass;
  m.bias = bias, m.accumulate = pass == Pass::kWeightGrad || pass == Pass::kBackward;
  return m;
}
/// Sums of gradients over microbatches and of biases over rows by kernels of their own.
Kernels autograd() {
  Kernels k;
  k.gradient_sum = k.bias = k.table_gradient = Fusion::kEager;
  return k;
}
Attention attention(Pass pass, bool fused, bool dropout) {
  Attention a;
  a.pass = pass, a.fused = fused, a.dropout = dropout;
  return a;
}

// The bias of a product is in its epilogue (aten::addmm); its gradient is where kernels.bias says
// so. Each parameter is a call of autograd's, whatever adds its gradient up.
TEST(HostCalls, AProductIsOneCallAndItsWeightGradientIsAddedUp) {
  for (const Kernels& kernels : {Kernels{}, autograd()}) {
    const int apart = kernels.bias == Fusion::kEager ? 1 : 0;
    const auto calls = [&](Pass pass, bool bias = false) {
      return host_calls(product(pass, bias), kernels);
    };
    EXPECT_EQ(calls(Pass::kForward, true), 1);
    EXPECT_EQ(calls(Pass::kInputGrad), 1);
    EXPECT_EQ(calls(Pass::kWeightGrad), 1 + 1);
    EXPECT_EQ(calls(Pass::kWeightGrad, true), (1 + 1) + (apart + 1));
    EXPECT_EQ(calls(Pass::kBackward), calls(Pass::kInputGrad) + calls(Pass::kWeightGrad));
  }
}

TEST(HostCalls, FusedAttentionTakesFewerThanUnfused) {
  for (const bool dropout : {false, true}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      EXPECT_LT(host_calls(attention(pass, true, dropout)),
                host_calls(attention(pass, false, dropout)));
    }
  }
}

// Backward of an op takes at least as many calls as forward.
TEST(HostCalls, BackwardTakesAtLeastAsMany) {
  const auto both = [](auto body) {
    body.pass = Pass::kForward;
    const std::int64_t forward = host_calls(body);
    body.pass = Pass::kBackward;
    EXPECT_GE(host_calls(body), forward);
  };
  both(MatMul{}), both(Norm{}), both(Activation{}), both(Rope{}), both(Embedding{}), both(Add{});
  both(attention(Pass::kForward, true, false)), both(attention(Pass::kForward, false, false));
}

// Megatron-LM, megatron/core/transformer/moe: what docs/models/issue.md adds up.
TEST(HostCalls, RoutingIsChoiceBalanceCountsAndOrder) {
  Kernels eager;
  eager.routing = Fusion::kEager;
  const int counts = 7, copies_to_host = 4 + 2 + 1;
  Route route;
  EXPECT_EQ(host_calls(route), 1 + (3 + 4) + counts + copies_to_host + 3);
  EXPECT_EQ(host_calls(route, eager), 10 + 14 + counts + copies_to_host + 6);
  route.pass = Pass::kBackward;
  EXPECT_EQ(host_calls(route), 2 + 2 + 1);
  EXPECT_EQ(host_calls(route, eager), 5 + 7 + 5);
}

// PEFT's result + lora_B(lora_A(x)) * scaling: two calls forward, one backward.
TEST(HostCalls, WhatAnAdapterAddsIsMultipliedBefore) {
  Add change;
  change.scaled = true;
  EXPECT_EQ(host_calls(change, {}), 2);
  EXPECT_EQ(host_calls(change, {.adapters = Fusion::kFused}), 1);
  change.pass = Pass::kBackward;
  EXPECT_EQ(host_calls(change, {}), 1);
}

// Both products of an expert: gates times bias and the sum; backward a cast, a product and a sum
// for the bias and for the gates, and the bias's sum over microbatches; of each expert.
TEST(HostCalls, BiasesOfExpertsAreAddedOneByOne) {
  Kernels biased;
  biased.expert_bias = Fusion::kEager;
  MatMul expert = product(Pass::kForward);
  EXPECT_EQ(host_calls(expert, biased), host_calls(expert)) << "no expert's";
  expert.batch = 16;
  EXPECT_EQ(2 * (host_calls(expert, biased) - host_calls(expert)), 16 * 2);
  expert.pass = Pass::kInputGrad;
  EXPECT_EQ(2 * (host_calls(expert, biased) - host_calls(expert)), 16 * (1 + 2 + 2 + 1));
  expert.pass = Pass::kWeightGrad;
  EXPECT_EQ(host_calls(expert, biased), host_calls(expert));
}

// Of e experts, backward: the input's gradient, the weight's and its sum, each e times; a product
// takes an eighth of 0.267 ms.
TEST(IssueTimes, ExpertsThatAreApartAreIssuedOneByOne) {
  MatMul grouped = product(Pass::kForward);
  grouped.batch = 16;
  MatMul backward = product(Pass::kBackward);
  backward.batch = 16;
  const Block block{"b", {op(grouped), op(backward, Phase::kBackward), op(Add{})}};
  Kernels together = autograd(), apart = together;
  apart.experts = Fusion::kEager;
  EXPECT_NEAR(total(block, kHost, together) / kHost.launch_time, 1 + 3 + 1, 1e-9);
  const Seconds product = Seconds(0.267e-3) / 8;
  const Seconds products = 16 * (1 + 2) * product, others = (16 * 1 + 1) * kHost.launch_time;
  EXPECT_NEAR(total(block, kHost, apart) / (products + others), 1, 1e-3);
  EXPECT_EQ(total(block, Host{{}, Seconds(1e-6)}, apart), Seconds()) << "launches take no time";
}

// A rank counts the tokens of all ranks, and so waits for the last gather.
TEST(HostWaits, AreBehindTheGathersOfTokens) {
  Host host;
  host.waits_for_routing = true;
  Dispatch to;
  to.senders = 2;
  const Op gather{Collective{}, Stream::kEp, Phase::kForward, {}};
  const Block gathered{"b", {op(Route{}), gather, gather, op(to), op(Combine{})}};
  const Block sent{"b", {op(Route{}), op(Dispatch{}), gather, op(Combine{})}};
  for (std::size_t i = 0; i < gathered.ops.size(); ++i) {
    EXPECT_EQ(wait_after(gathered, i, host), i == 2 ? HostWait::kOp : HostWait::kNot) << i;
    if (i == sent.ops.size()) break;
    EXPECT_EQ(wait_after(sent, i, host), i == 0 ? HostWait::kOp : HostWait::kNot) << i;
  }
}

// The own experts' columns of the map and of the gates.
TEST(HostCalls, GatheredTokensTakeTwoCopiesMore) {
  Dispatch to;
  const std::int64_t alone = host_calls(to);
  to.senders = 4;
  EXPECT_EQ(host_calls(to), alone + 2);
}

TEST(HostCalls, PaddingIsACallAtEachEndOfTheExperts) {
  const Kernels padded{.expert_padding = Fusion::kEager};
  Dispatch to;
  Combine back;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    to.pass = back.pass = pass;
    EXPECT_EQ(host_calls(to, padded), host_calls(to) + 1);
    EXPECT_EQ(host_calls(back, padded), host_calls(back) + 1);
  }
}

// A kernel for each expert beside the call, 4.5 us, or three where each tensor has its own scale.
TEST(IssueTimes, RowsOfExpertsAreCastExpertByExpert) {
  constexpr TensorId kRows = 0, kNarrow = 1, kOther = 2;
  Op cast = op(Cast{.from = DType::kBf16, .to = DType::kFp8});
  cast.operands = {{kRows, Use::kRead, 0}, {kNarrow, Use::kWrite, 0}};
  const auto times = [&](std::int64_t experts, TensorId read, const Kernels& kernels) {
    MatMul m = product(Pass::kForward);
    m.batch = experts;
    Op multiply = op(m);
    multiply.operands = {{read, Use::kRead, 0}};
    return issue_times({"b", {cast, multiply}}, kHost, kernels)[0] - kHost.launch_time;
  };
  Kernels apart;
  apart.experts = Fusion::kEager;
  const Seconds each(4.5e-6);
  EXPECT_NEAR(times(16, kNarrow, apart) / each, 16, 1e-9);
  EXPECT_EQ(times(16, kOther, apart), Seconds()) << "not what the experts read";
  EXPECT_EQ(times(1, kNarrow, apart), Seconds()) << "one product";
  EXPECT_EQ(times(16, kNarrow, {}), Seconds()) << "all at once";
  apart.amax = Fusion::kEager;
  EXPECT_NEAR(times(16, kNarrow, apart) / each, 3 * 16, 1e-9);
  cast.body = Cast{.from = DType::kBf16, .to = DType::kBf16};
  EXPECT_EQ(times(16, kNarrow, apart), Seconds()) << "a copy";
}

// Backward both products belong to one call of the layer's code.
TEST(IssueTimes, ALinearLayersCodeIsPaidOnceAPassAndTwiceInEightBits) {
  constexpr double kCalls = 1.5;
  Host layers = kHost;
  layers.linear_calls = kCalls;
  const auto more = [&](MatMul m) {
    const Block block{"b", {op(m)}};
    return (total(block, layers) - total(block, kHost)) / kHost.launch_time;
  };
  for (const Pass enters : {Pass::kForward, Pass::kInputGrad, Pass::kBackward}) {
    EXPECT_NEAR(more(product(enters)), kCalls, 1e-9);
    MatMul narrow = product(enters);
    narrow.in = DType::kFp8;
    EXPECT_NEAR(more(narrow), 2 * kCalls, 1e-9);
  }
  EXPECT_NEAR(more(product(Pass::kWeightGrad)), 0, 1e-9);
}

TEST(IssueTimes, ExpertsShareTheCodeOfTheirLayer) {
  MatMul experts = product(Pass::kForward);
  experts.batch = 16;
  const Block block{"b", {op(experts)}};
  Host layers = kHost;
  layers.linear_calls = 2;
  Kernels apart;
  apart.experts = Fusion::kEager;
  EXPECT_NEAR((total(block, layers, apart) - total(block, kHost, apart)) / kHost.launch_time, 2,
              1e-9);
}

// One launch for the kernels; what goes to the host is not in the graph.
TEST(IssueTimes, AGraphOfTheChoiceOfExpertsIsOneCall) {
  Route backward;
  backward.pass = Pass::kBackward;
  const Block block{"b", {op(Route{}), op(backward, Phase::kBackward), op(Add{})}};
  Host graph = kHost;
  graph.routing_graph = true;
  const int copies_to_host = 4 + 2 + 1;
  EXPECT_NEAR(total(block, graph) / kHost.launch_time, 1 + copies_to_host + 1 + 1, 1e-9);
  EXPECT_GT(total(block, kHost), total(block, graph));
}

TEST(IssueTimes, PiecesBesideAProductAreLaunchedAndMessagesAreCalls) {
  const auto collective = [](CollectiveKind kind, Axis axis) {
    Collective c;
    c.kind = kind, c.axes = axis;
    return op(c);
  };
  const Block block{"b",
                    {collective(CollectiveKind::kAllGather, Axis::kTp),
                     collective(CollectiveKind::kShift, Axis::kTp),
                     collective(CollectiveKind::kShift, Axis::kCp), op(Send{Axis::kPp, 1, {}})}};
  EXPECT_EQ(issue_times(block, kHost),
            (std::vector<Seconds>{kHost.collective_time, kHost.launch_time, kHost.collective_time,
                                  kHost.collective_time}));
}

HostWait wait_for(const Op& op, const Host& host) {
  return wait_after({"alone", {op, op}}, 0, host);
}

TEST(HostWaits, ForMessagesAndForTheChoiceOfExperts) {
  Host host = kHost;
  const Op route = op(Route{}), message = op(Recv{});
  EXPECT_EQ(wait_for(route, host), HostWait::kNot);
  EXPECT_EQ(wait_for(message, host), HostWait::kNot);
  host.waits_for_messages = host.waits_for_routing = true;
  EXPECT_EQ(wait_for(route, host), HostWait::kOp);
  EXPECT_EQ(wait_for(message, host), HostWait::kDevice);
  Route gradient;
  gradient.pass = Pass::kBackward;
  EXPECT_EQ(wait_for(op(gradient), host), HostWait::kNot) << "nothing is counted anew";
  EXPECT_EQ(wait_for(op(product(Pass::kForward)), host), HostWait::kNot);
}

TEST(HostWaits, InFrontOfAttentionsForwardPass) {
  Host host = kHost;
  Attention forward, backward;
  backward.pass = Pass::kBackward;
  const Op before = op(product(Pass::kForward));
  const Block first{"layer", {before, op(forward), before}}, last{"layer", {before, op(backward)}};
  EXPECT_EQ(wait_after(first, 0, host), HostWait::kNot);
  host.waits_for_lengths = true;
  EXPECT_EQ(wait_after(first, 0, host), HostWait::kOp);
  EXPECT_EQ(wait_after(first, 1, host), HostWait::kNot) << "behind it the host runs ahead";
  EXPECT_EQ(wait_after(last, 0, host), HostWait::kNot) << "backward has been told";
}

TEST(IssueTimes, OfAttentionCountWhatLengthsCost) {
  Attention fused, unfused;
  unfused.fused = false, unfused.batch = 2;
  Host host = kHost;
  const Block block{"layer", {op(fused), op(unfused)}};
  const std::vector<Seconds> told = issue_times(block, host);
  host.waits_for_lengths = true;
  const std::vector<Seconds> asks = issue_times(block, host);
  EXPECT_NEAR((asks[0] - told[0]) / host.launch_time, 3, 1e-9) << "difference, max, copy";
  EXPECT_NEAR((asks[1] - told[1]) / host.launch_time, 7 + 2 * 7, 1e-9) << "two documents' blocks";
}

TEST(HostWaits, BehindPassesForTheLastOpAlone) {
  Host host;
  host.waits_for_passes = true;
  EXPECT_TRUE(host.takes_time());
  const Op product_op = op(product(Pass::kForward));
  EXPECT_EQ(wait_after({"layer", {product_op, product_op}}, 0, host), HostWait::kNot);
  EXPECT_EQ(wait_after({"layer", {product_op, product_op}}, 1, host), HostWait::kDevice);
  host.blocking = true;
  EXPECT_EQ(wait_after({"layer", {product_op, product_op}}, 0, host), HostWait::kOp);
}

TEST(HostWaits, BehindEverythingWhereLaunchesBlock) {
  Host host;
  host.blocking = true;
  EXPECT_TRUE(host.takes_time()) << "nothing overlaps any more";
  EXPECT_EQ(wait_for(op(product(Pass::kForward)), host), HostWait::kOp);
  EXPECT_EQ(wait_for(op(Recv{}), host), HostWait::kOp);
}

TEST(IssueTimes, AreCallsTimesLaunchesAndOnePerTransfer) {
  const Block block{"b", {op(product(Pass::kForward)), op(Collective{}), op(Send{}), op(Copy{})}};
  EXPECT_EQ(issue_times(block, kHost),
            (std::vector<Seconds>{kHost.launch_time, kHost.collective_time, kHost.collective_time,
                                  kHost.launch_time}));
}

// Two pieces that are computed again, with something between them.
TEST(IssueTimes, EachRecomputedPieceCostsACheckpoint) {
  const Op again = op(product(Pass::kForward), Phase::kRecompute);
  const Op backward = op(product(Pass::kInputGrad), Phase::kBackward);
  const Block once{"b", {again, again, backward}}, twice{"b", {again, backward, again}};
  EXPECT_NEAR(total(once, kHost) / kHost.launch_time, 3 + kCheckpointCalls, 1e-9);
  EXPECT_NEAR(total(twice, kHost) / kHost.launch_time, 3 + 2 * kCheckpointCalls, 1e-9);
}

TEST(IssueTimes, AGraphIsOneLaunchWhateverItHas) {
  Host graphs = kHost;
  graphs.graphs = true;
  const Block block{"b", {op(Collective{}), op(attention(Pass::kForward, false, true))}};
  EXPECT_EQ(total(block, graphs), kHost.launch_time);
  EXPECT_TRUE(issue_times({"empty", {}}, graphs).empty());
}

TEST(IssueTimes, AreZeroByDefault) {
  EXPECT_FALSE(Host{}.takes_time());
  EXPECT_EQ(total({"b", {op(Collective{}), op(product(Pass::kForward))}}, {}), Seconds(0));
}

}  // namespace plait::issue_test
