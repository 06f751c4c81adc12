#pragma once
// The plan: what every rank does in one training step, with no hardware and no time in it. Read by
// two executors, the simulator and the real backends.
//
// A transformer step repeats a few sequences of ops over layers and microbatches, so the plan says
// it that way: a *block* is such a sequence, written once; a *call* runs it for one layer and
// microbatch; a *program* is the list of calls of one role (one pipeline stage). The flat op list
// of a rank is the concatenation of the blocks of its calls; its size never depends on the
// data-parallel degree, and the plan's own size hardly on layers and microbatches.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/op.h"
#include "plan/strategy.h"
#include "plan/workload.h"

namespace plait {

using BlockId = std::uint16_t;

struct Block {
  std::string name;  // "layer.forward"
  std::vector<Op> ops;
};

/// One execution of a block. `after`: index of an earlier call of the same program whose ops must
/// have finished before this one's first op may start (flow control), or -1.
struct Call {
  BlockId block = 0;
  std::int16_t chunk = 0;
  std::int32_t layer = 0;
  std::int32_t microbatch = 0;
  std::int32_t after = -1;
};

struct Program {
  std::vector<Call> calls;  // in issue order
};

struct Plan {
  std::string name;  // of the model, for reports
  Mesh mesh;
  /// Tensor-parallel degree of every stage, where they differ: then the mesh is a grid of places,
  /// of which a rank has one or several (plan/places.h).
  std::vector<std::int64_t> stage_tp = {};
  Servers servers = {};              // of the dp axis
  std::int64_t layers = 0;           // with the numbers of modules behind the model's last layer
  std::int64_t microbatches = 0;     // per data-parallel rank
  DocumentLayout documents = {};     // in each sequence
  std::int64_t tokens_per_step = 0;  // without padding
  /// Of one step over all ranks, without recomputation and padding; attention counts the whole
  /// square of each sequence or packed document, as published MFUs do (Narayanan et al. 2021).
  Flops model_flops;
  /// Computed beyond these: of padding, and of attention that is masked between documents.
  Flops unneeded_flops = {};
  /// Experts' slots of the busiest ranks, which the plan is of, over those of the mean rank.
  double expert_imbalance = 1;
  std::vector<Tensor> tensors;
  std::vector<Block> blocks;
  std::vector<Program> programs;  // one per pipeline stage

  /// Of a stage: its ranks, where each has one place.
  std::int64_t places_per_stage() const { return mesh.world_size() / mesh[Axis::kPp]; }
};

/// The tensor that holds the elements of `tensor`: itself, or the buffer that it is a view of.
inline TensorId storage_of(const Plan& plan, TensorId tensor) {
  return plan.tensors[tensor].is_view() ? plan.tensors[tensor].storage : tensor;
}

/// What a rank does: its place along dp among the plan's servers.
Role role_of(const Plan& plan, std::int64_t rank);
/// Work is done by ranks that hold all of its operands; communication is a matter of all ranks.
bool runs_on(const Plan& plan, const Op& op, Role role);

/// Ops of one rank of `stage`, with repetition.
std::int64_t op_count(const Plan& plan, std::size_t stage);
/// Ops of all ranks.
std::int64_t op_count(const Plan& plan);

/// Builds the plan of one optimizer step. Throws InputError where the sizes do not divide or the
/// combination cannot be planned; `path` in it is the scenario field ("strategy.tp").
Plan make_plan(const Model& model, const Workload& workload, const Strategy& strategy);

}  // namespace plait
