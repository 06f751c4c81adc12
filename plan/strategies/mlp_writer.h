#pragma once
// The MLP of a transformer layer: a linear layer, an activation and a second linear layer. One for
// all tokens, or one for each expert, on the slots that tokens fill.

#include "plan/strategies/block_writer.h"

namespace plait {

/// A number for each row, and its gradient: activations are multiplied by it.
struct RowWeights {
  TensorId value = kNoTensor, gradient = kNoTensor;
  bool any() const { return value != kNoTensor; }
};

class MlpWriter {
 public:
  /// `name`: "mlp" for tensors "layer.mlp_up.weight", "mlp_activation", ...
  MlpWriter(Draft& d, BlockWriter& w, UnitKind unit, std::string name, std::int64_t width,
            std::optional<SlotRows> slots = {})
      : m_(d.model), w_(w), name_(std::move(name)), width_(width), slots_(slots) {
    dtype_ = d.workload.precision.weights;
    const Dim wide{m_.mlp_input_width(width), {}, sections()}, inner{width}, h{m_.hidden};
    const std::string up = "layer." + name_ + "_up", down = "layer." + name_ + "_down";
    if (slots_) {
      up_.weight = w_.parameter(unit, up + ".weight", {slots_->experts, wide, h});
      down_.weight = w_.parameter(unit, down + ".weight", {slots_->experts, h, inner});
    } else {
      up_ = w_.linear(unit, up, wide, h, m_.mlp_bias);
      down_ = w_.linear(unit, down, h, inner, m_.mlp_bias);
    }
  }

  /// What the backward pass needs, and reads `h` again.
  void declare_saved() {
    u_ = rows(name_ + "_up", m_.mlp_input_width(width_), Scope::kLayerMicrobatch, sections());
    a_ = rows(name_ + "_activation", width_, Scope::kLayerMicrobatch, {});
  }
  /// Of the second linear layer: its bias is added by the residual sum.
  const BlockWriter::Linear& down() const { return down_; }

  void forward(TensorId h, TensorId out, const RowWeights& weights = {}) {
    w_.linear_forward(h, up_, u_, up_.has_bias());
    std::vector<Operand> o = {read(u_), written(a_)};
    if (weights.any()) o.push_back(read(weights.value));
    w_.emit(activation(Pass::kForward, weights), Phase::kForward, std::move(o));
    w_.linear_forward(a_, down_, out, false);
  }
  void backward(Operand dout, TensorId h, TensorId dh, const RowWeights& weights = {}) {
    const TensorId da = rows("d_" + name_ + "_activation", width_, Scope::kCall, {});
    const TensorId du =
        rows("d_" + name_ + "_up", m_.mlp_input_width(width_), Scope::kCall, sections());
    w_.linear_input_grad(dout, down_, da);
    w_.linear_weight_grad(dout, a_, down_, false);
    std::vector<Operand> o = {read(da), read(u_), written(du)};
    if (weights.any()) o.push_back(read(weights.value)), o.push_back(written(weights.gradient));
    w_.emit(activation(Pass::kBackward, weights), Phase::kBackward, std::move(o));
    w_.linear_input_grad(read(du), up_, dh);
    w_.linear_weight_grad(read(du), h, up_, up_.has_bias());
  }

  /// A tensor of the tokens, or of the slots, that this MLP works on.
  TensorId rows(std::string name, std::int64_t width, Scope scope, Sections sections) {
    if (!slots_) return w_.activation(std::move(name), width, scope, sections);
    return w_.slots(std::move(name), *slots_, Dim{width, {}, sections}, scope);
  }

 private:
  Sections sections() const { return m_.gated_mlp ? Sections{width_, width_, 0} : Sections{}; }
  Activation activation(Pass pass, const RowWeights& weights) const {
    return {pass, m_.activation, m_.gated_mlp, 0, 0, dtype_, weights.any()};
  }

  const Model& m_;
  BlockWriter& w_;
  std::string name_;
  std::int64_t width_;
  std::optional<SlotRows> slots_;
  DType dtype_{};
  BlockWriter::Linear up_{}, down_{};
  TensorId u_ = kNoTensor, a_ = kNoTensor;
};

}  // namespace plait
