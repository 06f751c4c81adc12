// Linear layers in fp8 or nvfp4, as NVIDIA's Transformer Engine runs them (Micikevicius et al.
// 2022, FP8 Formats for Deep Learning, arXiv 2209.05433; Abecassis et al. 2025, Pretraining Large
// Language Models with NVFP4, arXiv 2509.25149; Transformer Engine's user guide, "Using FP8"): the
// products of the four linear layers of a transformer layer read the narrow type and write the
// weights' type, forward, for the gradient of the input and for that of the weight, as does the
// projection of a module that predicts a further token. Embedding, attention and the output matrix
// stay as they are.
//
// A cast per linear layer and pass makes the copies: of the input, which is kept for the weight
// gradient instead of the input itself, and of the output's gradient. Tensor parallelism with
// sequence parallelism gathers these copies. Weights are cast once a step, before their layer's
// first forward pass, into two copies, since tensor cores want them transposed for the input's
// gradient; with gathered weights (zero_stage 3) wherever they are used, in one. Weights that are
// gathered narrow (narrow_weights.cpp) are read as they are, and copied transposed alone.
//
// fp8 has one copy of each, with one scale. Blocks of nvfp4 lie along the products' k: rows for y =
// x w^T and dx = dy w, columns for dw = dy^T x, so that inputs and output gradients have two
// copies, of which the second is that of elements rotated by a random Hadamard transform
// (NVFP4Quantizer in transformer_engine/pytorch/csrc/quantizer.cpp). Of an input the rows are
// gathered forward and the columns, which are what is kept, backward; of a row-parallel layer's
// output gradient both
// (_all_gather_nvfp4 in transformer_engine/pytorch/distributed.py).
//
// With a scale for each row (Scales::kRow) fp8 is cast as torchao does it (torchao/float8/
// float8_linear.py, matmul_with_hp_or_float8_args): rows are those along a product's k, which no
// two of the three have in common, so that each casts both of its operands, and inputs stay in the
// weights' type. So they travel, for sequence parallelism too (insert_collectives.cpp). Of the two
// gradients scales are multiplied behind the product, which the kernel for them is too slow for
// (float8_ops.py, addmm_float8_unwrapped).
//
// Beside low-rank adapters (lora.cpp) the linear layers' weights are frozen. Adapters' own products
// stay in the weights' type: Megatron-Bridge makes them of Megatron-Core's ColumnParallelLinear and
// RowParallelLinear, which know no fp8 (megatron/bridge/peft/utils.py, ParallelLinearAdapter), and
// says so where they are torch's (lora_layers.py, TELinearAdapter). No product has a gradient of a
// frozen weight, so of its input and of its output's gradient there are rows alone, which nobody
// keeps (transformer_engine/pytorch/module/linear.py: backward_needs_input). Weights are cast once
// a step all the same: what has a gradient is not asked (is_first_microbatch). Frozen weights that
// are kept narrow (narrow_weights.cpp) are never cast. In one form, they are copied transposed
// wherever a gradient of an input is computed, which is what disable_parameter_transpose_cache of
// Megatron-Bridge's recipes says (scripts/performance/configs/llama/llama3_llm_finetune.py,
// set_llama3_common_peft_configs); in two, as mxfp8, both are there from the start.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "plan/refusal.h"
#include "plan/strategies/draft.h"

namespace plait {
namespace {

void require_scales(const Draft& d) {
  const Precision& p = d.workload.precision;
  if (!p.scales_rows()) return;
  const char* const other = p.matmul != DType::kFp8 ? "workload.precision.matmul"
                            : p.keeps_narrow()      ? "workload.precision.narrow_weights"
                            : d.workload.lora.any() ? "workload.lora"
                            : d.model.experts > 0   ? "model.experts"
                                                    : nullptr;
  if (other == nullptr) return;
  throw refusal("S197",
                "scales of rows are planned for linear layers in fp8 whose weights are kept and "
                "gathered in 16 bits, not with what " +
                    std::string(other) + " says",
                "workload.precision.scales", "\"tensor\" beside it",
                "remove workload.precision.scales, or change " + std::string(other),
                {std::string(other)});
}

class NarrowRewrite {
 public:
  NarrowRewrite(Draft& d, LayerKind& layer, std::string name)
      : d_(d),
        layer_(layer),
        name_(std::move(name)),
        to_(d.workload.precision.products()),
        suffix_("." + std::string(name_of(to_))),
        blocks_(to_ == DType::kNvfp4),
        rows_(d.workload.precision.scales_rows()),
        once_a_step_(d.strategy.zero_stage < 3 && !rows_),
        gathers_narrow_(d.workload.precision.gathers_narrow()),
        frozen_(d.workload.lora.any()),
        has_both_(frozen_ && once_a_step_ && d.workload.precision.keeps_narrow() &&
                  !gathers_narrow_) {}

