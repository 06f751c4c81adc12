// The unsharded transformer: embedding, one pre-norm layer, head with loss, forward and backward,
// as ops on global shapes. Activations are (s, b, width), sequence first, so that a shard of the
// sequence is contiguous. Shapes: s sequence, b microbatch, h hidden, V vocabulary.
#include "plan/strategies/draft.h"

namespace plait {
namespace {

constexpr Operand read(TensorId t, std::int16_t shift = 0) { return {t, Use::kRead, shift}; }
constexpr Operand write(TensorId t, std::int16_t shift = 0) { return {t, Use::kWrite, shift}; }
constexpr Operand update(TensorId t) { return {t, Use::kUpdate, 0}; }

class LayerWriter {
 public:
  explicit LayerWriter(Draft& d)
      : d_(d), m_(d.model), dtype_(d.workload.precision.weights), dropout_(m_.dropout > 0) {}

  void write() {
    d_.tokens = input("tokens");
    d_.labels = input("labels");
    d_.x = activation("x", m_.hidden, Scope::kLayerMicrobatch);
    d_.dx = activation("dx", m_.hidden, Scope::kLayerMicrobatch);
    write_embedding();
    write_layer();
    write_head();
  }

 private:
  struct Parameter {
    TensorId weight, gradient;
  };
  struct Linear {
    Parameter weight, bias = {kNoTensor, kNoTensor};
    bool has_bias() const { return bias.weight != kNoTensor; }
  };
  struct NormWeights {
    Parameter gamma{}, beta = {kNoTensor, kNoTensor};
    TensorId stats = kNoTensor;
  };

  // ---- tensors
  TensorId input(const char* name) {
    Tensor t;
    t.name = name;
    t.dims = {Dim{d_.workload.sequence_length}, Dim{d_.workload.micro_batch}};
    t.rank = 2;
    t.dtype = DType::kInt64;
    t.kind = TensorClass::kBuffer;
    t.scope = Scope::kMicrobatch;
    t.persistent = true;
    return d_.add(t);
  }
  TensorId rows(std::string name, Dim last, DType dtype, Scope scope) {
    Tensor t;
    t.name = std::move(name);
    t.dims = {Dim{d_.workload.sequence_length}, Dim{d_.workload.micro_batch}, last};
    t.rank = 3;
    t.dtype = dtype;
    t.scope = scope;
    return d_.add(t);
  }
  TensorId activation(std::string name, std::int64_t width, Scope scope,
                      std::array<std::int64_t, 3> sections = {}) {
    return rows(std::move(name), Dim{width, {}, sections}, dtype_, scope);
  }
  TensorId saved(std::string name, std::int64_t width, std::array<std::int64_t, 3> sections = {}) {
    return activation(std::move(name), width, Scope::kLayerMicrobatch, sections);
  }
  TensorId temporary(std::string name, std::int64_t width,
                     std::array<std::int64_t, 3> sections = {}) {
    return activation(std::move(name), width, Scope::kCall, sections);
  }
  TensorId mask(std::string name) {
    return rows(std::move(name), Dim{m_.hidden}, DType::kInt8, Scope::kLayerMicrobatch);
  }
  Parameter parameter(UnitKind unit, const std::string& name, Dim rows_dim, Dim columns = {}) {
    Tensor t;
    t.name = name;
    t.dims = {rows_dim, columns};
    t.rank = columns.global > 0 ? 2 : 1;
    t.dtype = dtype_;
    t.kind = TensorClass::kWeight;
    t.scope = unit == UnitKind::kLayer ? Scope::kLayer : Scope::kRole;
    Parameter p{};
    p.weight = d_.add(t);
    t.name = name + ".grad";
    t.dtype = d_.workload.precision.gradients;
    t.kind = TensorClass::kGradient;
    p.gradient = d_.add(t);
    d_.unit(unit).weights.push_back(p.weight);
    d_.unit(unit).gradients.push_back(p.gradient);
    return p;
  }
  Linear linear(const std::string& name, Dim out, Dim in, bool bias) {
    Linear l{parameter(UnitKind::kLayer, name + ".weight", out, in)};
    if (bias) l.bias = parameter(UnitKind::kLayer, name + ".bias", out);
    return l;
  }
  NormWeights norm_weights(UnitKind unit, const std::string& name) {
    NormWeights n;
    n.gamma = parameter(unit, name + ".gamma", Dim{m_.hidden});
    if (m_.norm_bias()) n.beta = parameter(unit, name + ".beta", Dim{m_.hidden});
    n.stats = rows(name + ".stats", Dim{m_.norm == NormKind::kLayerNorm ? 2 : 1}, DType::kFp32,
                   unit == UnitKind::kLayer ? Scope::kLayerMicrobatch : Scope::kMicrobatch);
    return n;
  }

