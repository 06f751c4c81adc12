#pragma once
// Plans written by hand, and machines on which their times are easy to work out.

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "plan/schedule.h"
#include "topologies/catalogue.h"

namespace plait {

/// A kernel of `k` million multiply-adds.
inline Compute matmul(std::int64_t k) { return MatMul{.m = 1000, .n = 1000, .k = k}; }

/// Kernels run at the matrix units' speed and launch in no time; messages of no bytes take none.
inline Cluster ideal_machine(std::int64_t devices) {
  ClusterSpec spec;
  spec.devices_per_node = devices;
  Cluster c = make_cluster(spec);
  c.device.launch_overhead = Seconds(0);
  c.device.memory_bandwidth = BytesPerSecond(std::numeric_limits<double>::infinity());
  return c;
}

inline Op kernel(Compute body, std::vector<Operand> operands, Phase phase = Phase::kForward) {
  return {std::move(body), Stream::kCompute, phase, std::move(operands)};
}
inline Op send(TensorId t, bool forward) {
  return {Send{Axis::kPp, forward ? 1 : -1, Bytes(0)},
          forward ? Stream::kSendForward : Stream::kSendBackward,
          forward ? Phase::kForward : Phase::kBackward,
          {{t, Use::kRead, 0}}};
}
inline Op receive(TensorId t, bool forward) {
  return {Recv{Axis::kPp, forward ? -1 : 1, Bytes(0)},
          forward ? Stream::kRecvForward : Stream::kRecvBackward,
          forward ? Phase::kForward : Phase::kBackward,
          {{t, Use::kWrite, 0}}};
}

inline Tensor tensor(const char* name, Scope scope) {
  Tensor t;
  t.name = name;
  t.dims[0] = Dim{1000};
  t.rank = 1;
  t.scope = scope;
  return t;
}
inline Plan empty_plan(std::int64_t stages, std::int64_t layers, std::int64_t microbatches) {
  Plan plan;
  plan.name = "by hand";
  plan.mesh[Axis::kPp] = stages;
  plan.layers = layers;
  plan.microbatches = microbatches;
  plan.programs.resize(static_cast<std::size_t>(stages));
  return plan;
}

/// Stage 0: first, send. Stage 1: warm, recv, last.
inline Plan two_stages() {
  Plan plan = empty_plan(2, 1, 1);
  plan.tensors = {tensor("x", Scope::kMicrobatch), tensor("y", Scope::kMicrobatch)};
  plan.blocks = {{"first", {kernel(matmul(1), {{0, Use::kWrite, 0}})}},
                 {"send", {send(0, true)}},
                 {"warm", {kernel(matmul(1), {{1, Use::kWrite, 0}})}},
                 {"recv", {receive(0, true)}},
                 {"last", {kernel(matmul(1), {{0, Use::kRead, 0}})}}};
  // "warm" stands before "recv", which therefore starts behind it.
  plan.programs[0].calls = {{.block = 0}, {.block = 1}};
  plan.programs[1].calls = {{.block = 2}, {.block = 3}, {.block = 4}};
  return plan;
}

/// Each stage waits for the other's message before it sends its own.
inline Plan crossed_messages() {
  Plan plan = empty_plan(2, 1, 1);
  plan.tensors = {tensor("x", Scope::kMicrobatch), tensor("dx", Scope::kMicrobatch)};
  const Op wait_dx = kernel(matmul(1), {{1, Use::kRead, 0}, {0, Use::kWrite, 0}});
  const Op wait_x = kernel(matmul(1), {{0, Use::kRead, 0}, {1, Use::kWrite, 0}});
  plan.blocks = {{"take_gradient", {receive(1, false)}},
                 {"make_x", {wait_dx}},
                 {"give_x", {send(0, true)}},
                 {"take_x", {receive(0, true)}},
                 {"make_gradient", {wait_x}},
                 {"give_gradient", {send(1, false)}}};
  plan.programs[0].calls = {{.block = 0}, {.block = 1}, {.block = 2}};
  plan.programs[1].calls = {{.block = 3}, {.block = 4}, {.block = 5}};
  return plan;
}

/// To or from the stage on the other side.
inline void turn_round(Op& message) {
  if (Send* s = std::get_if<Send>(&message.body)) s->offset = -s->offset;
  if (Recv* r = std::get_if<Recv>(&message.body)) r->offset = -r->offset;
}

/// A pipeline of equal stages and nothing else: a forward kernel of `f` and a backward kernel of
/// `b` million multiply-adds per chunk and microbatch, in the order of plan/schedule.h.
inline Plan equal_stages(Schedule kind, std::int64_t stages, std::int64_t chunks,
                         std::int64_t microbatches, std::int64_t f, std::int64_t b,
                         std::int64_t w = 0) {
  const PieceMap places(kind, stages, chunks);
  Plan plan = empty_plan(stages, places.count(), microbatches);
  enum : TensorId { kX, kDx };
  plan.tensors = {tensor("x", Scope::kLayerMicrobatch), tensor("dx", Scope::kLayerMicrobatch)};
  const Op forward = kernel(matmul(f), {{kX, Use::kRead, 0}, {kX, Use::kWrite, 1}});
  const Op backward =
      kernel(matmul(b), {{kX, Use::kRead, 1}, {kDx, Use::kRead, 1}, {kDx, Use::kWrite, 0}},
             Phase::kBackward);
  const Op weights = kernel(matmul(std::max<std::int64_t>(w, 1)),
                            {{kX, Use::kRead, 0}, {kDx, Use::kRead, 1}}, Phase::kWeightGrad);
  enum : BlockId {
    kForward,
    kBackward,
    kWeights,
    kTakeX,
    kGiveX,
    kTakeDx,
    kGiveDx,
    kTakeXBack,
    kGiveXBack,
    kTakeDxBack,
    kGiveDxBack
  };
  plan.blocks = {{"forward", {forward}},          {"backward", {backward}},
                 {"backward.weights", {weights}}, {"take_x", {receive(kX, true)}},
                 {"give_x", {send(kX, true)}},    {"take_dx", {receive(kDx, false)}},
                 {"give_dx", {send(kDx, false)}}};
  if (places.shape != PipelineShape::kLoop) {
    for (const BlockId there : {kTakeX, kGiveX, kTakeDx, kGiveDx}) {
      Block back = plan.blocks[there];
      turn_round(back.ops[0]);
      plan.blocks.push_back(back);
    }
  }
  if (stages == 1) plan.blocks.resize(3);  // nobody to exchange with
  for (std::int64_t s = 0; s < stages; ++s) {
    std::vector<Call>& calls = plan.programs[static_cast<std::size_t>(s)].calls;
    for (const Task& t : schedule(kind, stages, s, chunks, microbatches)) {
      const auto piece = static_cast<std::int32_t>(places.piece_of(s, t.chunk));
      // Nothing comes from outside of the model, nor from the same stage.
      const bool first = piece == 0 || places.step_behind(piece - 1, t.chunk) == 0;
      const bool last = piece == places.count() - 1 || places.step_behind(piece, t.chunk) == 0;
      const int from = piece == 0 ? 1 : places.step_behind(piece - 1, t.chunk);
      const int to = piece == places.count() - 1 ? 1 : places.step_behind(piece, t.chunk);
      const auto call = [&](BlockId block, std::int32_t layer) {
        calls.push_back({block, t.chunk, layer, t.microbatch, -1});
      };
      if (t.pass == TaskPass::kWeightGrad) {
        call(kWeights, piece);
      } else if (t.pass == TaskPass::kForward) {
        if (!first) call(from > 0 ? kTakeX : kTakeXBack, piece);
        call(kForward, piece);
        if (!last) call(to > 0 ? kGiveX : kGiveXBack, piece + 1);
      } else {
        if (!last) call(to > 0 ? kTakeDx : kTakeDxBack, piece + 1);
        call(kBackward, piece);
        if (!first) call(from > 0 ? kGiveDx : kGiveDxBack, piece);
      }
    }
  }
  return plan;
}

}  // namespace plait
