// The unsharded transformer: embedding, one layer, head with loss, forward and backward, as ops on
// global shapes. Activations are (s, b, width), sequence first, so that a shard of the
// sequence is contiguous. Shapes: s sequence, b microbatch, h hidden, V vocabulary.
#include "plan/strategies/attention_writer.h"
#include "plan/strategies/delta_net_writer.h"
#include "plan/strategies/embedding_writer.h"
#include "plan/strategies/layer_parts.h"
#include "plan/strategies/mixture_writer.h"
#include "plan/strategies/prediction_writer.h"
#include "plan/strategies/state_space_writer.h"

namespace plait {
namespace {

class LayerWriter {
 public:
  explicit LayerWriter(Draft& d) : d_(d), m_(d.model), dropout_(m_.dropout > 0), w_(d) {}

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
  /// A branch of the residual stream: a mixer of tokens, `name` of them. Where no norm of its own
  /// is in front, `h`, which it reads, is the stream itself, or what another branch reads.
  template <class Writer>
  struct MixerPart {
    std::string name;
    std::optional<BlockWriter::NormWeights> norm;
    TensorId h;
    Writer mixer;
    std::optional<BranchNorm> behind;
    TensorId residual_mask;
    /// The linear layer whose bias the residual sum adds.
    const BlockWriter::Linear* last() const { return &mixer.out(); }
  };
  using AttentionPart = MixerPart<AttentionWriter>;
  /// One of the two MLPs.
  struct MlpPart {
    std::string name;
    std::optional<BlockWriter::NormWeights> norm;
    TensorId h;
    std::optional<MlpWriter> dense;
    std::optional<MixtureWriter> mixture;
    std::optional<BranchNorm> behind;
    TensorId residual_mask;
    const BlockWriter::Linear* last() const { return dense ? &dense->down() : nullptr; }
  };

  bool post_norm() const { return m_.norm_position == NormPosition::kPost; }
  /// In front of a branch or, post-norm, behind its sum.
  std::optional<BlockWriter::NormWeights> declare_norm(UnitKind unit, const std::string& name) {
    if (m_.norm_position == NormPosition::kBranch) return {};
    return w_.norm_weights(unit, "layer." + name + "_norm");
  }
  std::optional<BranchNorm> declare_branch_norm(UnitKind unit, const std::string& name) {
    if (!m_.has_branch_norms()) return {};
    return BranchNorm{w_.norm_weights(unit, "layer." + name + "_branch_norm"),
                      w_.saved(name + "_branch", m_.hidden),
                      w_.temporary("d_" + name + "_branch", m_.hidden)};
  }
  TensorId residual_mask(const std::string& name) {
    return dropout_ ? w_.mask(name + "_residual_mask") : kNoTensor;
  }
  template <class Writer>
  MixerPart<Writer> declare_mixer(UnitKind unit, const std::string& name) {
    const std::optional<BlockWriter::NormWeights> norm = declare_norm(unit, name);
    const TensorId h = m_.has_input_norms() ? w_.saved(name + "_input", m_.hidden) : d_.x;
    Writer mixer(d_, w_, unit);
    const std::optional<BranchNorm> behind = declare_branch_norm(unit, name);
    return {name, norm, h, std::move(mixer), behind, residual_mask(name)};
  }
  MlpPart declare_mlp(UnitKind unit, FeedForward kind) {
    const std::optional<BlockWriter::NormWeights> norm = declare_norm(unit, "mlp");
    return declare_mlp(unit, kind, norm, {});
  }
  /// Of what another branch reads, where the norm is both's.
  MlpPart declare_mlp(UnitKind unit, FeedForward kind,
                      const std::optional<BlockWriter::NormWeights>& norm,
                      std::optional<TensorId> shared) {
    MlpPart p{};
    p.name = "mlp";
    p.norm = norm;
    if (kind == FeedForward::kMlp) p.dense.emplace(d_, w_, unit, "mlp", m_.ffn_hidden);
    const bool normed = m_.norm_position != NormPosition::kBranch;
    p.h = shared ? *shared : w_.saved(normed ? "mlp_input" : "x_mid", m_.hidden);
    if (p.dense) p.dense->declare_saved();
    if (kind == FeedForward::kExperts) p.mixture.emplace(d_, w_, unit);
    p.behind = declare_branch_norm(unit, "mlp");
    p.residual_mask = residual_mask("mlp");
    return p;
  }