  // ---- ops
  void emit(Compute body, Phase phase, std::vector<Operand> operands) {
    block_->ops.push_back({Body(body), Stream::kCompute, phase, std::move(operands)});
  }
  void norm_forward(Operand x, const NormWeights& w, TensorId y) {
    std::vector<Operand> o = {x, read(w.gamma.weight)};
    if (m_.norm_bias()) o.push_back(read(w.beta.weight));
    o.push_back(plait::write(y)), o.push_back(plait::write(w.stats));
    emit(Norm{Pass::kForward, m_.norm, 0, 0, dtype_}, Phase::kForward, o);
  }
  void norm_backward(TensorId dy, Operand x, const NormWeights& w, Operand dx) {
    std::vector<Operand> o = {
        read(dy), x, read(w.stats), read(w.gamma.weight), dx, update(w.gamma.gradient)};
    if (m_.norm_bias()) o.push_back(update(w.beta.gradient));
    emit(Norm{Pass::kBackward, m_.norm, 0, 0, dtype_}, Phase::kBackward, o);
  }
  MatMul matmul(Pass pass, GemmLayout layout, bool bias) {
    MatMul g;
    g.pass = pass, g.layout = layout, g.bias = bias;
    g.in = dtype_;
    g.out = pass == Pass::kWeightGrad ? d_.workload.precision.gradients : dtype_;
    g.accumulate = pass == Pass::kWeightGrad;
    return g;
  }
  void linear_forward(TensorId x, const Linear& w, TensorId y, bool add_bias) {
    std::vector<Operand> o = {read(x), read(w.weight.weight), plait::write(y)};
    if (add_bias) o.push_back(read(w.bias.weight));
    emit(matmul(Pass::kForward, GemmLayout::kNT, add_bias), Phase::kForward, o);
  }
  void linear_input_grad(Operand dy, const Linear& w, TensorId dx) {
    emit(matmul(Pass::kInputGrad, GemmLayout::kNN, false), Phase::kBackward,
         {dy, read(w.weight.weight), plait::write(dx)});
  }
  void linear_weight_grad(Operand dy, TensorId x, const Linear& w, bool bias) {
    std::vector<Operand> o = {dy, read(x), update(w.weight.gradient)};
    if (bias) o.push_back(update(w.bias.gradient));
    emit(matmul(Pass::kWeightGrad, GemmLayout::kTN, bias), Phase::kWeightGrad, o);
  }
  void residual(Operand a, TensorId b, Operand out, const Linear* bias, TensorId dropout_mask) {
    Add add{Pass::kForward, 0, 0, bias != nullptr && bias->has_bias(), dropout_mask != kNoTensor,
            dtype_};
    std::vector<Operand> o = {a, read(b), out};
    if (add.bias) o.push_back(read(bias->bias.weight));
    if (add.dropout) o.push_back(plait::write(dropout_mask));
    emit(add, Phase::kForward, o);
  }
  void sum(Operand a, Operand b, Operand out) {
    emit(Add{Pass::kForward, 0, 0, false, false, dtype_}, Phase::kBackward, {a, b, out});
  }
  /// Gradient of a residual branch's output before bias and dropout.
  Operand branch_gradient(Operand dout, TensorId dropout_mask, const char* name, const Linear& l) {
    Operand d = dout;
    if (dropout_mask != kNoTensor) {
      const TensorId masked = temporary(name, m_.hidden);
      emit(Add{Pass::kBackward, 0, 0, false, true, dtype_}, Phase::kBackward,
           {dout, read(dropout_mask), plait::write(masked)});
      d = read(masked);
    }
    if (l.has_bias()) {
      emit(BiasGrad{0, 0, dtype_, d_.workload.precision.gradients}, Phase::kBackward,
           {d, update(l.bias.gradient)});
    }
    return d;
  }

