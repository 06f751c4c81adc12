#pragma once
// What stands between the last layer and the output matrix of a model that tells masked tokens
// (BERT's cls.predictions.transform, Megatron-LM's BertLMHead): a linear layer of h columns, an
// activation and a norm. Its weights are whole on every rank along tp; with sequence parallelism
// each takes its own tokens.

#include "plan/strategies/block_writer.h"

namespace plait {

class MaskedLmWriter {
 public:
  MaskedLmWriter(Draft& d, BlockWriter& w, UnitKind unit)
      : m_(d.model), w_(w), dtype_(d.workload.precision.weights) {
    const Dim h{m_.hidden};
    dense_ = w.linear(unit, "lm_head.dense", h, h, true);
    norm_ = w.norm_weights(unit, "lm_head.norm");
    dense_out_ = w.activation("lm_head_dense", m_.hidden, Scope::kMicrobatch);
    activated_ = w.activation("lm_head_activation", m_.hidden, Scope::kMicrobatch);
    out_ = w.activation("lm_head_hidden", m_.hidden, Scope::kMicrobatch);
  }

  /// What the output matrix reads.
  TensorId out() const { return out_; }

  void forward(TensorId h) {
    w_.linear_forward(h, dense_, dense_out_, true);
    w_.emit(activation(Pass::kForward), Phase::kForward, {read(dense_out_), written(activated_)});
    w_.norm_forward(read(activated_), norm_, out_);
  }
  void backward(TensorId dout, TensorId h, Operand dh) {
    const TensorId dactivated = w_.temporary("d_lm_head_activation", m_.hidden);
    const TensorId ddense = w_.temporary("d_lm_head_dense", m_.hidden);
    w_.norm_backward(dout, read(activated_), norm_, written(dactivated));
    w_.emit(activation(Pass::kBackward), Phase::kBackward,
            {read(dactivated), read(dense_out_), written(ddense)});
    w_.linear_input_grad(read(ddense), dense_, dh);
    w_.linear_weight_grad(read(ddense), h, dense_, true);
  }

 private:
  Activation activation(Pass pass) const { return {pass, m_.activation, false, 0, 0, dtype_}; }

  const Model& m_;
  BlockWriter& w_;
  DType dtype_;
  BlockWriter::Linear dense_{};
  BlockWriter::NormWeights norm_;
  TensorId dense_out_, activated_, out_;
};

}  // namespace plait
