// The unsharded transformer: embedding, one layer, head with loss, forward and backward, as ops on
// global shapes. Activations are (s, b, width), sequence first, so that a shard of the
// sequence is contiguous. Shapes: s sequence, b microbatch, h hidden, V vocabulary.
#include "plan/strategies/attention_gate_writer.h"
#include "plan/strategies/delta_net_writer.h"
#include "plan/strategies/embedding_writer.h"
#include "plan/strategies/latent_writer.h"
#include "plan/strategies/layer_parts.h"
#include "plan/strategies/mixture_writer.h"
#include "plan/strategies/prediction_writer.h"
#include "plan/strategies/state_space_writer.h"

namespace plait {
namespace {

class LayerWriter {
 public:
  explicit LayerWriter(Draft& d)
      : d_(d),
        m_(d.model),
        dtype_(d.workload.precision.weights),
        dropout_(m_.dropout > 0),
        attention_dropout_(m_.dropout_of_attention() > 0),
        w_(d) {}

  void write() {
    d_.tokens = w_.input("tokens");
    d_.labels = w_.input("labels");
    d_.x = w_.activation("x", m_.hidden, Scope::kLayerMicrobatch);
    d_.dx = w_.activation("dx", m_.hidden, Scope::kLayerMicrobatch);
    write_embedding();
    for (const LayerParts& parts : parts_of_layers(m_)) write_layer(parts);
    write_ends();
  }

 private:
  void write_embedding() {
    EmbeddingWriter embedding(d_, w_);
    w_.begin(d_.embed_forward, "embedding.forward");
    embedding.forward();
    w_.begin(d_.embed_backward, "embedding.backward");
    embedding.backward();
    table_ = embedding.table();
  }

  /// Of what a branch adds.
  struct BranchNorm {
    BlockWriter::NormWeights norm;
    TensorId in, d_in;
  };
  struct AttentionPart {
    BlockWriter::NormWeights norm;
    BlockWriter::Linear qkv, out;
    std::optional<LatentWriter> latents;  // in place of qkv
    std::optional<BlockWriter::HeadNormWeights> heads;
    std::optional<AttentionGateWriter> gate;
    std::optional<BranchNorm> behind;
    TensorId h, packed, context, saved, drop_mask = kNoTensor, dropped = kNoTensor, residual_mask;
  };
  /// A mixer whose states pass from token to token.
  template <class Writer>
  struct RecurrentPart {
    std::string name;
    BlockWriter::NormWeights norm;
    Writer mixer;
    TensorId h, residual_mask;
  };
  /// One of the two MLPs.
  struct MlpPart {
    BlockWriter::NormWeights norm;
    std::optional<MlpWriter> dense;
    std::optional<MixtureWriter> mixture;
    std::optional<BranchNorm> behind;
    TensorId h, residual_mask;
    /// The linear layer whose bias the residual sum adds.
    const BlockWriter::Linear* last() const { return dense ? &dense->down() : nullptr; }
  };

  Sections qkv_sections() const { return {m_.query_width(), m_.key_width(), m_.value_width()}; }