  // ---- blocks
  void write_embedding() {
    table_ = parameter(UnitKind::kEmbedding, "embedding.weight", Dim{m_.vocab}, Dim{m_.hidden});
    const bool learned = m_.positions == PositionKind::kLearned;
    const DType g = d_.workload.precision.gradients;
    const Embedding lookup{Pass::kForward, 0, 0, 0, false, dtype_, g};
    const Embedding scatter{Pass::kBackward, 0, 0, 0, false, dtype_, g};
    block_ = &d_.embed_forward;
    block_->name = "embedding.forward";
    const TensorId looked_up = learned ? temporary("embedded", m_.hidden) : d_.x;
    emit(lookup, Phase::kForward, {read(d_.tokens), read(table_.weight), plait::write(looked_up)});
    Parameter positions{};
    if (learned) {
      positions =
          parameter(UnitKind::kEmbedding, "position.weight", Dim{m_.max_positions}, Dim{m_.hidden});
      emit(Embedding{Pass::kForward, 0, 0, 0, true, dtype_, g}, Phase::kForward,
           {read(looked_up), read(positions.weight), plait::write(d_.x)});
    }
    block_ = &d_.embed_backward;
    block_->name = "embedding.backward";
    if (learned) {
      emit(Embedding{Pass::kBackward, 0, 0, 0, true, dtype_, g}, Phase::kBackward,
           {read(d_.dx), update(positions.gradient)});
    }
    emit(scatter, Phase::kBackward, {read(d_.tokens), read(d_.dx), update(table_.gradient)});
  }

  struct AttentionPart {
    NormWeights norm;
    Linear qkv, out;
    TensorId h, packed, context, saved, drop_mask = kNoTensor, dropped = kNoTensor, residual_mask;
  };
  struct MlpPart {
    NormWeights norm;
    Linear up, down;
    TensorId h, u, a, residual_mask;
  };

  std::array<std::int64_t, 3> qkv_sections() const {
    return {m_.query_width(), m_.kv_width(), m_.kv_width()};
  }
  std::array<std::int64_t, 3> mlp_sections() const {
    return m_.gated_mlp ? std::array<std::int64_t, 3>{m_.ffn_hidden, m_.ffn_hidden, 0}
                        : std::array<std::int64_t, 3>{};
  }

