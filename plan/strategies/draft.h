#pragma once
// The plan while it is being made. `layers` writes the unsharded ops of one microbatch through the
// embedding, one transformer layer and the head; the strategies then rewrite them one after
// another. Op sizes are not kept by hand: `fit_sizes` derives each body's sizes from the shapes of
// its operands, whose order plan/op.h says.

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "plan/plan.h"

namespace plait {

/// Parameters that are sharded, gathered and reduced together: FSDP's unit, Megatron's buffer. A
/// layer with experts is two: the experts, which other ranks hold copies of, and the rest of it. So
/// is a module that predicts a further token: its layer, and the rest of it. Of those that have
/// other weights too, weights of linear layers that are kept narrow are units of their own, the
/// matrices. Layers of a hybrid are units by their parts. A layer's low-rank adapters are one; all
/// other units are frozen beside them. A layer's units are gathered, reduced and updated in this
/// order, whatever its parts are: what holds the layer itself comes before its experts.
enum class UnitKind : std::uint8_t {
  kEmbedding,
  kLayer,
  kMoeLayer,
  kPrediction,
  kHead,
  kLayerMatrices,
  kMoeLayerMatrices,
  kPredictionMatrices,
  kAttentionLayer,
  kStateSpaceLayer,
  kMlpLayer,
  kExpertsLayer,
  kStateSpaceMlpLayer,
  kStateSpaceMoeLayer,
  kDeltaNetLayer,
  kDeltaNetMlpLayer,
  kDeltaNetMoeLayer,
  kAttentionLayerMatrices,
  kStateSpaceLayerMatrices,
  kMlpLayerMatrices,
  kExpertsLayerMatrices,
  kStateSpaceMlpLayerMatrices,
  kStateSpaceMoeLayerMatrices,
  kDeltaNetLayerMatrices,
  kDeltaNetMlpLayerMatrices,
  kDeltaNetMoeLayerMatrices,
  kExperts,
  kAdapters
};
inline constexpr std::size_t kUnitKinds = static_cast<std::size_t>(UnitKind::kAdapters) + 1;
inline constexpr std::array kAllUnits = [] {
  std::array<UnitKind, kUnitKinds> all{};
  for (std::size_t i = 0; i < kUnitKinds; ++i) all[i] = static_cast<UnitKind>(i);
  return all;
}();
/// One for each layer that has it.
constexpr bool in_layers(UnitKind k) { return k != UnitKind::kEmbedding && k != UnitKind::kHead; }

struct Unit {
  bool present() const { return !weights.empty(); }
  /// Has gradients and optimizer state; else its weights are all that there is.
  bool trained() const { return !gradients.empty(); }
  /// Ranks along these hold the same weights and see other tokens.
  AxisSet data_axes;
  /// Of these, the ones that ZeRO shards over, and how far: 0 where there is but one shard.
  AxisSet shard_axes;
  int zero_stage = 0;
  /// Views into the two buffers, in the order of use; of a frozen unit no gradients.
  std::vector<TensorId> weights, gradients;
  bool narrow = false;                   // weights in the type that products read
  bool quantized = false;                // in nf4, frozen
  bool passes = false;                   // weights go when narrow copies are made of them
  TensorId magnitudes = kNoTensor;       // the largest of each weight, of narrow ones
  TensorId weight_buffer = kNoTensor;    // flat, in the weights' type, what compute reads
  TensorId gradient_buffer = kNoTensor;  // flat, what compute writes
  TensorId gradient_shard = kNoTensor;   // zero_stage >= 2: what is left after the reduce_scatter;
                                         // of a server: the sum of what is pushed
  TensorId gather_buffer = kNoTensor;    // zero_stage 3: weights arrive here and are copied
  std::vector<TensorId> reduce_buffers;  // zero_stage 3: through which gradients are copied
  TensorId weight_shard = kNoTensor;     // zero_stage 3 with keep_weight_shard; of a server
  TensorId secondary_shard = kNoTensor;  // ZeRO++'s hpZ: what backward gathers from
  TensorId master = kNoTensor;           // optimizer state, of this rank's share
  TensorId moments[2] = {kNoTensor, kNoTensor};
  /// What the optimizer reads.
  TensorId reduced_gradient() const {
    return gradient_shard != kNoTensor ? gradient_shard : gradient_buffer;
  }
  /// Where the collectives write the weights, and what they reduce.
  TensorId gathers_into() const {
    return gather_buffer != kNoTensor ? gather_buffer : weight_buffer;
  }
  TensorId reduces_from() const {
    return reduce_buffers.empty() ? gradient_buffer : reduce_buffers.back();
  }
  /// The weights that compute reads come from where the optimizer's shares are.
  bool gathered() const { return zero_stage > 0 || weight_shard != kNoTensor || passes; }
};

/// A layer's ops.
struct LayerPasses {
  Block forward, backward;
  Block weight_grads;  // where backward is cut in two
  /// The passes once more, the backward one whole, cut where another pass may go on; empty where
  /// none does: pass_parts.cpp.
  std::vector<Block> forward_parts = {}, backward_parts = {};
};
/// Layers with the same parts; whose attention sees all tokens, or a window; whose products are as
/// narrow as the others', or plain (Precision::is_plain); whose input needs a gradient, or is what
/// frozen embeddings give (lora.cpp).
struct LayerKind {
  LayerParts parts;
  bool windowed = false, plain = false, first = false;
  bool has_experts() const { return parts.feed_forward == FeedForward::kExperts; }
  LayerPasses kept;                       // as written
  std::optional<LayerPasses> recomputed;  // in the backward pass, where the strategy does so
  Block once;  // before a layer's first forward pass of the step; empty: nothing to do
};

/// A unit as one rank holds it.
struct UnitInstance {
  UnitKind kind = UnitKind::kLayer;
  std::int32_t layer = 0;  // 0 unless in_layers(kind)
  auto operator<=>(const UnitInstance&) const = default;
};
/// The unit of the last norm and the output matrix: the head's own, or the embedding's, which is
/// then all of PyTorch's root.
UnitKind head_unit(const Strategy& strategy);
/// PyTorch's root: embedding, last norm and output matrix.
inline bool is_root(const Strategy& strategy, UnitKind kind) {
  return kind == UnitKind::kEmbedding && head_unit(strategy) == kind;
}
/// Bit k: the block reads the weights (writes the gradients) of UnitKind k.
static_assert(kUnitKinds <= 32);
struct UnitMask {
  std::uint32_t reads = 0, grades = 0;
};

struct Draft {
  Draft(const Model& m, const Workload& w, const Strategy& s)
      : model(m), workload(w), strategy(s) {}

