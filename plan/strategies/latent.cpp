// Multi-head latent attention (DeepSeek-AI 2024, DeepSeek-V2, arXiv 2405.04434, section 2.1 and
// appendix C), as it trains: a head's keys and values are made of one latent vector of their token,
// its queries of another,
//
//   c_q = norm(W_dq h)         q = W_uq c_q               [own | rotary] of each head
//   [c_kv | k_r] = W_dkv h     kv = W_ukv norm(c_kv)      [own key | value] of each head
//   k = [own key | rotated k_r], k_r the same for all heads
//
// and attention is that of as many key-value heads as heads. Without a latent of the queries they
// are a product of h itself. tp splits the two products behind the norms by heads; what comes
// before them is the same on all of its ranks, which gather the latents, not h, where tokens are
// sharded over tp (Megatron-LM, megatron/core/transformer/multi_latent_attention.py).
#include "plan/strategies/latent_writer.h"

namespace plait {

LatentWriter::LatentWriter(Draft& d, BlockWriter& w, UnitKind unit)
    : m_(d.model),
      w_(w),
      dtype_(d.workload.precision.weights),
      queries_(declare(unit, "q", m_.q_lora_rank, 0, m_.query_width())),
      keys_(declare(unit, "kv", m_.kv_lora_rank, m_.rope_head_dim, m_.kv_up_width())),
      rotary_(w_.saved("rotary_keys", m_.rope_head_dim, {0, m_.rope_head_dim, 0})) {}

LatentWriter::Latent LatentWriter::declare(UnitKind unit, std::string name, std::int64_t rank,
                                           std::int64_t beside, std::int64_t width) {
  Latent l;
  const std::string layer = "layer." + name;
  l.rank = rank;
  const Dim h{m_.hidden};
  l.up = w_.linear(unit, layer + "_up", Dim{width}, rank > 0 ? Dim{rank} : h, false);
  if (rank > 0) {
    l.down = w_.linear(unit, layer + "_down", Dim{rank + beside}, h, false);
    l.norm = w_.norm_weights(unit, layer + "_norm", rank);
    l.raw = w_.saved(name + "_latent", rank, {rank, 0, 0});
    l.normed = w_.saved(name + "_latent_normed", rank);
  }
  l.name = std::move(name);
  return l;
}

TensorId LatentWriter::beside_latents(const char* name) const {
  return w_.temporary(name, m_.kv_lora_rank + m_.rope_head_dim,
                      {m_.kv_lora_rank, m_.rope_head_dim, 0});
}

TensorId LatentWriter::queries(TensorId h) const {
  const TensorId q = w_.temporary("queries", m_.query_width());
  if (queries_.rank > 0) {
    w_.linear_forward(h, queries_.down, queries_.raw, false);
    w_.norm_forward(read(queries_.raw), queries_.norm, queries_.normed);
  }
  w_.linear_forward(queries_.rank > 0 ? queries_.normed : h, queries_.up, q, false);
  w_.rotate(Pass::kForward, q);
  return q;
}

void LatentWriter::forward(TensorId h, TensorId packed) const {
  const TensorId q = queries(h);
  const TensorId both = beside_latents("kv_latent_and_rotary"), shared = rotary_;
  w_.linear_forward(h, keys_.down, both, false);
  w_.copy(both, written(keys_.raw), Phase::kForward);
  w_.copy(both, written(shared), Phase::kForward);
  w_.norm_forward(read(keys_.raw), keys_.norm, keys_.normed);
  const TensorId kv = w_.temporary("keys_and_values", m_.kv_up_width());
  w_.linear_forward(keys_.normed, keys_.up, kv, false);
  w_.rotate(Pass::kForward, shared);
  LatentHeads heads;
  heads.dtype = dtype_;
  w_.emit(heads, Phase::kForward, {read(q), read(kv), read(shared), written(packed)});
}

TensorId LatentWriter::latent_backward(const Latent& latent, TensorId dout) const {
  const TensorId dnormed = w_.temporary("d_" + latent.name + "_latent_normed", latent.rank);
  const TensorId draw =
      w_.temporary("d_" + latent.name + "_latent", latent.rank, {latent.rank, 0, 0});
  w_.linear_input_grad(read(dout), latent.up, dnormed);
  w_.linear_weight_grad(read(dout), latent.normed, latent.up, false);
  w_.norm_backward(dnormed, read(latent.raw), latent.norm, written(draw));
  return draw;
}

void LatentWriter::queries_backward(TensorId dq, TensorId h, TensorId dh) const {
  const bool latent = queries_.rank > 0;
  const TensorId d = latent ? latent_backward(queries_, dq) : dq;
  const BlockWriter::Linear& first = latent ? queries_.down : queries_.up;
  w_.linear_input_grad(read(d), first, dh);
  w_.linear_weight_grad(read(d), h, first, false);
}

void LatentWriter::backward(TensorId dpacked, TensorId h, TensorId dh) const {
  const TensorId dq = w_.temporary("d_queries", m_.query_width());
  const TensorId dkv = w_.temporary("d_keys_and_values", m_.kv_up_width());
  const TensorId dshared =
      w_.temporary("d_rotary_keys", m_.rope_head_dim, {0, m_.rope_head_dim, 0});
  LatentHeads heads;
  heads.pass = Pass::kBackward, heads.dtype = dtype_;
  w_.emit(heads, Phase::kBackward, {read(dpacked), written(dq), written(dkv), written(dshared)});
  w_.rotate(Pass::kBackward, dq), w_.rotate(Pass::kBackward, dshared);

  const TensorId draw = latent_backward(keys_, dkv);
  const TensorId both = beside_latents("d_kv_latent_and_rotary");
  w_.copy(draw, written(both), Phase::kBackward);
  w_.copy(dshared, update(both), Phase::kBackward);
  const TensorId from_keys = w_.temporary("d_from_keys", m_.hidden);
  w_.linear_input_grad(read(both), keys_.down, from_keys);
  w_.linear_weight_grad(read(both), h, keys_.down, false);
  const TensorId from_queries = w_.temporary("d_from_queries", m_.hidden);
  queries_backward(dq, h, from_queries);
  w_.sum(read(from_queries), read(from_keys), written(dh));
}

}  // namespace plait
