// A state-space mixer (Dao and Gu 2024, Mamba-2, arXiv 2405.21060, section 7), as it trains:
//
//   [z | x | B | C | dt] = W_in h       gate, inputs of all heads, B and C of all groups, steps
//   [x | B | C] = silu(conv(x, B, C))   over the last tokens, channel by channel
//   y = scan(x, dt, B, C)               a state of each head (model/state_space_ops.h)
//   out = W_out norm(y silu(z))         an RMSNorm of each group's heads
//
// Kept for the backward pass is what mamba_ssm's fused layer keeps (ssd_combined.py,
// MambaSplitConv1dScanCombinedFn): what W_in made, y and the norm's statistics. Convolution, states
// and the norm's results are made again. tp splits heads with their groups, so that it meets no
// other rank before W_out (Megatron-LM, megatron/core/ssm/mamba_mixer.py).
#include "plan/strategies/state_space_writer.h"

namespace plait {
namespace {

Sections packed_sections(const Model& m) {
  return {m.state_width(), m.state_width(), m.state_group_width(), m.state_group_width(),
          m.state_heads};
}
Sections conv_sections(const Model& m) {
  return {m.state_width(), m.state_group_width(), m.state_group_width()};
}

}  // namespace

StateSpaceWriter::StateSpaceWriter(Draft& d, BlockWriter& w, UnitKind unit)
    : m_(d.model),
      w_(w),
      dtype_(d.workload.precision.weights),
      samples_{d.workload.micro_batch},
      in_(w.linear(unit, "layer.state_space_in",
                   Dim{m_.state_input_width(), {}, packed_sections(m_)}, Dim{m_.hidden}, false)),
      out_(w.linear(unit, "layer.state_space_out", Dim{m_.hidden}, Dim{m_.state_width()}, false)),
      conv_(d, w, unit, conv_sections(m_), true) {
  const Dim heads{m_.state_heads};
  decay_ = w.parameter(unit, "layer.scan.a_log", {heads});
  direct_ = w.parameter(unit, "layer.scan.d", {heads});
  step_bias_ = w.parameter(unit, "layer.scan.dt_bias", {heads});
  gamma_ = w.parameter(unit, "layer.gated_norm.gamma", {Dim{m_.state_width()}});
  packed_ = packed("state_space_in", Scope::kLayerMicrobatch);
  y_ = w.saved("scanned", m_.state_width());
  stats_ =
      w.rows("layer.gated_norm.stats", Dim{m_.state_groups}, DType::kFp32, Scope::kLayerMicrobatch);
}

TensorId StateSpaceWriter::packed(const char* name, Scope scope) const {
  return w_.activation(name, m_.state_input_width(), scope, packed_sections(m_));
}

TensorId StateSpaceWriter::scores(const char* name) const {
  return w_.table(name, {w_.sequence(), samples_, Dim{m_.state_groups}, Dim{m_.scan_chunk}},
                  DType::kFp32);
}

void StateSpaceWriter::forward(TensorId h, TensorId out) const {
  const TensorId convolved = conv_.rows("convolved");
  const TensorId normed = w_.temporary("gated", m_.state_width());
  w_.linear_forward(h, in_, packed_, false);
  conv_.forward(packed_, convolved);
  Scan scan;
  scan.dtype = dtype_;
  w_.emit(scan, Phase::kForward,
          {read(convolved), read(packed_), read(decay_.weight), read(direct_.weight),
           read(step_bias_.weight), written(y_), written(w_.states("scan_states", DType::kFp32)),
           written(w_.states("scan_states_read", dtype_)), written(scores("scan_scores"))});
  GatedNorm norm;
  norm.dtype = dtype_;
  w_.emit(norm, Phase::kForward,
          {read(y_), read(packed_), read(gamma_.weight), written(normed), written(stats_)});
  w_.linear_forward(normed, out_, out, false);
}

void StateSpaceWriter::backward(Operand dout, TensorId h, TensorId dh) const {
  const TensorId dnormed = w_.temporary("d_gated", m_.state_width());
  const TensorId normed = w_.temporary("gated_again", m_.state_width());
  const TensorId dy = w_.temporary("d_scanned", m_.state_width());
  const TensorId convolved = conv_.rows("convolved_again"), drows = conv_.rows("d_convolved");
  const TensorId dpacked = packed("d_state_space_in", Scope::kCall);
  w_.linear_input_grad(dout, out_, dnormed);
  GatedNorm norm;
  norm.pass = Pass::kBackward, norm.dtype = dtype_;
  w_.emit(norm, Phase::kBackward,
          {read(dnormed), read(y_), read(packed_), read(stats_), read(gamma_.weight), written(dy),
           written(dpacked), update(gamma_.gradient), written(normed)});
  w_.linear_weight_grad(dout, normed, out_, false);
  conv_.forward(packed_, convolved, Phase::kBackward);
  Scan scan;
  scan.pass = Pass::kBackward, scan.dtype = dtype_;
  w_.emit(scan, Phase::kBackward,
          {read(dy), read(convolved), read(packed_), read(decay_.weight), read(direct_.weight),
           read(step_bias_.weight), written(drows), update(dpacked), update(decay_.gradient),
           update(direct_.gradient), update(step_bias_.gradient),
           written(w_.states("scan_states_again", DType::kFp32)),
           written(w_.states("d_scan_states", DType::kFp32)),
           written(w_.states("scan_states_again_read", dtype_)),
           written(w_.states("d_scan_states_read", dtype_)), written(scores("scan_scores_again")),
           written(scores("d_scan_scores"))});
  conv_.backward(drows, packed_, dpacked);
  w_.linear_input_grad(read(dpacked), in_, dh);
  w_.linear_weight_grad(read(dpacked), h, in_, false);
}

}  // namespace plait
