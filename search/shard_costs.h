#pragma once
// What a rank's share of the network costs, by how one microbatch is cut over tensor, sequence and
// context parallelism: lower bounds, whatever the pipeline and the data-parallel ranks around it.
// Layouts that cut it alike share them.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.h"
#include "costmodel/costmodel.h"
#include "search/groups.h"
#include "search/layer_kinds.h"
#include "search/layout.h"

namespace plait {

/// Of one layer; zero where the model has none of that kind.
struct LayerSizes {
  std::int64_t parameters = 0;  // that are trained, but those of its experts: of its flat buffers
  Bytes frozen;                 // of weights that are not trained
  std::int64_t experts = 0;     // parameters of its experts that a rank has
  Bytes saved;                  // that it keeps of each microbatch for its backward pass
  Bytes copies;                 // of its weights, from its first pass to the last
  Bytes beside_backward;        // live besides, at the fullest moment of its backward pass
  Bytes beside_gradients;       // the same once all of its gradients are being written
};

struct ShardSizes {
  std::int64_t embedding = 0, head = 0;  // parameters that are trained
  Bytes frozen_embedding, frozen_head;
  std::int64_t module = 0;  // of one that predicts a further token, without its layer
  OfKinds<LayerSizes> layers;
  Bytes beside_head;           // live besides all layers keep, at the fullest moment of the heads
  Bytes message;               // between pipeline stages, per microbatch
  std::optional<Adam> update;  // the optimizer's op; sizes are to be filled in
};

/// Of the embedding, one layer, the head, or what a module has before its layer or behind it.
struct PassTimes {
  /// From the beginning of its first op to the end of its last op on the compute stream, with
  /// nothing in the way but its own collectives: no pass of it takes compute less.
  SimTime forward = 0, backward = 0;
  /// Of the weights' gradients, where the backward pass is cut in two.
  SimTime weights = 0;
  /// What the backward pass can do before the gradient of its output is there: recomputation.
  SimTime ahead = 0;
  /// Of all passes: what kernels take, what compute waits for however slow they are, and kernels
  /// behind the last gradient of a layer's weights.
  SimTime kernels = 0, waits = 0, behind_gradients = 0;

  // Where passes take turns, what keeps compute from the other one of the pair, with the weights'
  // gradients, and what the stream of experts' exchanges takes: one hides behind the other.
  SimTime forward_turns = 0, backward_turns = 0;
  SimTime forward_exchanges = 0, backward_exchanges = 0;
};

struct ShardTimes {
  PassTimes embedding, head;
  PassTimes module, module_head;
  OfKinds<PassTimes> layers;  // zero: the model has none of that kind
};

/// Layers whose gradients are reduced behind each microbatch write them, others add to them.
constexpr bool adds_gradients(int zero_stage) { return zero_stage < 2; }

/// What products write gradients in: of zero_stage 2 and, where gradients are copied, 3, the type
/// of fewer bytes.
DType written_gradients(const Strategy& strategy, const Precision& precision);

/// What weights of layers are gathered in, as far as it has the fewest bytes, and the bytes that
/// are kept of each but for copies.
inline DType gathered_type_of_layers(const Precision& p) {
  return p.gathers_narrow() ? p.products() : p.weights;
}
inline std::int64_t kept_bytes_of_layers(const Precision& p) {
  const bool passes = p.keeps_narrow() && !p.gathers_narrow();
  return passes ? 0 : size_of(gathered_type_of_layers(p));
}

/// Where gradients are written, and where they are added to.
using ShardTimesOfBoth = std::array<ShardTimes, 2>;

struct ShardTimesByKind {
  ShardTimesOfBoth least;  // on any node
  /// On each kind of nodes (Cluster::kind); empty where all are alike.
  std::vector<ShardTimesOfBoth> of_kind;
};

struct ShardCosts {
  ShardSizes sizes;
  ShardTimesByKind times;  // where the backward pass is not cut in two
};

/// Nothing where the sizes do not divide. `interference`: collectives slow kernels down.
std::optional<ShardCosts> shard_costs(const Model& model, const Workload& workload,
                                      const Strategy& base, const Layout& layout,
                                      const CostModel& costs, Groups& groups, bool interference);
/// Where the schedule of the layout cuts the backward pass in two.
std::optional<ShardTimesByKind> split_times(const Model& model, const Workload& workload,
                                            const Strategy& base, const Layout& layout,
                                            const CostModel& costs, Groups& groups,
                                            bool interference);

}  // namespace plait
