// A gated delta net (Yang et al. 2024, Gated Delta Networks, arXiv 2412.06464, section 3.4), as it
// trains in Qwen3-Next and Qwen3.5:
//
//   [z | q | k | v | beta, alpha] = W_in h   gate, queries and keys of all key heads, values and
//   two
//                                            numbers of each value head
//   [q | k | v] = silu(conv(q, k, v))        over the last tokens, channel by channel
//   y = delta_rule(q, k, v, beta, alpha)     a state of each value head (model/delta_rule_ops.h)
//   out = W_out (norm(y) silu(z))            an RMSNorm of each value head, one gamma for all
//
// Kept for the backward pass is what flash-linear-attention's functions keep (fla/layers and
// fla/ops/gated_delta_rule/chunk.py, ChunkGatedDeltaRuleFunction): what W_in made, q and k of unit
// length and v of each value head, decays, the inverse of each chunk, y, the norm's statistics and
// what W_out reads. The convolution's results are gone, and states are made again. tp splits value
// heads with their key heads, so that it meets no other rank before W_out (Megatron-LM,
// megatron/core/ssm/gated_delta_net.py).
#include "plan/strategies/delta_net_writer.h"

namespace plait {
namespace {

Sections delta_packed_sections(const Model& m) {
  return {m.state_width(), m.state_group_width(), m.state_group_width(), m.state_width(),
          2 * m.state_heads};
}
Sections delta_conv_sections(const Model& m) {
  return {m.state_group_width(), m.state_group_width(), m.state_width()};
}
/// q, k and v of each value head.
Sections kept_sections(const Model& m) {
  const std::int64_t keys = m.state_heads * m.state_size;
  return {keys, keys, m.state_width()};
}

}  // namespace

DeltaNetWriter::DeltaNetWriter(Draft& d, BlockWriter& w, UnitKind unit)
    : m_(d.model),
      w_(w),
      dtype_(d.workload.precision.weights),
      samples_{d.workload.micro_batch},
      in_(w.linear(unit, "layer.delta_net_in",
                   Dim{m_.delta_input_width(), {}, delta_packed_sections(m_)}, Dim{m_.hidden},
                   false)),
      out_(w.linear(unit, "layer.delta_net_out", Dim{m_.hidden}, Dim{m_.state_width()}, false)),
      conv_(d, w, unit, delta_conv_sections(m_), false) {
  const Dim heads{m_.state_heads};
  decay_ = w.parameter(unit, "layer.delta_rule.a_log", {heads});
  step_bias_ = w.parameter(unit, "layer.delta_rule.dt_bias", {heads});
  gamma_ = w.parameter(unit, "layer.normed_gate.gamma", {Dim{m_.state_head_dim}});
  packed_ = packed("delta_net_in", Scope::kLayerMicrobatch);
  kept_ = w.saved("delta_net_qkv", 2 * m_.state_heads * m_.state_size + m_.state_width(),
                  kept_sections(m_));
  stats_ = of_heads("delta_rule_stats", kDeltaRuleStats, DType::kFp32, Scope::kLayerMicrobatch);
  inverse_ = of_heads("delta_rule_inverse", m_.scan_chunk, dtype_, Scope::kLayerMicrobatch);
  y_ = w.saved("delta_rule_out", m_.state_width());
  norm_stats_ = w.rows("layer.normed_gate.stats", heads, DType::kFp32, Scope::kLayerMicrobatch);
  gated_ = w.saved("delta_net_gated", m_.state_width());
}

TensorId DeltaNetWriter::packed(const char* name, Scope scope) const {
  return w_.activation(name, m_.delta_input_width(), scope, delta_packed_sections(m_));
}

TensorId DeltaNetWriter::of_heads(const char* name, std::int64_t numbers, DType dtype,
                                  Scope scope) const {
  return w_.table(name, {w_.sequence(), samples_, Dim{m_.state_heads}, Dim{numbers}}, dtype, scope);
}

TensorId DeltaNetWriter::vectors(const char* name, std::int64_t keys, std::int64_t values) const {
  return of_heads(name, keys * m_.state_size + values * m_.state_head_dim, dtype_, Scope::kCall);
}

void DeltaNetWriter::forward(TensorId h, TensorId out) const {
  const TensorId convolved = conv_.rows("convolved");
  w_.linear_forward(h, in_, packed_, false);
  conv_.forward(packed_, convolved);
  DeltaRule rule;
  rule.dtype = dtype_;
  w_.emit(rule, Phase::kForward,
          {read(convolved), read(packed_), read(decay_.weight), read(step_bias_.weight),
           written(y_), written(kept_), written(stats_), written(inverse_),
           written(w_.states("delta_states", dtype_)), written(vectors("delta_w_u_v", 1, 2)),
           written(of_heads("delta_scores", m_.scan_chunk, DType::kFp32, Scope::kCall))});
  GatedNorm norm;
  norm.dtype = dtype_, norm.gate_last = true;
  w_.emit(norm, Phase::kForward,
          {read(y_), read(packed_), read(gamma_.weight), written(gated_), written(norm_stats_)});
  w_.linear_forward(gated_, out_, out, false);
}

void DeltaNetWriter::backward(Operand dout, TensorId h, TensorId dh) const {
  const TensorId dgated = w_.temporary("d_delta_net_gated", m_.state_width());
  const TensorId dy = w_.temporary("d_delta_rule_out", m_.state_width());
  const TensorId drows = conv_.rows("d_convolved");
  const TensorId dpacked = packed("d_delta_net_in", Scope::kCall);
  w_.linear_input_grad(dout, out_, dgated);
  w_.linear_weight_grad(dout, gated_, out_, false);
  GatedNorm norm;
  norm.pass = Pass::kBackward, norm.dtype = dtype_, norm.gate_last = true;
  w_.emit(norm, Phase::kBackward,
          {read(dgated), read(y_), read(packed_), read(norm_stats_), read(gamma_.weight),
           written(dy), written(dpacked), update(gamma_.gradient)});
  DeltaRule rule;
  rule.pass = Pass::kBackward, rule.dtype = dtype_;
  w_.emit(rule, Phase::kBackward,
          {read(dy), read(kept_), read(stats_), read(inverse_), read(packed_), read(decay_.weight),
           read(step_bias_.weight), written(drows), update(dpacked), update(decay_.gradient),
           update(step_bias_.gradient), written(w_.states("delta_states_again", dtype_)),
           written(w_.states("d_delta_states", dtype_)),
           written(vectors("delta_w_u_v_again", 1, 2)), written(vectors("d_delta_vectors", 4, 2))});
  conv_.backward(drows, packed_, dpacked);
  w_.linear_input_grad(read(dpacked), in_, dh);
  w_.linear_weight_grad(read(dpacked), h, in_, false);
}

}  // namespace plait