  const Model& model;
  const Workload& workload;
  const Strategy& strategy;

  DocumentLayout documents;  // in each sequence
  std::vector<Tensor> tensors;
  std::array<Unit, kUnitKinds> units;
  Block embed_forward, embed_backward, head_forward, head_backward, head_weight_grads;
  std::vector<LayerKind> layers;   // experts last; later each plain or windowed before all
  bool skips_first = false;        // the first layer is a kind of its own (lora.cpp)
  LayerKind mtp;                   // before the layer of a module that predicts a further token
  LayerPasses mtp_head;            // and behind it; empty without modules
  std::vector<TensorId> narrowed;  // weights that products read narrow
  /// What autocast makes of weights, and what products write for it of their gradients: of which.
  std::map<TensorId, TensorId> cast;
  TensorId tokens = kNoTensor, labels = kNoTensor, x = kNoTensor, dx = kNoTensor, loss = kNoTensor;
  TensorId embedded = kNoTensor;       // sum of the embeddings before their norm, sharded as x
  TensorId mtp_embedded = kNoTensor;   // (s, b, h), sharded as x
  TensorId gradient_norm = kNoTensor;  // from apply_optimizer on

  // From apply_pipeline on: what becomes the plan.
  std::int64_t microbatches = 0;
  std::vector<Block> blocks;
  std::vector<UnitMask> block_units;  // one per block
  std::vector<Program> programs;
  std::vector<std::vector<UnitInstance>> program_units;  // of each program, in order of first use