  AttentionPart declare_attention() {
    AttentionPart p{};
    p.norm = norm_weights(UnitKind::kLayer, "layer.attention_norm");
    p.qkv =
        linear("layer.qkv", Dim{m_.qkv_width(), {}, qkv_sections()}, Dim{m_.hidden}, m_.qkv_bias);
    p.out = linear("layer.attention_out", Dim{m_.hidden}, Dim{m_.query_width()},
                   m_.attention_output_bias);
    p.h = saved("attention_input", m_.hidden);
    p.packed = saved("qkv", m_.qkv_width(), qkv_sections());
    p.context = saved("context", m_.query_width());
    const std::int64_t s = d_.workload.sequence_length;
    if (d_.workload.flash_attention) {
      p.saved = rows("log_sum_exp", Dim{m_.heads}, DType::kFp32, Scope::kLayerMicrobatch);
    } else {
      p.saved = scores("probabilities", s, dtype_);
      if (dropout_) p.drop_mask = scores("attention_mask", s, DType::kInt8);
      if (dropout_) p.dropped = scores("dropped_probabilities", s, dtype_);
    }
    p.residual_mask = dropout_ ? mask("attention_residual_mask") : kNoTensor;
    return p;
  }
  TensorId scores(std::string name, std::int64_t s, DType dtype) {  // (s, b, heads, s)
    Tensor t;
    t.name = std::move(name);
    t.dims = {Dim{s}, Dim{d_.workload.micro_batch}, Dim{m_.heads}, Dim{s}};
    t.rank = 4;
    t.dtype = dtype;
    t.scope = Scope::kLayerMicrobatch;
    return d_.add(t);
  }
  MlpPart declare_mlp() {
    MlpPart p{};
    p.norm = norm_weights(UnitKind::kLayer, "layer.mlp_norm");
    p.up = linear("layer.mlp_up", Dim{m_.mlp_input_width(), {}, mlp_sections()}, Dim{m_.hidden},
                  m_.mlp_bias);
    p.down = linear("layer.mlp_down", Dim{m_.hidden}, Dim{m_.ffn_hidden}, m_.mlp_bias);
    p.h = saved("mlp_input", m_.hidden);
    p.u = saved("mlp_up", m_.mlp_input_width(), mlp_sections());
    p.a = saved("mlp_activation", m_.ffn_hidden);
    p.residual_mask = dropout_ ? mask("mlp_residual_mask") : kNoTensor;
    return p;
  }

  Attention attention_body(Pass pass) const {
    Attention a;
    a.pass = pass;
    a.fused = d_.workload.flash_attention;
    a.dropout = dropout_;
    a.dtype = dtype_;
    return a;
  }

  void attention_forward(Operand x, const AttentionPart& p, TensorId out) {
    norm_forward(x, p.norm, p.h);
    linear_forward(p.h, p.qkv, p.packed, p.qkv.has_bias());
    if (m_.positions == PositionKind::kRotary) {
      emit(Rope{Pass::kForward, 0, 0, dtype_}, Phase::kForward, {update(p.packed)});
    }
    std::vector<Operand> o = {read(p.packed), plait::write(p.context), plait::write(p.saved)};
    if (p.dropped != kNoTensor) {
      o.push_back(plait::write(p.drop_mask)), o.push_back(plait::write(p.dropped));
    }
    emit(attention_body(Pass::kForward), Phase::kForward, o);
    linear_forward(p.context, p.out, out, false);
  }
  void mlp_forward(Operand x, const MlpPart& p, TensorId out) {
    norm_forward(x, p.norm, p.h);
    linear_forward(p.h, p.up, p.u, m_.mlp_bias);
    emit(Activation{Pass::kForward, m_.activation, m_.gated_mlp, 0, 0, dtype_}, Phase::kForward,
         {read(p.u), plait::write(p.a)});
    linear_forward(p.a, p.down, out, false);
  }
  void mlp_backward(Operand dout, Operand x, const MlpPart& p, Operand dx) {
    const TensorId da = temporary("d_mlp_activation", m_.ffn_hidden);
    const TensorId du = temporary("d_mlp_up", m_.mlp_input_width(), mlp_sections());
    const TensorId dh = temporary("d_mlp_input", m_.hidden);
    const Operand d = branch_gradient(dout, p.residual_mask, "d_mlp_out", p.down);
    linear_input_grad(d, p.down, da);
    linear_weight_grad(d, p.a, p.down, false);
    emit(Activation{Pass::kBackward, m_.activation, m_.gated_mlp, 0, 0, dtype_}, Phase::kBackward,
         {read(da), read(p.u), plait::write(du)});
    linear_input_grad(read(du), p.up, dh);
    linear_weight_grad(read(du), p.h, p.up, m_.mlp_bias);
    norm_backward(dh, x, p.norm, dx);
  }
  void attention_backward(Operand dout, Operand x, const AttentionPart& p, Operand dx) {
    const TensorId dcontext = temporary("d_context", m_.query_width());
    const TensorId dqkv = temporary("d_qkv", m_.qkv_width(), qkv_sections());
    const TensorId dh = temporary("d_attention_input", m_.hidden);
    const Operand d = branch_gradient(dout, p.residual_mask, "d_attention_out", p.out);
    linear_input_grad(d, p.out, dcontext);
    linear_weight_grad(d, p.context, p.out, false);
    std::vector<Operand> o = {read(dcontext), read(p.packed), read(p.context), read(p.saved)};
    if (p.dropped != kNoTensor) o.push_back(read(p.drop_mask)), o.push_back(read(p.dropped));
    o.push_back(plait::write(dqkv));
    emit(attention_body(Pass::kBackward), Phase::kBackward, o);
    if (m_.positions == PositionKind::kRotary) {
      emit(Rope{Pass::kBackward, 0, 0, dtype_}, Phase::kBackward, {update(dqkv)});
    }
    linear_input_grad(read(dqkv), p.qkv, dh);
    linear_weight_grad(read(dqkv), p.h, p.qkv, p.qkv.has_bias());
    norm_backward(dh, x, p.norm, dx);
  }