  // ---- branches, of what their linear layers read
  template <class Writer>
  void branch_forward(const MixerPart<Writer>& p, TensorId out) {
    p.mixer.forward(p.h, out);
  }
  void branch_forward(MlpPart& p, TensorId out) {
    p.dense ? p.dense->forward(p.h, out) : p.mixture->forward(p.h, out);
  }
  /// The gradient of what it reads.
  template <class Part>
  TensorId branch_backward(Operand dout, Part& p) {
    return gradient_of_input(
        w_.branch_gradient(dout, p.residual_mask, "d_" + p.name + "_out", p.last()), p);
  }
  TensorId gradient_of_input(Operand d, const AttentionPart& p) { return p.mixer.backward(d, p.h); }
  template <class Writer>
  TensorId gradient_of_input(Operand d, const MixerPart<Writer>& p) {
    const TensorId dh = w_.temporary("d_" + p.name + "_input", m_.hidden);
    p.mixer.backward(d, p.h, dh);
    return dh;
  }
  TensorId gradient_of_input(Operand d, MlpPart& p) {
    const TensorId dh = w_.temporary("d_mlp_input", m_.hidden);
    p.dense ? p.dense->backward(d, p.h, dh) : p.mixture->backward(d, p.h, dh);
    return dh;
  }

  // ---- branches between their norms
  template <class Part>
  void forward(Operand x, Part& p, TensorId out) {
    if (p.norm) w_.norm_forward(x, *p.norm, p.h);
    branch_forward(p, p.behind ? p.behind->in : out);
    if (p.behind) w_.norm_forward(read(p.behind->in), p.behind->norm, out);
  }
  /// The gradient of x.
  template <class Part>
  Operand backward(Operand dout, Operand x, Part& p) {
    const TensorId dh = branch_backward(norm_branch_backward(dout, p), p);
    return p.norm ? norm_input_backward(dh, x, p) : read(dh);
  }
  /// The gradient of what the branch itself makes.
  template <class Part>
  Operand norm_branch_backward(Operand dout, const Part& p) {
    if (!p.behind) return dout;
    w_.norm_backward(dout, read(p.behind->in), p.behind->norm, written(p.behind->d_in));
    return read(p.behind->d_in);
  }
  template <class Part>
  Operand norm_input_backward(TensorId dh, Operand x, const Part& p) {
    const TensorId dx = w_.temporary("d_" + p.name + "_norm", m_.hidden);
    w_.norm_backward(dh, x, *p.norm, written(dx));
    return read(dx);
  }

