// torch.autocast (PyTorch, "Automatic Mixed Precision package", op reference), of Hugging Face's
// Trainer and Accelerate: parameters, their gradients and Adam's moments stay in the type that they
// are stored in, W, and each op takes its operands in a type of its own:
//
//   the narrow type N   matrix products and attention, and what lies between them element by
//                       element: activations, rotations, gates
//   W                   embeddings, norms, the residual stream, the loss; a sum of W and N is W
//
// The layers are written in W. This rewrite follows types through the ops of each block and puts a
// cast in front of what wants another one, as autograd does backward, where the gradient of a
// tensor has its type. For a product with weight w and input x, b of its elements each:
//
//   forward       w -> N, kept for backward; x -> N for each product that reads it, kept instead of
//                 x for the gradient of w
//   backward      dw in N, cast to W and added to the sum; dx in N, cast to W by what reads it
//
// A weight's cast is cached until the context ends, behind the loss. Whoever recomputes a layer
// finds an empty cache and casts again, but the first pass's casts stay until then all the same:
// hold_cast_weights. Frozen weights, which are not cached, are used once in a pass.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "plan/strategies/draft.h"
#include "plan/strategies/layout.h"

namespace plait {
namespace {

class Autocast {
 public:
  explicit Autocast(Draft& d)
      : d_(d), wide_(d.workload.precision.weights), narrow_(d.workload.precision.activations()) {}

  void rewrite(Block& block) {
    block_ = &block;
    std::erase_if(versions_,
                  [&](const auto& v) { return d_.tensors[v.second].scope == Scope::kCall; });
    for (Op& op : std::exchange(block.ops, {})) {
      op_ = std::move(op);
      if (Compute* c = std::get_if<Compute>(&op_.body))
        std::visit([this](auto& body) { follow(body); }, *c);
      forget_versions();
      block.ops.push_back(std::move(op_));
      for (Op& late : std::exchange(behind_, {})) block.ops.push_back(std::move(late));
    }
  }

 private:
  using Key = std::pair<TensorId, std::int16_t>;

  // ---- what each op wants and yields
  void follow(MatMul& g) {
    g.in = g.out = narrow_, g.autocast = true;
    switch (g.pass) {
      case Pass::kInputGrad:
        want(0, true);
        made_by_[op_.operands[2].tensor] = op_.operands[1].tensor;
        use_cast_weight(), yield(2, true);
        return;
      case Pass::kWeightGrad:
        want(0, true), use_cast_input();
        for (std::size_t i = 2; i < op_.operands.size(); ++i) add_gradient(i);
        g.accumulate = false;
        return;
      default: cast_input(), cast_weight(), yield(2, true);
    }
  }
  void follow(Attention& a) {
    const bool forward = a.pass == Pass::kForward;
    a.dtype = narrow_;
    want(0, true);
    yield(forward ? 1 : op_.operands.size() - 1, true);
    if (!forward || a.fused) return;  // fused, it saves a number in fp32 for each row
    yield(2, true);
    if (a.dropout) yield(4, true);
  }
  void follow(Norm& n) {
    const bool forward = n.pass == Pass::kForward;
    n.dtype = wide_;
    want(0, false);
    if (!forward) want(1, false);
    yield(forward ? op_.operands.size() - 2 : 4, false);
  }
  void follow(HeadNorm& n) {
    n.dtype = narrow_;
    if (n.pass == Pass::kForward) yield(3, true);
  }
  void follow(Activation& a) { elementwise(a, a.pass == Pass::kForward ? 1 : 2); }
  void follow(Rope& r) { r.dtype = narrow_, r.promoted = true; }
  void follow(Gate& g) {
    const bool forward = g.pass == Pass::kForward;
    elementwise(g, forward ? 2 : 3);
    if (!forward) yield(4, true);
  }
  void follow(LatentHeads& x) {
    elementwise(x, x.pass == Pass::kForward ? 3 : 1);
    if (x.pass != Pass::kForward) yield(2, true), yield(3, true);
  }
  void follow(BiasGrad& b) { b.dtype = narrow_, want(0, true); }
  void follow(Embedding& e) {
    if (e.pass != Pass::kForward) want(op_.operands.size() - 2, false);
  }
  /// Of columns of what products write, or of logits and their gradients (head_writer.cpp).
  void follow(Cast& c) {
    if (c.from != c.to) return mark(op_.operands[1].tensor, c.to == narrow_);
    c.from = c.to = narrow_;
    want(0, true), yield(1, true);
  }
  void follow(Add& a) {
    const bool in_place = op_.operands.size() == 2 && op_.operands[1].use == Use::kUpdate;
    if (a.scaled) {
      a.dtype = narrow_, want(0, true);
      if (!in_place) yield(1, true);
    } else if (a.alone) {
      drop(a);
    } else if (in_place) {
      want(0, is_narrow(op_.operands[1].tensor));
      a.dtype = type_of(is_narrow(op_.operands[1].tensor));
    } else if (a.pass != Pass::kForward) {  // of what has been dropped of a branch
      elementwise(a, 2);
    } else if (op_.phase == Phase::kForward) {
      add_branch(a);
    } else {  // gradients of one tensor, each cast by itself
      a.dtype = wide_;
      want(0, false), want(1, false), yield(2, false);
    }
  }
  /// Nothing is to be done for the loss, which reads logits in its own type (head_writer.cpp).
  void follow(CrossEntropy&) {}
  template <class Other>  // refused (require_autocast), or not there yet
  void follow(Other&) {}