  std::optional<BranchNorm> declare_branch_norm(UnitKind unit, const std::string& name) {
    if (!m_.has_branch_norms()) return {};
    return BranchNorm{w_.norm_weights(unit, "layer." + name + "_branch_norm"),
                      w_.saved(name + "_branch", m_.hidden),
                      w_.temporary("d_" + name + "_branch", m_.hidden)};
  }
  AttentionPart declare_attention(UnitKind unit) {
    AttentionPart p{};
    p.norm = w_.norm_weights(unit, "layer.attention_norm");
    if (m_.latent_attention()) {
      p.latents.emplace(d_, w_, unit);
    } else {
      p.qkv = w_.linear(unit, "layer.qkv", Dim{m_.qkv_width(), {}, qkv_sections()}, Dim{m_.hidden},
                        m_.qkv_bias);
    }
    if (m_.qk_norm) p.heads = w_.head_norm_weights(unit, qkv_sections());
    p.out = w_.linear(unit, "layer.attention_out", Dim{m_.hidden}, Dim{m_.context_width()},
                      m_.attention_output_bias);
    p.h = post_norm() ? d_.x : w_.saved("attention_input", m_.hidden);
    p.packed = w_.saved("qkv", m_.qkv_width(), qkv_sections());
    p.context = w_.saved("context", m_.context_width());
    if (m_.attention_gate) p.gate.emplace(d_, w_, unit);
    p.behind = declare_branch_norm(unit, "attention");
    const std::int64_t s = d_.workload.sequence_length;
    if (d_.workload.flash_attention) {
      p.saved = w_.rows("log_sum_exp", Dim{m_.heads}, DType::kFp32, Scope::kLayerMicrobatch);
    } else {
      p.saved = scores("probabilities", s, dtype_);
      if (attention_dropout_) p.drop_mask = scores("attention_mask", s, DType::kInt8);
      if (attention_dropout_) p.dropped = scores("dropped_probabilities", s, dtype_);
    }
    p.residual_mask = dropout_ ? w_.mask("attention_residual_mask") : kNoTensor;
    return p;
  }
  TensorId scores(std::string name, std::int64_t s, DType dtype) {  // (s, b, heads, s)
    Tensor t;
    t.name = std::move(name);
    t.dims = {w_.sequence(), Dim{d_.workload.micro_batch}, Dim{m_.heads}, Dim{s}};
    t.rank = 4;
    t.dtype = dtype;
    t.scope = Scope::kLayerMicrobatch;
    return d_.add(t);
  }
  template <class Writer>
  RecurrentPart<Writer> declare_recurrent(UnitKind unit, const std::string& name) {
    const BlockWriter::NormWeights norm = w_.norm_weights(unit, "layer." + name + "_norm");
    const TensorId h = w_.saved(name + "_input", m_.hidden);
    return {name, norm, Writer(d_, w_, unit), h,
            dropout_ ? w_.mask(name + "_residual_mask") : kNoTensor};
  }
  MlpPart declare_mlp(UnitKind unit, FeedForward kind) {
    MlpPart p{};
    p.norm = w_.norm_weights(unit, "layer.mlp_norm");
    if (kind == FeedForward::kMlp) p.dense.emplace(d_, w_, unit, "mlp", m_.ffn_hidden);
    p.h = w_.saved("mlp_input", m_.hidden);
    if (p.dense) p.dense->declare_saved();
    if (kind == FeedForward::kExperts) p.mixture.emplace(d_, w_, unit);
    p.behind = declare_branch_norm(unit, "mlp");
    p.residual_mask = dropout_ ? w_.mask("mlp_residual_mask") : kNoTensor;
    return p;
  }

  Attention attention_body(Pass pass) const {
    Attention a;
    a.pass = pass;
    a.fused = d_.workload.flash_attention;
    a.dropout = attention_dropout_;
    a.causal = m_.causal;
    a.dtype = dtype_;
    return a;
  }

  void project(const AttentionPart& p) {
    if (p.latents) return p.latents->forward(p.h, p.packed);
    const TensorId projected = p.heads ? p.heads->projected : p.packed;
    w_.linear_forward(p.h, p.qkv, projected, p.qkv.has_bias());
    if (p.heads) w_.head_norm_forward(*p.heads, p.packed);
    if (m_.positions == PositionKind::kRotary) w_.rotate(Pass::kForward, p.packed);
  }
  void project_backward(const AttentionPart& p, TensorId dqkv, TensorId dh) {
    if (p.latents) return p.latents->backward(dqkv, p.h, dh);
    if (m_.positions == PositionKind::kRotary) w_.rotate(Pass::kBackward, dqkv);
    if (p.heads) w_.head_norm_backward(*p.heads, dqkv);
    w_.linear_input_grad(read(dqkv), p.qkv, dh);
    w_.linear_weight_grad(read(dqkv), p.h, p.qkv, p.qkv.has_bias());
  }
  bool post_norm() const { return m_.norm_position == NormPosition::kPost; }

