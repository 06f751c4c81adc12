#include "model/iteration_flops.h"

#include "model/expert_flops.h"
#include "model/op.h"

namespace plait {
namespace {

/// Forward FLOPs per token of the linear maps of all layers: two per weight that the token meets.
/// The router of a mixture of experts, and the gate of its shared ones, count only where that is
/// asked for: Megatron-LM's function leaves them out.
double linear_flops(const Model& m, bool router) {
  const auto mlp = [&](std::int64_t width) {
    return m.hidden * m.mlp_input_width(width) + width * m.hidden;
  };
  const std::int64_t experts =  // beside the routed ones
      mlp(m.shared_ffn_hidden) + (router ? m.hidden * m.experts + m.shared_gate_weights() : 0);
  // A module that predicts a further token has a layer and a projection from 2 h to h.
  const std::int64_t in_modules =
      m.mtp_layers * (m.mtp_has_experts() ? experts : mlp(m.ffn_hidden)) +
      m.mtp_layers * 2 * m.hidden * m.hidden;
  const std::int64_t weights = (m.attention_layers() + m.mtp_layers) * m.attention_weights() +
                               m.state_space_layers() * m.state_space_weights() +
                               m.delta_net_layers() * m.delta_net_weights() +
                               m.dense_layers() * mlp(m.ffn_hidden) + m.moe_layers() * experts +
                               in_modules;
  return 2.0 * static_cast<double>(weights) + routed_expert_flops(m);
}

/// Forward FLOPs per token of QK^T and PV of all layers over the squares of a batch, of which
/// windows leave the bands.
double attention_flops(const Model& m, const BatchSizes& batch) {
  const auto columns = static_cast<double>(m.query_width() + m.context_width());
  const auto layers = static_cast<double>(m.attention_layers() + m.mtp_layers);
  const auto windowed =
      static_cast<double>(m.windowed_layers() + (m.mtp_has_window() ? m.mtp_layers : 0));
  const double keys = (layers - windowed) * (batch.squares / batch.tokens) +
                      windowed * (batch.bands / batch.tokens);
  return 2.0 * keys * columns;
}

/// Forward FLOPs per token of all scans, as their products: C B^T of each group and its product
/// with x of each head within chunks, of which half of the square is needed, states out of chunks
/// and into the next (Dao and Gu 2024, section 6; model/scan_kernels.cpp).
double scan_flops(const Model& m, const BatchSizes& batch) {
  if (m.state_space_layers() == 0) return 0;
  const auto layers = static_cast<double>(m.state_space_layers());
  const auto within = static_cast<double>(m.state_group_width() + m.state_width());
  const auto across = static_cast<double>(2 * m.state_width() * m.state_size);
  return layers * (batch.chunks / batch.tokens * within + 2 * across);
}
/// Of all delta rules, as delta_rule_kernels counts them.
double delta_rule_flops(const Model& m, const BatchSizes& batch) {
  if (m.delta_net_layers() == 0) return 0;
  const auto heads = static_cast<double>(m.delta_net_layers() * m.state_heads);
  const auto within = static_cast<double>(3 * m.state_size + 2 * m.state_head_dim);
  const auto across = static_cast<double>(6 * m.state_size * m.state_head_dim);
  return heads *
         (batch.chunks / batch.tokens * within + batch.chunk_cubes / batch.tokens / 3 + across);
}
/// Per token what Megatron-LM counts of states, whatever the chunk: mamba_layer_flops, and for
/// linear_attention_type gated_delta_net four products of P x P and the taps of the convolution
/// (num_floating_point_operations; N is P there).
double megatron_state_flops(const Model& m) {
  const std::int64_t state = m.state_width() * m.state_size;
  return static_cast<double>(7 * m.state_space_layers() * state +
                             2 * m.delta_net_layers() *
                                 (4 * state + m.conv_width * m.conv_channels()));
}

/// Of the model's head and of those of the modules that predict further tokens.
double logit_flops(const Model& m) {
  const auto heads = static_cast<double>(1 + m.mtp_layers);
  const std::int64_t columns = m.vocab + (m.masked_lm_head ? m.hidden : 0);
  return 2.0 * heads * static_cast<double>(m.hidden) * static_cast<double>(columns);
}

}  // namespace

void BatchSizes::add(const Model& model, std::int64_t length, std::int64_t count) {
  const auto each = static_cast<double>(length), n = static_cast<double>(count);
  tokens += n * each, squares += n * each * each;
  bands += n * band_of(each, static_cast<double>(model.attention_window));
  chunks += n * static_cast<double>(squares_of_chunks(length, model.scan_chunk));
  chunk_cubes += n * static_cast<double>(cubes_of_chunks(length, model.scan_chunk));
}

BatchSizes BatchSizes::of_sequences(const Model& model, std::int64_t length, std::int64_t count) {
  BatchSizes out;
  out.add(model, length, count);
  return out;
}

// Narayanan et al. 2021 (arXiv 2104.04473), section 5.1 and appendix, for h = a d, four-fold MLP:
//   F = 96 B s l h^2 (1 + s / 6h + V / 16 l h)    with full recomputation (equation 3),
//   F = 72 B s l h^2 (1 + s / 6h + V / 12 l h)    without.
// A layer runs forward once, backward (twice forward) once, and forward again when recomputed; the
// logits are not recomputed. Written per linear map it also covers grouped-query attention, an
// explicit head_dim and gated MLPs, as Megatron-LM megatron/training/training.py,
// num_floating_point_operations (core 0.12) generalises it. Multi-token prediction: as core 0.13
// counts it, less the norms.
Flops megatron_flops_per_iteration(const Model& model, const BatchSizes& batch,
                                   bool full_recompute) {
  const double layers =
      linear_flops(model, false) + attention_flops(model, batch) + megatron_state_flops(model);
  const double runs = full_recompute ? 4 : 3;
  return Flops(batch.tokens * (runs * layers + 3 * logit_flops(model)));
}
Flops megatron_flops_per_iteration(const Model& model, std::int64_t seq, std::int64_t batch,
                                   bool full_recompute) {
  return megatron_flops_per_iteration(model, BatchSizes::of_sequences(model, seq, batch),
                                      full_recompute);
}

Flops linear_flops_of_a_pass(const Model& model, const BatchSizes& batch) {
  return Flops(batch.tokens * (linear_flops(model, false) + logit_flops(model)));
}

// Later versions of the same Megatron-LM function (commit 001b00c2) count seq / 2 keys per query:
// half of a causal mask is empty. Without one the whole square is needed.
Flops needed_flops_per_iteration(const Model& model, std::int64_t seq, std::int64_t batch) {
  const BatchSizes sizes = BatchSizes::of_sequences(model, seq, batch);
  const double seen = model.causal ? 0.5 : 1;
  const double layers = linear_flops(model, true) + attention_flops(model, sizes) * seen +
                        scan_flops(model, sizes) + delta_rule_flops(model, sizes);
  return Flops(sizes.tokens * 3 * (layers + logit_flops(model)));
}

}  // namespace plait