  /// In the narrow type, of one operand.
  template <class Body>
  void elementwise(Body& body, std::size_t result) {
    body.dtype = narrow_;
    want(0, true), yield(result, true);
  }
  /// Of what an adapter reads, in that type, and so is its gradient.
  void drop(Add& a) {
    const bool forward = a.pass == Pass::kForward;
    const TensorId mask = op_.operands[forward ? 2 : 1].tensor;
    if (forward) dropped_narrow_[mask] = is_narrow(op_.operands[0].tensor);
    const bool narrow = dropped_narrow_.at(mask);
    a.dtype = type_of(narrow);
    want(0, narrow), yield(forward ? 1 : 2, narrow);
  }
  /// To the residual stream, or to another branch.
  void add_branch(Add& a) {
    const bool first = is_narrow(op_.operands[0].tensor),
               second = is_narrow(op_.operands[1].tensor);
    a.dtype = type_of(first && second);
    if (first != second) a.addend = narrow_;
    yield(2, first && second);
  }

  // ---- products
  /// What the gradient of a weight is called, which its own product's input is kept for.
  std::string gradient_of(TensorId weight) const { return d_.tensors[weight].name + ".grad"; }
  /// That of a weight, in the type of the call's other copies: of a layer or of an end.
  Scope pass_scope(TensorId weight) const {
    return d_.tensors[weight].scope == Scope::kLayer ? Scope::kLayerMicrobatch : Scope::kMicrobatch;
  }
  bool trains(TensorId weight) const {
    const std::string name = gradient_of(weight);
    return std::ranges::any_of(d_.units, [&](const Unit& u) {
      return std::ranges::any_of(u.gradients,
                                 [&](TensorId g) { return d_.tensors[g].name == name; });
    });
  }
  void cast_input() {
    Operand& x = op_.operands[0];
    const TensorId weight = op_.operands[1].tensor;
    if (!is_narrow(x.tensor)) {
      Tensor t = d_.tensors[x.tensor];
      t.name = d_.tensors[weight].name + ".input";
      t.scope = trains(weight) ? pass_scope(weight) : Scope::kCall;
      x = cast(x, copy_of(std::move(t), true), op_.phase, &d_.tensors[weight]);
    }
    inputs_[gradient_of(weight)] = x.tensor;
  }
  void use_cast_input() {
    op_.operands[1].tensor = inputs_.at(d_.tensors[op_.operands[2].tensor].name);
    op_.operands[1].shift = 0;
  }
  void cast_weight() {
    Operand& w = op_.operands[1];
    if (const auto found = weights_.find(w.tensor); found != weights_.end()) {
      w = {found->second, Use::kRead, 0};
      return;
    }
    Tensor t = d_.tensors[w.tensor];
    const TensorId stored = w.tensor;
    t.name += "." + std::string(name_of(narrow_));
    t.kind = TensorClass::kBuffer, t.scope = pass_scope(stored);
    w = cast(w, copy_of(std::move(t), true), op_.phase);
    weights_[stored] = w.tensor, d_.cast[w.tensor] = stored;
  }
  void use_cast_weight() { op_.operands[1] = {weights_.at(op_.operands[1].tensor), Use::kRead, 0}; }
  /// The product writes a gradient of its own, which is cast and added behind it.
  void add_gradient(std::size_t operand) {
    const Operand sum = op_.operands[operand];
    Tensor t = d_.tensors[sum.tensor];
    t.name += "." + std::string(name_of(narrow_));
    t.kind = TensorClass::kBuffer, t.scope = Scope::kCall;
    const TensorId own = copy_of(std::move(t), true);
    d_.cast[own] = sum.tensor;
    op_.operands[operand] = {own, Use::kWrite, 0};
    Cast body{0, narrow_, d_.tensors[sum.tensor].dtype};
    body.autocast = body.accumulate = true;
    behind_.push_back({Compute(body), Stream::kCompute, op_.phase, {{own, Use::kRead, 0}, sum}});
  }

  // ---- types
  DType type_of(bool narrow) const { return narrow ? narrow_ : wide_; }
  bool is_narrow(TensorId t) const { return t < is_narrow_.size() && is_narrow_[t]; }
  void mark(TensorId t, bool narrow) {
    if (t >= is_narrow_.size()) is_narrow_.resize(d_.tensors.size());
    is_narrow_[t] = narrow;
  }
  /// Written elsewhere too, and read there in W.
  bool is_stream(TensorId t) const { return t == d_.x || t == d_.dx || t == d_.embedded; }