  // ---- branches, of what their linear layers read
  void attention_forward(const AttentionPart& p, TensorId out) {
    project(p);
    std::vector<Operand> o = {read(p.packed), written(p.context), written(p.saved)};
    if (p.dropped != kNoTensor) {
      o.push_back(written(p.drop_mask)), o.push_back(written(p.dropped));
    }
    w_.emit(attention_body(Pass::kForward), Phase::kForward, o);
    if (p.gate) p.gate->forward(p.h, p.context);
    w_.linear_forward(p.gate ? p.gate->gated() : p.context, p.out, out, false);
  }
  void mlp_forward(MlpPart& p, TensorId out) {
    p.dense ? p.dense->forward(p.h, out) : p.mixture->forward(p.h, out);
  }
  TensorId mlp_backward(Operand dout, MlpPart& p) {
    const TensorId dh = w_.temporary("d_mlp_input", m_.hidden);
    const Operand d = w_.branch_gradient(dout, p.residual_mask, "d_mlp_out", p.last());
    p.dense ? p.dense->backward(d, p.h, dh) : p.mixture->backward(d, p.h, dh);
    return dh;
  }
  TensorId attention_backward(Operand dout, const AttentionPart& p) {
    const TensorId dcontext = w_.temporary("d_context", m_.context_width());
    const TensorId dqkv = w_.temporary("d_qkv", m_.qkv_width(), qkv_sections());
    const TensorId dh = w_.temporary("d_attention_input", m_.hidden);
    const Operand d = w_.branch_gradient(dout, p.residual_mask, "d_attention_out", &p.out);
    w_.linear_input_grad(d, p.out, p.gate ? p.gate->d_gated() : dcontext);
    w_.linear_weight_grad(d, p.gate ? p.gate->gated() : p.context, p.out, false);
    if (p.gate) p.gate->backward(p.context, dcontext);
    std::vector<Operand> o = {read(dcontext), read(p.packed), read(p.context), read(p.saved)};
    if (p.dropped != kNoTensor) o.push_back(read(p.drop_mask)), o.push_back(read(p.dropped));
    o.push_back(written(dqkv));
    w_.emit(attention_body(Pass::kBackward), Phase::kBackward, o);
    project_backward(p, dqkv, dh);
    return p.gate ? p.gate->through(p.h, dh) : dh;
  }

  // ---- branches between their norms
  template <class Part>
  void norm_branch(const Part& p, TensorId out) {
    if (p.behind) w_.norm_forward(read(p.behind->in), p.behind->norm, out);
  }
  /// The gradient of what the branch itself makes.
  template <class Part>
  Operand norm_branch_backward(Operand dout, const Part& p) {
    if (!p.behind) return dout;
    w_.norm_backward(dout, read(p.behind->in), p.behind->norm, written(p.behind->d_in));
    return read(p.behind->d_in);
  }
  void forward(Operand x, const AttentionPart& p, TensorId out) {
    w_.norm_forward(x, p.norm, p.h);
    attention_forward(p, p.behind ? p.behind->in : out);
    norm_branch(p, out);
  }
  template <class Writer>
  void forward(Operand x, const RecurrentPart<Writer>& p, TensorId out) {
    w_.norm_forward(x, p.norm, p.h);
    p.mixer.forward(p.h, out);
  }
  void forward(Operand x, MlpPart& p, TensorId out) {
    w_.norm_forward(x, p.norm, p.h);
    mlp_forward(p, p.behind ? p.behind->in : out);
    norm_branch(p, out);
  }
  void backward(Operand dout, Operand x, MlpPart& p, Operand dx) {
    w_.norm_backward(mlp_backward(norm_branch_backward(dout, p), p), x, p.norm, dx);
  }
  template <class Writer>
  void backward(Operand dout, Operand x, const RecurrentPart<Writer>& p, Operand dx) {
    const TensorId dh = w_.temporary("d_" + p.name + "_input", m_.hidden);
    const Operand d = w_.branch_gradient(dout, p.residual_mask, "d_" + p.name + "_out", nullptr);
    p.mixer.backward(d, p.h, dh);
    w_.norm_backward(dh, x, p.norm, dx);
  }
  void backward(Operand dout, Operand x, const AttentionPart& p, Operand dx) {
    w_.norm_backward(attention_backward(norm_branch_backward(dout, p), p), x, p.norm, dx);
  }
  /// The linear layer whose bias the residual sum adds.
  static const BlockWriter::Linear* last_of(const AttentionPart& p) { return &p.out; }
  template <class Writer>
  static const BlockWriter::Linear* last_of(const RecurrentPart<Writer>& p) {
    return &p.mixer.out();
  }
  static const BlockWriter::Linear* last_of(const MlpPart& p) { return p.last(); }