  void write_layer() {
    const AttentionPart attention = declare_attention();
    const MlpPart mlp = declare_mlp();
    d_.layers.resize(1);
    m_.parallel_attention ? write_parallel_layer(attention, mlp)
                          : write_sequential_layer(attention, mlp);
    d_.layers[0].forward.name = "layer.forward";
    d_.layers[0].backward.name = "layer.backward";
  }
  /// x1 = x + attention(norm(x)); x' = x1 + mlp(norm(x1)).
  void write_sequential_layer(const AttentionPart& attention, const MlpPart& mlp) {
    const TensorId x1 = saved("x_mid", m_.hidden);
    const TensorId attention_out = temporary("attention_out", m_.hidden);
    const TensorId mlp_out = temporary("mlp_out", m_.hidden);
    block_ = &d_.layers[0].forward;
    attention_forward(read(d_.x), attention, attention_out);
    residual(read(d_.x), attention_out, plait::write(x1), &attention.out, attention.residual_mask);
    mlp_forward(read(x1), mlp, mlp_out);
    residual(read(x1), mlp_out, plait::write(d_.x, 1), &mlp.down, mlp.residual_mask);

    const TensorId dx1 = temporary("dx_mid", m_.hidden);
    const TensorId dn1 = temporary("d_attention_norm", m_.hidden);
    const TensorId dn2 = temporary("d_mlp_norm", m_.hidden);
    block_ = &d_.layers[0].backward;
    mlp_backward(read(d_.dx, 1), read(x1), mlp, plait::write(dn2));
    sum(read(d_.dx, 1), read(dn2), plait::write(dx1));
    attention_backward(read(dx1), read(d_.x), attention, plait::write(dn1));
    sum(read(dx1), read(dn1), plait::write(d_.dx));
  }
  /// x' = x + (attention(norm(x)) + mlp(norm'(x))).
  void write_parallel_layer(const AttentionPart& attention, const MlpPart& mlp) {
    const TensorId attention_out = temporary("attention_out", m_.hidden);
    const TensorId mlp_out = temporary("mlp_out", m_.hidden);
    const TensorId branches = temporary("branches", m_.hidden);
    block_ = &d_.layers[0].forward;
    attention_forward(read(d_.x), attention, attention_out);
    mlp_forward(read(d_.x), mlp, mlp_out);
    residual(read(attention_out), mlp_out, plait::write(branches), nullptr, kNoTensor);
    residual(read(d_.x), branches, plait::write(d_.x, 1), nullptr, kNoTensor);

    const TensorId dn1 = temporary("d_attention_norm", m_.hidden);
    const TensorId dn2 = temporary("d_mlp_norm", m_.hidden);
    const TensorId dx1 = temporary("dx_mid", m_.hidden);
    block_ = &d_.layers[0].backward;
    mlp_backward(read(d_.dx, 1), read(d_.x), mlp, plait::write(dn2));
    sum(read(d_.dx, 1), read(dn2), plait::write(dx1));
    attention_backward(read(d_.dx, 1), read(d_.x), attention, plait::write(dn1));
    sum(read(dx1), read(dn1), plait::write(d_.dx));
  }

