#pragma once
// The part of a layer that a mixture of experts has in place of its MLP, unsharded: router,
// experts and, where the model has them, shared experts that see every token.

#include "plan/strategies/mlp_writer.h"

namespace plait {

/// Of a sequence, those that are a rank's.
std::int64_t tokens_of_a_rank(const Draft& draft);

/// Slots that a rank's tokens of a microbatch have at each expert. With a capacity each sequence's
/// s tokens have slots of their own, ceil(factor k s / E) and at most s; without dropping the b s
/// tokens of all sequences share ceil(skew k b s / E).
std::int64_t expert_slots(const Draft& draft);

class MixtureWriter {
 public:
  /// `unit`: of router and shared experts.
  MixtureWriter(Draft& d, BlockWriter& w, UnitKind unit);

  void forward(TensorId h, TensorId out);
  void backward(Operand dout, TensorId h, TensorId dh);

 private:
  void routed_forward(TensorId h, TensorId out);
  void routed_backward(Operand dout, TensorId h, TensorId dh);
  void shared_forward(TensorId h, TensorId out);
  void shared_backward(Operand dout, TensorId h, TensorId dh);
  Gate shared_gate(Pass pass) const;
  void experts_backward(Operand dout, TensorId dgates, TensorId through_experts);
  TensorId chosen(std::string name, DType dtype, Scope scope);

  const Model& m_;
  BlockWriter& w_;
  DType dtype_;
  Route route_;
  BlockWriter::Linear router_;
  MlpWriter experts_;
  std::optional<MlpWriter> shared_;
  std::optional<BlockWriter::Linear> shared_gate_;
  TensorId shared_out_ = kNoTensor, shared_logits_ = kNoTensor;  // before their gate; (s, b, 1)
  TensorId gates_ = kNoTensor, slots_ = kNoTensor;               // (s, b, k)
  TensorId expert_input_ = kNoTensor, expert_out_ = kNoTensor;   // (E, capacity b, h)
  TensorId slot_gates_ = kNoTensor;  // (E, capacity b, 1), where activations are multiplied by them
};

}  // namespace plait