  Unit& unit(UnitKind k) { return units[static_cast<std::size_t>(k)]; }
  const Unit& unit(UnitKind k) const { return units[static_cast<std::size_t>(k)]; }
  TensorId add(Tensor t) {
    tensors.push_back(std::move(t));
    return static_cast<TensorId>(tensors.size() - 1);
  }
  /// The weight, or the gradient of one, that a product works on by way of a cast.
  TensorId stored(TensorId t) const {
    const auto found = cast.find(t);
    return found == cast.end() ? t : found->second;
  }
  bool sums_whole_gradients() const {
    const bool several = workload.global_batch > strategy.replicas() * workload.micro_batch;
    return several && strategy.sums_whole_gradients();
  }
  /// All blocks that compute on activations, in no particular meaning but fixed order.
  template <class F>
  void for_each_block(F&& f) {
    f(embed_forward), f(head_forward), f(head_backward), f(embed_backward);
    for (LayerKind& k : layers) {
      f(k.kept.forward), f(k.kept.backward);
      if (k.recomputed) f(k.recomputed->forward), f(k.recomputed->backward);
    }
    f(mtp.kept.forward), f(mtp.kept.backward), f(mtp_head.forward), f(mtp_head.backward);
  }
  bool is_plain(std::int64_t layer) const {
    return workload.precision.is_plain(layer, model.layers);
  }
  /// The layer's input is what frozen embeddings give, on the same stage.
  bool is_first(std::int64_t layer) const;
  /// Of `layers`, from apply_windows on. Those of modules behind the model are like its last one.
  std::size_t kind_of(std::int64_t layer) const {
    const std::int64_t like = std::min(layer, model.layers - 1);
    const auto same = [&](const LayerKind& k) {
      return k.parts == model.parts_of(like) && k.windowed == model.has_window(like) &&
             k.plain == is_plain(like) && k.first == is_first(like);
    };
    return static_cast<std::size_t>(std::ranges::find_if(layers, same) - layers.begin());
  }
  /// The layer of module `k`, from 0, that predicts a further token; one number less is where its
  /// input comes from.
  std::int32_t mtp_layer(std::int64_t k) const {
    return static_cast<std::int32_t>(model.layers + 2 * k + 1);
  }
  /// The highest number of a residual stream.
  std::int64_t last_stream() const { return model.layers + 2 * model.mtp_layers; }
  /// Takes the block into the plan; its sizes are fitted here.
  BlockId add_block(Block block);
  const Mesh& mesh() const { return strategy.mesh; }
};

/// What the op computes, if it is of that kind; else null.
template <class Body>
Body* body_of(Op& op) {
  Compute* c = std::get_if<Compute>(&op.body);
  return c == nullptr ? nullptr : std::get_if<Body>(c);
}
template <class Body>
const Body* body_of(const Op& op) {
  const Compute* c = std::get_if<Compute>(&op.body);
  return c == nullptr ? nullptr : std::get_if<Body>(c);
}

/// A product of that pass.
inline bool is_product(const Op& op, Pass pass) {
  const MatMul* g = body_of<MatMul>(op);
  return g != nullptr && g->pass == pass;
}

/// A product of the router, whose results choose the experts, or of the gate of shared experts
/// (mixture.cpp). It stays in its type where other products are narrowed.
bool is_router(const Draft& draft, const Op& op);

/// A product with the weights of experts, which have one dimension more.
bool multiplies_by_experts(const Draft& draft, const Op& op);

/// To 8 bits with a scale for each row (narrow.cpp), of what was gathered in the weights' type.
inline bool casts_rows(const Draft& draft, const Cast& cast) {
  return cast.to == DType::kFp8 && draft.workload.precision.scales_rows();
}

/// A product of an adapter's factor.
bool is_adapter(const Draft& draft, const Op& op);
/// Tensors that the block's adapters read beside their linear layers: inputs, and output gradients.
std::set<TensorId> inputs_of_adapters(const Draft& draft, const Block& block);

/// Sets the sizes in every op's body from the local shapes of its operands.
void fit_sizes(Draft& draft, Block& block);

// The strategies, in the order in which make_plan applies them.
void write_layers(Draft& draft);
void apply_tensor_parallel(Draft& draft);    // shards weights over tp
void apply_expert_parallel(Draft& draft);    // shards experts; tokens travel to them and back
void keep_plain_layers(Draft& draft);        // those at the ends are kinds of their own
void apply_narrow(Draft& draft);             // linear layers read fp8 or nvfp4 copies
void apply_autocast(Draft& draft);           // products read 16-bit copies of all that they read
void part_narrow_weights(Draft& draft);      // whose weights are kept so: units of their own
void apply_nf4_weights(Draft& draft);        // frozen ones in 4 bits, dequantised before products
void apply_sequence_parallel(Draft& draft);  // shards the residual stream over tp
void apply_whole_logits(Draft& draft);       // every rank along tp takes the whole loss
void insert_collectives(Draft& draft);  // makes every operand arrive in the layout its op needs
void overlap_tensor_parallel(Draft& draft);  // what hides what travels over tp
void copy_inputs(Draft& draft);              // of linear layers that tp splits by columns
void apply_context_parallel(Draft& draft);   // attention meets all tokens' keys and values
void apply_recompute(Draft& draft);
void skip_unused_gradients(Draft& draft);  // of the input of the first layer with adapters
void apply_windows(Draft& draft);      // the attention of some layers sees the last tokens alone
void hold_cast_weights(Draft& draft);  // until autocast's context ends
LayerPasses recompute_ops(Draft& draft, const LayerPasses& layer);  // for apply_recompute
LayerPasses recompute_modules(Draft& draft, const LayerPasses& layer);
void pack_units(Draft& draft);           // weights and gradients into flat buffers; optimizer state
void split_backward(Draft& draft);       // into B and W, for schedules that ask for it
void part_passes(Draft& draft);          // which take turns, so that exchanges hide
void apply_pipeline(Draft& draft);       // calls in the order of the schedule, sends and receives
void apply_data_parallel(Draft& draft);  // gathers of sharded weights, reduction of gradients
void push_gradients(Draft& draft, Program& program);  // to parameter servers
void apply_optimizer(Draft& draft);                   // zero gradients, global norm, Adam
void meet_alone(Draft& draft);     // what one rank would gather or reduce by itself is copied
void apply_offload(Draft& draft);  // state in host memory and on drives, and copies of it
void apply_blocking_sends(Draft& draft);  // passes behind what their stage has sent

/// Throws InputError where parameter servers stand beside what they are not planned with.
void require_parameter_server(const Strategy& strategy);

/// The axes over which tokens are divided, sequence by sequence or within each, and which hold the
/// same weights but for experts, where their size is above 1.
AxisSet data_axes(const Draft& draft);

/// Embedding and output matrix are one, and it stands on two stages.
bool tied_apart(const Draft& draft);
/// The first stage and the last, whose modules predict further tokens, have the embedding, which is
/// not the output matrix.
bool embeds_twice(const Draft& draft);

/// The few units that a call deals with.
struct UnitList {
  std::array<UnitInstance, kUnitKinds> units;
  std::size_t count = 0;
  const UnitInstance* begin() const { return units.data(); }
  const UnitInstance* end() const { return units.data() + count; }
  bool empty() const { return count == 0; }
};
/// A set of unit instances of one program.
class UnitSet {
 public:
  explicit UnitSet(const Draft& draft)
      : layers_(static_cast<std::size_t>(draft.last_stream())), seen_(kUnitKinds * layers_) {}
  bool contains(const UnitInstance& u) const { return seen_[index(u)]; }
  /// False if it was there already.
  bool insert(const UnitInstance& u) {
    const bool fresh = !seen_[index(u)];
    seen_[index(u)] = true;
    return fresh;
  }
  void erase(const UnitInstance& u) { seen_[index(u)] = false; }
  void clear() { seen_.assign(seen_.size(), false); }

 private:
  std::size_t index(const UnitInstance& u) const {
    return static_cast<std::size_t>(u.kind) * layers_ + static_cast<std::size_t>(u.layer);
  }
  std::size_t layers_;
  std::vector<bool> seen_;
};
/// The units of a program in the order of first use.
std::vector<UnitInstance> units_of(const Draft& draft, const Program& program);
/// Instances whose weights are read (gradients written) by a call.
UnitList unit_reads(const Draft& draft, const Call& call);
UnitList unit_grades(const Draft& draft, const Call& call);

}  // namespace plait