  void write_head() {
    const NormWeights norm = norm_weights(UnitKind::kHead, "final_norm");
    const bool shares_table = m_.tied_embeddings && d_.mesh()[Axis::kPp] == 1;
    Linear out;
    out.weight = shares_table
                     ? table_
                     : parameter(UnitKind::kHead, "output.weight", Dim{m_.vocab}, Dim{m_.hidden});
    const TensorId h = activation("final_hidden", m_.hidden, Scope::kMicrobatch);
    const bool cast = dtype_ != DType::kFp32 && dtype_ != DType::kFp64;
    const DType wide = cast ? DType::kFp32 : dtype_;
    const TensorId logits = rows("logits", Dim{m_.vocab}, wide, Scope::kMicrobatch);
    const TensorId narrow = cast ? temporary("logits_narrow", m_.vocab) : logits;
    const TensorId max = rows("logit_max", Dim{1}, wide, Scope::kMicrobatch);
    const TensorId sums = rows("logit_sums", Dim{2}, wide, Scope::kMicrobatch);
    Tensor loss;
    loss.name = "loss", loss.dims = {Dim{1}}, loss.rank = 1, loss.dtype = wide;
    loss.kind = TensorClass::kBuffer, loss.scope = Scope::kMicrobatch, loss.persistent = true;
    d_.loss = d_.add(loss);
    using Step = CrossEntropy::Step;

    block_ = &d_.head_forward;
    block_->name = "head.forward";
    norm_forward(read(d_.x), norm, h);
    linear_forward(h, out, narrow, false);
    if (cast) {
      emit(Cast{0, dtype_, wide}, Phase::kForward, {read(narrow), plait::write(logits)});
    }
    emit(CrossEntropy{Step::kRowMax, 0, 0, wide}, Phase::kForward,
         {read(logits), plait::write(max)});
    emit(CrossEntropy{Step::kSums, 0, 0, wide}, Phase::kForward,
         {read(logits), read(max), read(d_.labels), plait::write(sums)});
    emit(CrossEntropy{Step::kLoss, 0, 0, wide}, Phase::kForward,
         {read(sums), plait::write(d_.loss)});

    block_ = &d_.head_backward;
    block_->name = "head.backward";
    emit(CrossEntropy{Step::kGradient, 0, 0, wide}, Phase::kBackward,
         {update(logits), read(max), read(sums), read(d_.labels)});
    TensorId dlogits = logits;
    if (cast) {
      dlogits = temporary("d_logits", m_.vocab);
      emit(Cast{0, wide, dtype_}, Phase::kBackward, {read(logits), plait::write(dlogits)});
    }
    const TensorId dh = temporary("d_final_hidden", m_.hidden);
    linear_input_grad(read(dlogits), out, dh);
    linear_weight_grad(read(dlogits), h, out, false);
    norm_backward(dh, read(d_.x), norm, plait::write(d_.dx));
  }

  Draft& d_;
  const Model& m_;
  DType dtype_;
  bool dropout_;
  Block* block_ = nullptr;
  Parameter table_{};
};

}  // namespace

void write_layers(Draft& draft) { LayerWriter(draft).write(); }

}  // namespace plait
