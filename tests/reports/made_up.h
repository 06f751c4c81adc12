#pragma once
// A plan of two pipeline stages and two replicas, small enough to work out by hand: stage 0
// multiplies and sends, stage 1 receives and multiplies; then both reduce over dp.
//
//   ns        0        1000     1500      2500      3000
//   stage 0   matmul   send               .         all_reduce (2500 to 3000, a stream of its own)
//   stage 1            recv     matmul    all_reduce
//
// Every matmul is 1000 x 1000 x 1000: 2e9 FLOPs; 4 ranks: 8e9. The step is 3000 ns.

#include <algorithm>
#include <string>
#include <vector>

#include "plan/steady_step.h"
#include "reports/report.h"
#include "topologies/catalogue.h"

namespace plait {

constexpr SimTime kNs = 1000;  // picoseconds

struct MadeUp {
  Model model;
  Workload workload;
  Strategy strategy;
  Plan plan;
  Cluster cluster;
  Timeline timeline;
  Explanation explanation;
  std::vector<StageUse> memory;
  std::vector<ChosenCollective> collectives;
  std::vector<ContentionLine> contention;

  MadeUp() {
    model.name = "tiny";
    workload.sequence_length = 10;
    workload.global_batch = 6;
    strategy.mesh[Axis::kPp] = 2;
    strategy.mesh[Axis::kDp] = 2;
    make_up_plan();
    make_up_machine();
    make_up_results();
  }

  ReportInputs inputs() const {
    const SimTime step = steady_step(plan, timeline);
    return {model,
            workload,
            strategy,
            plan,
            counts_of(plan),
            cluster,
            {step, timeline.step_time - step},
            explanation,
            memory,
            collectives,
            contention,
            {{0, 0, 0.75, 0.25}, 0.2},
            {"1.2.3", "abcdef", "two stages", "0123456789abcdef", "plait run x.json", {}}};
  }
  Report report() const { return summarize(inputs()); }

 private:
  static Op op(Body body, Stream stream, std::vector<Operand> operands,
               Phase phase = Phase::kForward) {
    return {std::move(body), stream, phase, std::move(operands)};
  }

  void make_up_plan() {
    plan.name = "tiny";
    plan.mesh = strategy.mesh;
    plan.layers = 2;
    plan.microbatches = 1;
    plan.tokens_per_step = 60;
    plan.model_flops = Flops(6e9);  // a quarter of the multiplications is recomputation
    Tensor t;
    t.name = "hidden";
    t.dims[0] = {1000, {}, {}};
    t.rank = 1;
    t.scope = Scope::kMicrobatch;
    plan.tensors = {t};
    Tensor gradient = t;
    gradient.name = "gradient";
    gradient.kind = TensorClass::kGradient;
    plan.tensors.push_back(gradient);
    const MatMul m{.m = 1000, .n = 1000, .k = 1000};
    const Collective reduce{.kind = CollectiveKind::kAllReduce,
                            .axes = Axis::kDp,
                            .dtype = DType::kFp32,
                            .elements = 250};
    const Op sync = op(reduce, Stream::kGradSync, {{1, Use::kUpdate, 0}}, Phase::kGradSync);
    plan.blocks = {
        {"first",
         {op(Compute(m), Stream::kCompute, {{0, Use::kWrite, 0}}),
          op(Send{Axis::kPp, 1, Bytes(2000)}, Stream::kSendForward, {{0, Use::kRead, 0}}), sync}},
        {"last",
         {op(Recv{Axis::kPp, -1, Bytes(2000)}, Stream::kRecvForward, {{0, Use::kWrite, 0}}),
          op(Compute(m), Stream::kCompute, {{0, Use::kRead, 0}}, Phase::kBackward), sync}}};
    plan.programs = {{{Call{.block = 0, .layer = 0}}}, {{Call{.block = 1, .layer = 1}}}};
  }

  void make_up_machine() {
    cluster.graph = make_cluster({.preset = "dgx-v100", .nodes = 2}).graph;  // of any two nodes
    cluster.name = "box";
    cluster.device.name = "toy";
    cluster.device.peak_bf16 = FlopsPerSecond(1e15);
    cluster.device.memory = Bytes(1000);
    cluster.devices_per_node = 2;
    cluster.nodes = 2;
  }

  void make_up_results() {
    timeline.step_time = 3000 * kNs;
    timeline.tracks = {
        {0, 0, 2, {0, 1000 * kNs, 2500 * kNs}, {1000 * kNs, 1500 * kNs, 3000 * kNs}},
        {1, 2, 2, {1000 * kNs, 1500 * kNs, 2500 * kNs}, {1500 * kNs, 2500 * kNs, 3000 * kNs}}};
    explanation.breakdown = {{"compute", "matmul", Seconds(1.0e-6)},
                             {"exposed_communication", "dp", Seconds(0.5e-6)},
                             {"exposed_communication", "pp", Seconds(0.5e-6)},
                             {"bubble", "", Seconds(1.0e-6)}};
    explanation.critical_path = {{"compute", "matmul", Seconds(2.0e-6)},
                                 {"exposed_communication", "pp", Seconds(0.5e-6)},
                                 {"exposed_communication", "dp", Seconds(0.5e-6)}};
    explanation.sensitivity = {{"launch_overhead", Seconds(0.3e-6)},
                               {"peak_flops", Seconds(1.1e-6)}};
    explanation.bound_by = "compute";
    memory.resize(2);
    memory[0].live.peak = Bytes(600), memory[0].live.peak_op = 1;
    memory[0].live.by_class = {Bytes(100), Bytes(200), Bytes(0), Bytes(300)};
    memory[0].live.at_peak = {{0, 3, Bytes(300)}, {1, 1, Bytes(200)}};
    memory[0].live.curve = {{0, {Bytes(100), Bytes(200), Bytes(0), Bytes(0)}},
                            {1, {Bytes(100), Bytes(200), Bytes(0), Bytes(300)}}};
    memory[0].overheads = {{"cuda_context", Bytes(150), "a test"}};
    memory[1].live.peak = Bytes(500), memory[1].live.by_class = {Bytes(500)};
    CollectiveCost cost;
    cost.cost.share[kLaunchOverhead] = Seconds(0.5e-6);
    GroupPlacement group;
    group.ranks = 2;
    group.nodes = 2;
    collectives = {{std::get<Collective>(plan.blocks[0].ops[2].body), group, cost}};
  }
};

}  // namespace plait