  void write_layer(const LayerParts& parts) {
    const UnitKind unit = unit_of(parts);
    const std::string name(name_of(parts));
    d_.layers.emplace_back().parts = parts;
    d_.layers.back().kept.forward.name = name + ".forward";
    d_.layers.back().kept.backward.name = name + ".backward";
    if (parts.mixer == Mixer::kNone) {
      MlpPart mlp = declare_mlp(unit, parts.feed_forward);
      return write_branch(mlp, "mlp_out", "d_mlp_norm");
    }
    if (parts.mixer == Mixer::kStateSpace) {
      return write_mixer(declare_recurrent<StateSpaceWriter>(unit, "state_space"), unit,
                         parts.feed_forward, "state_space");
    }
    if (parts.mixer == Mixer::kDeltaNet) {
      return write_mixer(declare_recurrent<DeltaNetWriter>(unit, "delta_net"), unit,
                         parts.feed_forward, "delta_net");
    }
    const AttentionPart attention = declare_attention(unit);
    if (!post_norm() && !m_.parallel_attention) {
      return write_mixer(attention, unit, parts.feed_forward, "attention");
    }
    MlpPart mlp = declare_mlp(unit, parts.feed_forward);
    post_norm() ? write_post_norm_layer(attention, mlp) : write_parallel_layer(attention, mlp);
  }
  template <class MixerPart>
  void write_mixer(const MixerPart& mixer, UnitKind unit, FeedForward behind,
                   const std::string& name) {
    if (behind == FeedForward::kNone) {
      return write_branch(mixer, name + "_out", "d_" + name + "_norm");
    }
    MlpPart mlp = declare_mlp(unit, behind);
    write_sequential_layer(mixer, mlp, name);
  }
  /// x' = x + f(norm(x)).
  template <class Part>
  void write_branch(Part& part, const std::string& out_name, const std::string& grad_name) {
    const TensorId out = w_.temporary(out_name, m_.hidden);
    w_.begin(d_.layers.back().kept.forward);
    forward(read(d_.x), part, out);
    w_.residual(read(d_.x), out, written(d_.x, 1), last_of(part), part.residual_mask);

    const TensorId dn = w_.temporary(grad_name, m_.hidden);
    w_.begin(d_.layers.back().kept.backward);
    backward(read(d_.dx, 1), read(d_.x), part, written(dn));
    w_.sum(read(d_.dx, 1), read(dn), written(d_.dx));
  }
  /// x1 = x + mixer(norm(x)); x' = x1 + mlp(norm(x1)); with a norm of what each adds, or without.
  template <class MixerPart>
  void write_sequential_layer(const MixerPart& mixer, MlpPart& mlp, const std::string& name) {
    const TensorId x1 = w_.saved("x_mid", m_.hidden);
    const TensorId mixer_out = w_.temporary(name + "_out", m_.hidden);
    const TensorId mlp_out = w_.temporary("mlp_out", m_.hidden);
    w_.begin(d_.layers.back().kept.forward);
    forward(read(d_.x), mixer, mixer_out);
    w_.residual(read(d_.x), mixer_out, written(x1), last_of(mixer), mixer.residual_mask);
    forward(read(x1), mlp, mlp_out);
    w_.residual(read(x1), mlp_out, written(d_.x, 1), mlp.last(), mlp.residual_mask);

    const TensorId dx1 = w_.temporary("dx_mid", m_.hidden);
    const TensorId dn1 = w_.temporary("d_" + name + "_norm", m_.hidden);
    const TensorId dn2 = w_.temporary("d_mlp_norm", m_.hidden);
    w_.begin(d_.layers.back().kept.backward);
    backward(read(d_.dx, 1), read(x1), mlp, written(dn2));
    w_.sum(read(d_.dx, 1), read(dn2), written(dx1));
    backward(read(dx1), read(d_.x), mixer, written(dn1));
    w_.sum(read(dx1), read(dn1), written(d_.dx));
  }
  /// x1 = norm(x + attention(x)); x' = norm(x1 + mlp(x1)).
  void write_post_norm_layer(const AttentionPart& attention, MlpPart& mlp) {
    const TensorId sum1 = w_.saved("attention_sum", m_.hidden);
    const TensorId sum2 = w_.saved("mlp_sum", m_.hidden);
    const TensorId attention_out = w_.temporary("attention_out", m_.hidden);
    const TensorId mlp_out = w_.temporary("mlp_out", m_.hidden);
    w_.begin(d_.layers.back().kept.forward);
    attention_forward(attention, attention_out);
    w_.residual(read(d_.x), attention_out, written(sum1), &attention.out, attention.residual_mask);
    w_.norm_forward(read(sum1), attention.norm, mlp.h);
    mlp_forward(mlp, mlp_out);
    w_.residual(read(mlp.h), mlp_out, written(sum2), mlp.last(), mlp.residual_mask);
    w_.norm_forward(read(sum2), mlp.norm, written(d_.x, 1));

    const TensorId dsum2 = w_.temporary("d_mlp_sum", m_.hidden);
    const TensorId dx1 = w_.temporary("dx_mid", m_.hidden);
    const TensorId dsum1 = w_.temporary("d_attention_sum", m_.hidden);
    w_.begin(d_.layers.back().kept.backward);
    w_.norm_backward(read(d_.dx, 1), read(sum2), mlp.norm, written(dsum2));
    w_.sum(read(dsum2), read(mlp_backward(read(dsum2), mlp)), written(dx1));
    w_.norm_backward(dx1, read(sum1), attention.norm, written(dsum1));
    w_.sum(read(dsum1), read(attention_backward(read(dsum1), attention)), written(d_.dx));
  }
  /// x' = x + (attention(norm(x)) + mlp(norm'(x))).
  void write_parallel_layer(const AttentionPart& attention, MlpPart& mlp) {
    const TensorId attention_out = w_.temporary("attention_out", m_.hidden);
    const TensorId mlp_out = w_.temporary("mlp_out", m_.hidden);
    const TensorId branches = w_.temporary("branches", m_.hidden);
    w_.begin(d_.layers.back().kept.forward);
    forward(read(d_.x), attention, attention_out);
    forward(read(d_.x), mlp, mlp_out);
    w_.residual(read(attention_out), mlp_out, written(branches), nullptr, kNoTensor);
    w_.residual(read(d_.x), branches, written(d_.x, 1), nullptr, kNoTensor);

    const TensorId dn1 = w_.temporary("d_attention_norm", m_.hidden);
    const TensorId dn2 = w_.temporary("d_mlp_norm", m_.hidden);
    const TensorId dx1 = w_.temporary("dx_mid", m_.hidden);
    w_.begin(d_.layers.back().kept.backward);
    backward(read(d_.dx, 1), read(d_.x), mlp, written(dn2));
    w_.sum(read(d_.dx, 1), read(dn2), written(dx1));
    backward(read(d_.dx, 1), read(d_.x), attention, written(dn1));
    w_.sum(read(dx1), read(dn1), written(d_.dx));
  }

  void write_ends() {
    const bool shares_table = m_.tied_embeddings && !tied_apart(d_);
    const UnitKind unit = head_unit(d_.strategy);
    HeadWriter head(d_, w_, {unit, "", read(d_.x), written(d_.dx), read(d_.labels)},
                    shares_table ? std::optional(table_) : std::nullopt);
    d_.loss = head.loss();
    w_.begin(d_.head_forward, "head.forward");
    head.forward();
    w_.begin(d_.head_backward, "head.backward");
    head.backward();
    if (m_.mtp_layers == 0) return;
    PredictionWriter(d_, w_, tied_apart(d_) ? head.matrix() : table_, head.matrix()).write();
  }

  Draft& d_;
  const Model& m_;
  DType dtype_;
  bool dropout_, attention_dropout_;
  BlockWriter w_;
  BlockWriter::Parameter table_{};  // the token embedding, which a tied head shares
};

}  // namespace

void write_layers(Draft& draft) { LayerWriter(draft).write(); }

}  // namespace plait
