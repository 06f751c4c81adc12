#pragma once
// Attention's output gate (Qiu et al. 2025, Gated Attention, arXiv 2505.06708, section 2.2, behind
// the scaled dot product): context sigmoid(W_g h), which the projection behind attention reads.
// Kept are W_g h and the gated context. Qwen3-Next and Megatron-LM (--attention-output-gate) have
// W_g in one product with the queries'; here it is one of its own.

#include "plan/strategies/block_writer.h"

namespace plait {

class AttentionGateWriter {
 public:
  AttentionGateWriter(Draft& d, BlockWriter& w, UnitKind unit)
      : w_(w),
        dtype_(d.workload.precision.weights),
        width_(d.model.context_width()),
        hidden_(d.model.hidden),
        gate_(w.linear(unit, "layer.attention_gate", Dim{width_}, Dim{hidden_}, false)),
        logits_(w.saved("attention_gate", width_)),
        gated_(w.saved("gated_context", width_)),
        d_gated_(w.temporary("d_gated_context", width_)),
        d_logits_(w.temporary("d_attention_gate", width_)) {}

  TensorId gated() const { return gated_; }
  void forward(TensorId h, TensorId context) const {
    w_.linear_forward(h, gate_, logits_, false);
    w_.emit(body(Pass::kForward), Phase::kForward, {read(context), read(logits_), written(gated_)});
  }
  /// Of the gated context.
  TensorId d_gated() const { return d_gated_; }
  void backward(TensorId context, TensorId dcontext) const {
    w_.emit(body(Pass::kBackward), Phase::kBackward,
            {read(d_gated_), read(context), read(logits_), written(dcontext), written(d_logits_)});
  }
  /// The gradient of h with that which comes through the gate.
  TensorId through(TensorId h, TensorId dh) const {
    const TensorId through_gate = w_.temporary("d_attention_gate_input", hidden_);
    const TensorId sum = w_.temporary("d_attention_inputs", hidden_);
    w_.linear_input_grad(read(d_logits_), gate_, through_gate);
    w_.linear_weight_grad(read(d_logits_), h, gate_, false);
    w_.sum(read(dh), read(through_gate), written(sum));
    return sum;
  }

 private:
  Gate body(Pass pass) const {
    Gate gate;
    gate.pass = pass, gate.dtype = dtype_;
    return gate;
  }

  BlockWriter& w_;
  DType dtype_;
  std::int64_t width_, hidden_;
  BlockWriter::Linear gate_;
  TensorId logits_, gated_, d_gated_, d_logits_;
};

}  // namespace plait