  void want(std::size_t operand, bool narrow) {
    Operand& o = op_.operands[operand];
    if (is_narrow(o.tensor) == narrow) return;
    const Key key{o.tensor, o.shift};
    const auto found = versions_.find(key);
    if (found != versions_.end()) {
      o = {found->second, o.use, 0};
      return;
    }
    Tensor t = d_.tensors[o.tensor];
    t.name += "." + std::string(name_of(type_of(narrow)));
    const auto product = made_by_.find(o.tensor);
    const bool of_input = product != made_by_.end() && !narrow;
    o = cast(o, copy_of(std::move(t), narrow), op_.phase,
             of_input ? &d_.tensors[product->second] : nullptr);
    versions_[key] = o.tensor;
  }
  void yield(std::size_t operand, bool narrow) {
    Operand& o = op_.operands[operand];
    if (narrow && is_stream(o.tensor)) {
      const Operand stream = o;
      Tensor t = d_.tensors[o.tensor];
      t.name += "." + std::string(name_of(narrow_)), t.scope = Scope::kCall;
      o = {copy_of(std::move(t), true), Use::kWrite, 0};
      behind_.push_back(cast_op({o.tensor, Use::kRead, 0}, stream, op_.phase, nullptr));
      return;
    }
    mark(o.tensor, narrow);
    d_.tensors[o.tensor].dtype = type_of(narrow);
  }
  TensorId copy_of(Tensor t, bool narrow) {
    t.dtype = type_of(narrow);
    const TensorId id = d_.add(std::move(t));
    mark(id, narrow);
    return id;
  }
  /// In front of the op.
  Operand cast(const Operand& from, TensorId to, Phase phase, const Tensor* weight = nullptr) {
    block_->ops.push_back(cast_op(from, {to, Use::kWrite, 0}, phase, weight));
    return {to, Use::kRead, 0};
  }
  /// `weight`: of the product that reads the copy, or whose input's gradient it is.
  Op cast_op(const Operand& from, const Operand& to, Phase phase, const Tensor* weight) const {
    Cast body{0, d_.tensors[from.tensor].dtype, d_.tensors[to.tensor].dtype};
    body.autocast = true;
    if (weight != nullptr) body.packed = packed_in(*weight);
    return {Compute(body), Stream::kCompute, phase, {from, to}};
  }
  void forget_versions() {
    for (const Operand& o : op_.operands) {
      if (o.use != Use::kRead) versions_.erase({o.tensor, o.shift});
    }
  }

  Draft& d_;
  DType wide_, narrow_;
  Block* block_ = nullptr;
  Op op_;
  std::vector<Op> behind_;
  std::vector<bool> is_narrow_;              // by tensor
  std::map<Key, TensorId> versions_;         // in the other type
  std::map<TensorId, TensorId> weights_;     // their casts
  std::map<std::string, TensorId> inputs_;   // of products, by their weights' gradients
  std::map<TensorId, TensorId> made_by_;     // gradients of inputs, by which weight's product
  std::map<TensorId, bool> dropped_narrow_;  // by mask
};

bool is_cast_of_weight(const Draft& d, const Op& op) {
  const Cast* cast = body_of<Cast>(op);
  return cast != nullptr && cast->autocast &&
         d.tensors[op.operands[0].tensor].kind == TensorClass::kWeight;
}

/// As the pipeline has it, of one stage.
bool recomputes(const RecomputeOptions& r, std::int64_t layer) {
  return (r.layers < 0 || layer < r.layers) && (layer + 1) % r.every == 0;
}

}  // namespace

void apply_autocast(Draft& d) {
  if (!d.workload.precision.autocast) return;
  Autocast autocast(d);
  autocast.rewrite(d.embed_forward);
  for (LayerKind& layer : d.layers) autocast.rewrite(layer.kept.forward);
  autocast.rewrite(d.head_forward), autocast.rewrite(d.head_backward);
  for (LayerKind& layer : d.layers) autocast.rewrite(layer.kept.backward);
  autocast.rewrite(d.embed_backward);
}

// By the last op of the head's forward pass, which reads them. Of a pipeline each stage has a
// context for its own layers, and what it holds at the end of a pass is left out.
void hold_cast_weights(Draft& d) {
  const bool again = d.strategy.recompute.kind != Recompute::kNone;
  if (!d.workload.precision.autocast || !again || d.mesh()[Axis::kPp] > 1) return;
  std::vector<Operand>& held = d.head_forward.ops.back().operands;
  for (std::int64_t l = 0; l < d.model.layers; ++l) {
    const LayerKind& kind = d.layers[d.kind_of(l)];
    if (!kind.recomputed || !recomputes(d.strategy.recompute, l)) continue;
    for (const Op& op : kind.recomputed->forward.ops) {
      if (!is_cast_of_weight(d, op)) continue;
      const TensorId copy = op.operands[1].tensor;
      d.tensors[copy].scope = Scope::kLayerMicrobatch;
      held.push_back({copy, Use::kRead, static_cast<std::int16_t>(l - d.model.layers)});
    }
  }
}

}  // namespace plait