  void run() {
    const char* const made = gathers_narrow_ ? ".transpose_weights" : ".cast_weights";
    if (once_a_step_) layer_.once.name = name_ + made;
    rewrite(layer_.kept.forward);
    rewrite(layer_.kept.backward);
  }

 private:
  /// By what lies along a product's k.
  struct Copies {
    TensorId rows, columns;
  };
  using LocalKey = std::tuple<TensorId, std::int16_t, std::string>;  // what is cast, and how

  void rewrite(Block& block) {
    std::vector<Op> ops = std::move(block.ops);
    block.ops.clear();
    block_ = &block, local_.clear();
    for (Op& op : ops) {
      // Transformer Engine knows the linear layers alone, not the router.
      MatMul* g = body_of<MatMul>(op);
      const bool plain = g == nullptr || is_router(d_, op) || is_adapter(d_, op);
      if (!plain && rows_)
        read_by_rows(*g, op);
      else if (!plain)
        read_narrow(*g, op);
      block.ops.push_back(std::move(op));
    }
  }
  /// Turned: what runs along k is not the last dimension.
  void read_by_rows(MatMul& g, Op& op) {
    g.in = to_;
    g.rescaled = g.pass != Pass::kForward;
    for (std::size_t i = 0; i < 2; ++i) {
      const bool turned = g.pass == Pass::kWeightGrad || (i == 1 && g.pass == Pass::kInputGrad);
      const Copies made = narrowed(op.operands[i], Scope::kCall, op.phase, turned ? "_turned" : "");
      op.operands[i] = {made.rows, Use::kRead, 0};
    }
  }
  /// {x, w, y}, {dy, w, dx} and {dy, x, dw}: the first two operands are read narrow.
  void read_narrow(MatMul& g, Op& op) {
    g.in = to_;
    Operand& first = op.operands[0];
    Operand& second = op.operands[1];
    const bool forward = g.pass == Pass::kForward;
    const Scope kept = forward && !frozen_ ? Scope::kLayerMicrobatch : Scope::kCall;
    const bool both = blocks_ && !frozen_;
    const Copies made =
        both ? narrowed_twice(first, kept, op.phase) : narrowed(first, kept, op.phase);
    if (forward) {
      saved_[first.tensor] = made.columns;
      saved_for_[d_.tensors[op.operands[1].tensor].name + ".grad"] = made.columns;
    }
    const bool for_weight = g.pass == Pass::kWeightGrad;
    first = {for_weight ? made.columns : made.rows, Use::kRead, 0};
    const TensorId read = second.tensor;
    second = {for_weight ? saved_input(op) : weight(second, g.pass, op), Use::kRead, 0};
    if (!forward && !for_weight) keep_rows(op, read);
  }
  /// Of a weight's gradient. An input that backward would make again (state_space.cpp) is kept
  /// narrow all the same, as Transformer Engine's linear layers do.
  TensorId saved_input(const Op& op) const {
    const auto found = saved_.find(op.operands[1].tensor);
    if (found != saved_.end()) return found->second;
    return saved_for_.at(d_.tensors[op.operands[2].tensor].name);
  }
  Copies narrowed(const Operand& from, Scope scope, Phase phase, const char* which = "") {
    const LocalKey key = {from.tensor, from.shift, which};
    const auto found = local_.find(key);
    if (found != local_.end()) return found->second;
    const TensorId copy = copy_of(from.tensor, which, scope);
    Op op = cast(from, {copy}, phase);
    body_of<Cast>(op)->alone = frozen_ && d_.tensors[copy].kind != TensorClass::kWeight;
    block_->ops.push_back(std::move(op));
    return local_[key] = {copy, copy};
  }
  /// The columns are kept, the rows are read in this call.
  Copies narrowed_twice(const Operand& from, Scope columns, Phase phase) {
    const LocalKey key = {from.tensor, from.shift, ""};
    const auto found = local_.find(key);
    if (found != local_.end()) return found->second;
    const Copies made = {copy_of(from.tensor, "", Scope::kCall),
                         copy_of(from.tensor, "_transposed", columns)};
    Op op = cast(from, {made.rows, made.columns}, phase);
    body_of<Cast>(op)->rotated = true;
    block_->ops.push_back(std::move(op));
    return local_[key] = made;
  }
  /// What was kept and gathered is read as it is, but where it is wanted transposed.
  TensorId kept_weight(const Operand& w, Pass pass, const Op& op) {
    d_.tensors[w.tensor].dtype = to_;
    if (pass == Pass::kForward) return w.tensor;
    const bool once = once_a_step_ && !frozen_;
    const auto known = weights_.find(w.tensor);
    if (once && known != weights_.end()) return known->second.columns;
    const TensorId copy = copy_of(w.tensor, "_transposed", once ? Scope::kLayer : Scope::kCall);
    std::vector<Op>& ops = once ? layer_.once.ops : block_->ops;
    ops.push_back(cast(w, {copy}, once ? Phase::kForward : op.phase));
    weights_[w.tensor] = {w.tensor, copy};
    return copy;
  }
  /// Of a frozen weight in two forms: the second one is a weight of its own.
  TensorId form_of(const Operand& w, Pass pass) {
    auto found = weights_.find(w.tensor);
    if (found == weights_.end()) {
      const TensorId columns = copy_of(w.tensor, "_transposed", Scope::kLayer);
      for (Unit& unit : d_.units) {
        const bool owns = std::ranges::find(unit.weights, w.tensor) != unit.weights.end();
        if (owns) unit.weights.push_back(columns);
      }
      d_.tensors[w.tensor].dtype = to_;
      d_.narrowed.push_back(columns);
      found = weights_.emplace(w.tensor, Copies{w.tensor, columns}).first;
    }
    return pass == Pass::kForward ? found->second.rows : found->second.columns;
  }
  TensorId weight(const Operand& w, Pass pass, const Op& op) {
    if (pass == Pass::kForward) d_.narrowed.push_back(w.tensor);
    if (gathers_narrow_) return kept_weight(w, pass, op);
    if (has_both_) return form_of(w, pass);
    if (!once_a_step_) return narrowed(w, Scope::kCall, op.phase).rows;
    auto found = weights_.find(w.tensor);
    if (found == weights_.end()) {
      const Copies made = {copy_of(w.tensor, "", Scope::kLayer),
                           copy_of(w.tensor, "_transposed", Scope::kLayer)};
      layer_.once.ops.push_back(cast(w, {made.rows, made.columns}, Phase::kForward));
      found = weights_.emplace(w.tensor, made).first;
    }
    return pass == Pass::kForward ? found->second.rows : found->second.columns;
  }
  /// Autograd keeps both copies of a weight, which are one object (Transformer Engine, tensor/
  /// quantized_tensor.py): those that only forward passes read stay for the last backward pass too.
  void keep_rows(Op& op, TensorId weight) {
    const auto copies = weights_.find(weight);
    const bool apart = once_a_step_ && copies != weights_.end() && copies->second.rows != weight;
    if (apart) op.operands.push_back({copies->second.rows, Use::kRead, 0});
  }
  TensorId copy_of(TensorId of, const char* which, Scope scope) {
    Tensor t = d_.tensors[of];
    t.name += suffix_ + which, t.dtype = to_, t.scope = scope;
    return d_.add(t);
  }
  Op cast(const Operand& from, const std::vector<TensorId>& to, Phase phase) {
    Cast body{0, d_.tensors[from.tensor].dtype, to_};
    if (blocks_) body.copies = std::ssize(to);
    std::vector<Operand> operands = {from};
    for (TensorId t : to) operands.push_back({t, Use::kWrite, 0});
    return {Compute(body), Stream::kCompute, phase, std::move(operands)};
  }

  Draft& d_;
  LayerKind& layer_;
  std::string name_;
  DType to_;
  std::string suffix_;  // ".fp8"
  bool blocks_, rows_, once_a_step_, gathers_narrow_;
  bool frozen_, has_both_;  // weights beside adapters; those in two forms from the start
  Block* block_ = nullptr;
  std::map<LocalKey, Copies> local_;    // casts of this block
  std::map<TensorId, TensorId> saved_;  // inputs of linear layers, kept for the weights' gradients
  std::map<std::string, TensorId> saved_for_;  // the same, by the names of these
  std::map<TensorId, Copies> weights_;
};

}  // namespace

void apply_narrow(Draft& d) {
  if (!d.workload.precision.narrows()) return;
  require_scales(d);
  for (LayerKind& layer : d.layers) {
    if (!layer.plain) NarrowRewrite(d, layer, "layer").run();
  }
  if (d.model.mtp_layers > 0) NarrowRewrite(d, d.mtp, "mtp").run();
}

}  // namespace plait
