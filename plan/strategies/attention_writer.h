#pragma once
// Attention of a layer, from what it reads to the matrix behind it: queries, keys and values of one
// product or of latents, norms of heads, positions, attention itself and its gate.

#include "plan/strategies/attention_gate_writer.h"
#include "plan/strategies/latent_writer.h"

namespace plait {

class AttentionWriter {
 public:
  AttentionWriter(Draft& d, BlockWriter& w, UnitKind unit)
      : d_(d), m_(d.model), w_(w), dtype_(d.workload.precision.weights) {
    if (m_.latent_attention()) {
      latents_.emplace(d_, w_, unit);
    } else {
      qkv_ = w_.linear(unit, "layer.qkv", Dim{m_.qkv_width(), {}, sections()}, Dim{m_.hidden},
                       m_.qkv_bias);
    }
    if (m_.qk_norm) heads_ = w_.head_norm_weights(unit, sections());
    out_ = w_.linear(unit, "layer.attention_out", Dim{m_.hidden}, Dim{m_.context_width()},
                     m_.attention_output_bias);
    packed_ = w_.saved("qkv", m_.qkv_width(), sections());
    context_ = w_.saved("context", m_.context_width());
    if (m_.attention_gate) gate_.emplace(d_, w_, unit);
    declare_kept();
  }

  /// The matrix behind attention: its bias is added by the residual sum.
  const BlockWriter::Linear& out() const { return out_; }

  void forward(TensorId h, TensorId out) const {
    project(h);
    std::vector<Operand> o = {read(packed_), written(context_), written(kept_)};
    if (dropped_ != kNoTensor) o.push_back(written(drop_mask_)), o.push_back(written(dropped_));
    w_.emit(body(Pass::kForward), Phase::kForward, o);
    if (gate_) gate_->forward(h, context_);
    w_.linear_forward(gate_ ? gate_->gated() : context_, out_, out, false);
  }
  /// The gradient of h.
  TensorId backward(Operand dout, TensorId h) const {
    const TensorId dcontext = w_.temporary("d_context", m_.context_width());
    const TensorId dqkv = w_.temporary("d_qkv", m_.qkv_width(), sections());
    const TensorId dh = w_.temporary("d_attention_input", m_.hidden);
    w_.linear_input_grad(dout, out_, gate_ ? gate_->d_gated() : dcontext);
    w_.linear_weight_grad(dout, gate_ ? gate_->gated() : context_, out_, false);
    if (gate_) gate_->backward(context_, dcontext);
    std::vector<Operand> o = {read(dcontext), read(packed_), read(context_), read(kept_)};
    if (dropped_ != kNoTensor) o.push_back(read(drop_mask_)), o.push_back(read(dropped_));
    o.push_back(written(dqkv));
    w_.emit(body(Pass::kBackward), Phase::kBackward, o);
    project_backward(dqkv, h, dh);
    return gate_ ? gate_->through(h, dh) : dh;
  }

 private:
  Sections sections() const { return {m_.query_width(), m_.key_width(), m_.value_width()}; }
  bool rotates() const { return m_.positions == PositionKind::kRotary; }

  /// What the backward pass needs of attention itself.
  void declare_kept() {
    if (d_.workload.flash_attention) {
      kept_ = w_.rows("log_sum_exp", Dim{m_.heads}, DType::kFp32, Scope::kLayerMicrobatch);
      return;
    }
    kept_ = scores("probabilities", dtype_);
    if (!drops()) return;
    drop_mask_ = scores("attention_mask", DType::kInt8);
    dropped_ = scores("dropped_probabilities", dtype_);
  }
  bool drops() const { return m_.dropout_of_attention() > 0; }
  TensorId scores(std::string name, DType dtype) {  // (s, b, heads, s)
    return w_.table(std::move(name),
                    {w_.sequence(), Dim{d_.workload.micro_batch}, Dim{m_.heads},
                     Dim{d_.workload.sequence_length}},
                    dtype, Scope::kLayerMicrobatch);
  }
  Attention body(Pass pass) const {
    Attention a;
    a.pass = pass;
    a.fused = d_.workload.flash_attention;
    a.dropout = drops();
    a.causal = m_.causal;
    a.dtype = dtype_;
    return a;
  }

  void project(TensorId h) const {
    if (latents_) return latents_->forward(h, packed_);
    w_.linear_forward(h, qkv_, heads_ ? heads_->projected : packed_, qkv_.has_bias());
    if (heads_) w_.head_norm_forward(*heads_, packed_);
    if (rotates()) w_.rotate(Pass::kForward, packed_);
  }
  void project_backward(TensorId dqkv, TensorId h, TensorId dh) const {
    if (latents_) return latents_->backward(dqkv, h, dh);
    if (rotates()) w_.rotate(Pass::kBackward, dqkv);
    if (heads_) w_.head_norm_backward(*heads_, dqkv);
    w_.linear_input_grad(read(dqkv), qkv_, dh);
    w_.linear_weight_grad(read(dqkv), h, qkv_, qkv_.has_bias());
  }

  Draft& d_;
  const Model& m_;
  BlockWriter& w_;
  DType dtype_;
  BlockWriter::Linear qkv_{}, out_{};
  std::optional<LatentWriter> latents_;  // in place of qkv
  std::optional<BlockWriter::HeadNormWeights> heads_;
  std::optional<AttentionGateWriter> gate_;
  TensorId packed_, context_, kept_ = kNoTensor;
  TensorId drop_mask_ = kNoTensor, dropped_ = kNoTensor;
};

}  // namespace plait