  void write_layer(const LayerParts& parts) {
    const UnitKind unit = unit_of(parts);
    const std::string name(name_of(parts));
    d_.layers.emplace_back().parts = parts;
    d_.layers.back().kept.forward.name = name + ".forward";
    d_.layers.back().kept.backward.name = name + ".backward";
    if (parts.mixer == Mixer::kNone) {
      MlpPart mlp = declare_mlp(unit, parts.feed_forward);
      return write_branch(mlp);
    }
    if (parts.mixer == Mixer::kStateSpace) {
      return write_mixer(declare_mixer<StateSpaceWriter>(unit, "state_space"), unit,
                         parts.feed_forward);
    }
    if (parts.mixer == Mixer::kDeltaNet) {
      return write_mixer(declare_mixer<DeltaNetWriter>(unit, "delta_net"), unit,
                         parts.feed_forward);
    }
    const AttentionPart attention = declare_mixer<AttentionWriter>(unit, "attention");
    if (m_.parallel_attention) return write_parallel_layer(attention, unit, parts.feed_forward);
    if (post_norm()) return write_post_norm_layer(attention, unit, parts.feed_forward);
    write_mixer(attention, unit, parts.feed_forward);
  }
  template <class Part>
  void write_mixer(const Part& mixer, UnitKind unit, FeedForward behind) {
    if (behind == FeedForward::kNone) return write_branch(mixer);
    MlpPart mlp = declare_mlp(unit, behind);
    write_sequential_layer(mixer, mlp);
  }
  template <class Part>
  void add_to(Operand x, const Part& p, TensorId branch, Operand sum) {
    w_.residual(x, branch, sum, p.last(), p.residual_mask);
  }
  /// x' = x + f(norm(x)).
  template <class Part>
  void write_branch(Part& part) {
    const TensorId out = w_.temporary(part.name + "_out", m_.hidden);
    w_.begin(d_.layers.back().kept.forward);
    forward(read(d_.x), part, out);
    add_to(read(d_.x), part, out, written(d_.x, 1));

    w_.begin(d_.layers.back().kept.backward);
    w_.sum(read(d_.dx, 1), backward(read(d_.dx, 1), read(d_.x), part), written(d_.dx));
  }
  /// x1 = x + mixer(norm(x)); x' = x1 + mlp(norm(x1)); each norm in front, of what is added, both.
  template <class Part>
  void write_sequential_layer(const Part& mixer, MlpPart& mlp) {
    const TensorId x1 = mlp.norm ? w_.saved("x_mid", m_.hidden) : mlp.h;
    const TensorId mixer_out = w_.temporary(mixer.name + "_out", m_.hidden);
    const TensorId mlp_out = w_.temporary("mlp_out", m_.hidden);
    w_.begin(d_.layers.back().kept.forward);
    forward(read(d_.x), mixer, mixer_out);
    add_to(read(d_.x), mixer, mixer_out, written(x1));
    forward(read(x1), mlp, mlp_out);
    add_to(read(x1), mlp, mlp_out, written(d_.x, 1));

    const TensorId dx1 = w_.temporary("dx_mid", m_.hidden);
    w_.begin(d_.layers.back().kept.backward);
    w_.sum(read(d_.dx, 1), backward(read(d_.dx, 1), read(x1), mlp), written(dx1));
    w_.sum(read(dx1), backward(read(dx1), read(d_.x), mixer), written(d_.dx));
  }
  /// x1 = norm(x + attention(x)); x' = norm(x1 + mlp(x1)).
  void write_post_norm_layer(const AttentionPart& attention, UnitKind unit, FeedForward behind) {
    MlpPart mlp = declare_mlp(unit, behind);
    const TensorId sum1 = w_.saved("attention_sum", m_.hidden);
    const TensorId sum2 = w_.saved("mlp_sum", m_.hidden);
    const TensorId attention_out = w_.temporary("attention_out", m_.hidden);
    const TensorId mlp_out = w_.temporary("mlp_out", m_.hidden);
    w_.begin(d_.layers.back().kept.forward);
    branch_forward(attention, attention_out);
    add_to(read(d_.x), attention, attention_out, written(sum1));
    w_.norm_forward(read(sum1), *attention.norm, mlp.h);
    branch_forward(mlp, mlp_out);
    add_to(read(mlp.h), mlp, mlp_out, written(sum2));
    w_.norm_forward(read(sum2), *mlp.norm, written(d_.x, 1));

    const TensorId dsum2 = w_.temporary("d_mlp_sum", m_.hidden);
    const TensorId dx1 = w_.temporary("dx_mid", m_.hidden);
    const TensorId dsum1 = w_.temporary("d_attention_sum", m_.hidden);
    w_.begin(d_.layers.back().kept.backward);
    w_.norm_backward(read(d_.dx, 1), read(sum2), *mlp.norm, written(dsum2));
    w_.sum(read(dsum2), read(branch_backward(read(dsum2), mlp)), written(dx1));
    w_.norm_backward(dx1, read(sum1), *attention.norm, written(dsum1));
    w_.sum(read(dsum1), read(branch_backward(read(dsum1), attention)), written(d_.dx));
  }
  /// x' = x + attention(norm(x)) + mlp(norm'(x)).
  void write_parallel_layer(const AttentionPart& attention, UnitKind unit, FeedForward beside) {
    MlpPart mlp =
        m_.shared_norm ? declare_mlp(unit, beside, {}, attention.h) : declare_mlp(unit, beside);
    const TensorId attention_out = w_.temporary("attention_out", m_.hidden);
    const TensorId mlp_out = w_.temporary("mlp_out", m_.hidden);
    w_.begin(d_.layers.back().kept.forward);
    forward(read(d_.x), attention, attention_out);
    forward(read(d_.x), mlp, mlp_out);
    add_branches(attention, attention_out, mlp, mlp_out);

    const TensorId dx1 = w_.temporary("dx_mid", m_.hidden);
    w_.begin(d_.layers.back().kept.backward);
    if (m_.shared_norm) {
      const TensorId through_mlp = branch_backward(read(d_.dx, 1), mlp);
      const TensorId through_attention = branch_backward(read(d_.dx, 1), attention);
      w_.sum(read(through_mlp), read(through_attention), written(dx1));
      w_.sum(read(d_.dx, 1), norm_input_backward(dx1, read(d_.x), attention), written(d_.dx));
      return;
    }
    w_.sum(read(d_.dx, 1), backward(read(d_.dx, 1), read(d_.x), mlp), written(dx1));
    w_.sum(read(dx1), backward(read(d_.dx, 1), read(d_.x), attention), written(d_.dx));
  }
  /// To x: as one sum, which tensor-parallel ranks add up once, where nothing is added to branches
  /// and nothing dropped of them before.
  void add_branches(const AttentionPart& attention, TensorId attention_out, const MlpPart& mlp,
                    TensorId mlp_out) {
    const TensorId sum = w_.temporary("branches", m_.hidden);
    if (attention.last()->has_bias() || mlp.last()->has_bias() || dropout_) {
      add_to(read(d_.x), attention, attention_out, written(sum));
      return add_to(read(sum), mlp, mlp_out, written(d_.x, 1));
    }
    w_.residual(read(attention_out), mlp_out, written(sum), nullptr, kNoTensor);
    w_.residual(read(d_.x), sum, written(d_.x, 1), nullptr, kNoTensor);
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
  bool dropout_;
  BlockWriter w_;
  BlockWriter::Parameter table_{};  // the token embedding, which a tied head shares
};

}  // namespace

void write_layers(Draft& draft) { LayerWriter(draft).write(); }

}  // namespace plait
