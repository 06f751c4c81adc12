#pragma once
// Writes ops into a block and declares the tensors between them: the vocabulary in which layers.cpp
// spells out a transformer. Sizes are left to fit_sizes.

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "plan/strategies/draft.h"

namespace plait {

constexpr Operand read(TensorId t, std::int16_t shift = 0) { return {t, Use::kRead, shift}; }
constexpr Operand written(TensorId t, std::int16_t shift = 0) { return {t, Use::kWrite, shift}; }
constexpr Operand update(TensorId t) { return {t, Use::kUpdate, 0}; }

/// Slots of tokens at experts: (experts, rows, width).
struct SlotRows {
  Dim experts, rows;
};

class BlockWriter {
 public:
  explicit BlockWriter(Draft& d) : d_(d), m_(d.model), dtype_(d.workload.precision.weights) {}

  struct Parameter {
    TensorId weight, gradient;
  };
  /// Low-rank factors beside a linear layer's matrix (lora.cpp), and what they write: A x, B A x,
  /// their gradients, and that of x; with dropout, what is left of x. Of a part of the matrix's
  /// rows, or of all.
  struct Adapter {
    Parameter a, b;
    TensorId inner, change, d_inner, d_change, d_input;
    TensorId dropped = kNoTensor, mask = kNoTensor, d_kept = kNoTensor;  // with dropout
    bool drops() const { return dropped != kNoTensor; }
    TensorId reads(TensorId x) const { return drops() ? dropped : x; }
  };
  struct Linear {
    Parameter weight, bias = {kNoTensor, kNoTensor};
    std::vector<Adapter> adapters = {};
    bool has_bias() const { return bias.weight != kNoTensor; }
  };
  struct NormWeights {
    Parameter gamma{}, beta = {kNoTensor, kNoTensor};
    TensorId stats = kNoTensor;
  };

  /// Norms of heads (Model::qk_norm), and the rows [q | k | v] that they normalise.
  struct HeadNormWeights {
    Parameter queries{}, keys{};
    TensorId projected = kNoTensor, stats = kNoTensor;
  };

  // ---- tensors
  /// The tokens of a sequence, shared out over cp and ulysses.
  Dim sequence() const { return {d_.workload.sequence_length, d_.mesh().present(kContextAxes)}; }
  TensorId input(const char* name) {
    Tensor t;
    t.name = name;
    t.dims = {sequence(), Dim{d_.workload.micro_batch}};
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
    t.dims = {sequence(), Dim{d_.workload.micro_batch}, last};
    t.rank = 3;
    t.dtype = dtype;
    t.scope = scope;
    return d_.add(t);
  }
  TensorId activation(std::string name, std::int64_t width, Scope scope, Sections sections = {}) {
    return rows(std::move(name), Dim{width, {}, sections}, dtype_, scope);
  }
  TensorId saved(std::string name, std::int64_t width, Sections sections = {}) {
    return activation(std::move(name), width, Scope::kLayerMicrobatch, sections);
  }
  TensorId temporary(std::string name, std::int64_t width, Sections sections = {}) {
    return activation(std::move(name), width, Scope::kCall, sections);
  }
  /// With four dimensions.
  TensorId table(std::string name, const std::array<Dim, 4>& dims, DType dtype,
                 Scope scope = Scope::kCall) {
    Tensor t;
    t.name = std::move(name);
    t.dims = dims;
    t.rank = 4;
    t.dtype = dtype;
    t.scope = scope;
    return d_.add(t);
  }
  /// Of a mixer with states: that of each head between chunks, of this call.
  TensorId states(std::string name, DType dtype) {
    const std::int64_t chunks = ceil_div(sequence().global, m_.scan_chunk);
    return table(std::move(name),
                 {Dim{chunks}, Dim{d_.workload.micro_batch}, Dim{m_.state_heads},
                  Dim{m_.state_head_dim * m_.state_size}},
                 dtype);
  }
  TensorId slots(std::string name, const SlotRows& at, Dim last, Scope scope) {
    Tensor t;
    t.name = std::move(name);
    t.dims = {at.experts, at.rows, last};
    t.rank = 3;
    t.dtype = dtype_;
    t.scope = scope;
    return d_.add(t);
  }
  TensorId mask(std::string name) {
    return rows(std::move(name), Dim{m_.hidden}, DType::kInt8, Scope::kLayerMicrobatch);
  }
  /// Beside adapters all others are frozen, and have no gradients.
  bool trains(UnitKind unit) const {
    return !d_.workload.lora.any() || unit == UnitKind::kAdapters;
  }
  static bool frozen(const Parameter& p) { return p.gradient == kNoTensor; }
  /// Experts are one unit of all layers that have them, whatever mixer is before them.
  Parameter parameter(UnitKind unit, const std::string& name, std::initializer_list<Dim> dims) {
    const Unit& declared = d_.unit(unit);
    for (std::size_t i = 0; unit == UnitKind::kExperts && i < declared.weights.size(); ++i) {
      if (d_.tensors[declared.weights[i]].name == name)
        return {declared.weights[i], declared.gradients[i]};
    }
    Tensor t;
    t.name = name;
    std::copy(dims.begin(), dims.end(), t.dims.begin());
    t.rank = static_cast<int>(dims.size());
    t.dtype = dtype_;
    t.kind = TensorClass::kWeight;
    t.scope = in_layers(unit) ? Scope::kLayer : Scope::kRole;
    Parameter p{};
    p.weight = d_.add(t);
    d_.unit(unit).weights.push_back(p.weight);
    p.gradient = kNoTensor;
    if (!trains(unit)) return p;
    t.name = name + ".grad";
    t.dtype = d_.workload.precision.gradients;
    t.kind = TensorClass::kGradient;
    p.gradient = d_.add(t);
    d_.unit(unit).gradients.push_back(p.gradient);
    return p;
  }
  Linear linear(UnitKind unit, const std::string& name, Dim out, Dim in, bool bias) {
    Linear l{parameter(unit, name + ".weight", {out, in})};
    if (bias) l.bias = parameter(unit, name + ".bias", {out});
    if (d_.workload.lora.any()) add_adapters(l, name, out, in);
    return l;
  }
  NormWeights norm_weights(UnitKind unit, const std::string& name) {
    return norm_weights(unit, name, m_.hidden);
  }
  NormWeights norm_weights(UnitKind unit, const std::string& name, std::int64_t width) {
    NormWeights n;
    n.gamma = parameter(unit, name + ".gamma", {Dim{width}});
    if (m_.norm_bias()) n.beta = parameter(unit, name + ".beta", {Dim{width}});
    n.stats = rows(name + ".stats", Dim{m_.norm == NormKind::kLayerNorm ? 2 : 1}, DType::kFp32,
                   in_layers(unit) ? Scope::kLayerMicrobatch : Scope::kMicrobatch);
    return n;
  }
  HeadNormWeights head_norm_weights(UnitKind unit, const Sections& sections) {
    HeadNormWeights n;
    n.queries = parameter(unit, "layer.q_norm.gamma", {Dim{m_.normed_query_width()}});
    n.keys = parameter(unit, "layer.k_norm.gamma", {Dim{m_.normed_key_width()}});
    n.projected = saved("projected", m_.qkv_width(), sections);
    const std::int64_t vectors = m_.qk_norm_across_heads ? 2 : m_.heads + m_.kv_heads;
    n.stats = rows("layer.head_norm.stats", Dim{vectors}, DType::kFp32, Scope::kLayerMicrobatch);
    return n;
  }

  // ---- ops
  void emit(Compute body, Phase phase, std::vector<Operand> operands) {
    block_->ops.push_back({Body(body), Stream::kCompute, phase, std::move(operands)});
  }
  void norm_forward(Operand x, const NormWeights& w, TensorId y) { norm_forward(x, w, written(y)); }
  void norm_forward(Operand x, const NormWeights& w, Operand y) {
    std::vector<Operand> o = {x, read(w.gamma.weight)};
    if (m_.norm_bias()) o.push_back(read(w.beta.weight));
    o.push_back(y), o.push_back(written(w.stats));
    emit(Norm{Pass::kForward, m_.norm, 0, 0, dtype_}, Phase::kForward, o);
  }
  void norm_backward(TensorId dy, Operand x, const NormWeights& w, Operand dx) {
    norm_backward(read(dy), x, w, dx);
  }
  void norm_backward(Operand dy, Operand x, const NormWeights& w, Operand dx) {
    std::vector<Operand> o = {dy, x, read(w.stats), read(w.gamma.weight), dx};
    const bool input = frozen(w.gamma);
    if (!input) o.push_back(update(w.gamma.gradient));
    if (!input && m_.norm_bias()) o.push_back(update(w.beta.gradient));
    emit(Norm{input ? Pass::kInputGrad : Pass::kBackward, m_.norm, 0, 0, dtype_}, Phase::kBackward,
         o);
  }
  void head_norm_forward(const HeadNormWeights& w, TensorId out) {
    emit(HeadNorm{.pass = Pass::kForward, .dtype = dtype_}, Phase::kForward,
         {read(w.projected), read(w.queries.weight), read(w.keys.weight), written(out),
          written(w.stats)});
  }
  void head_norm_backward(const HeadNormWeights& w, TensorId dqkv) {
    std::vector<Operand> o = {update(dqkv), read(w.projected), read(w.stats),
                              read(w.queries.weight), read(w.keys.weight)};
    const bool input = frozen(w.queries);
    if (!input) o.push_back(update(w.queries.gradient)), o.push_back(update(w.keys.gradient));
    emit(HeadNorm{.pass = input ? Pass::kInputGrad : Pass::kBackward, .dtype = dtype_},
         Phase::kBackward, o);
  }
  /// Queries and keys, or their gradients, in place.
  void rotate(Pass pass, TensorId rows) {
    const Phase phase = pass == Pass::kForward ? Phase::kForward : Phase::kBackward;
    emit(Rope{pass, 0, 0, dtype_}, phase, {update(rows)});
  }
  /// Sections that both have (plan/tensor.h) go from one to the other.
  void copy(TensorId from, Operand to, Phase phase) {
    emit(Cast{0, dtype_, dtype_}, phase, {read(from), to});
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
    std::vector<Operand> o = {read(x), read(w.weight.weight), written(y)};
    if (add_bias) o.push_back(read(w.bias.weight));
    emit(matmul(Pass::kForward, GemmLayout::kNT, add_bias), Phase::kForward, o);
    for (const Adapter& adapter : w.adapters) adapter_forward(adapter, x, y);
  }
  void linear_input_grad(Operand dy, const Linear& w, TensorId dx) {
    linear_input_grad(dy, w, written(dx));
  }
  void linear_input_grad(Operand dy, const Linear& w, Operand dx) {
    emit(matmul(Pass::kInputGrad, GemmLayout::kNN, false), Phase::kBackward,
         {dy, read(w.weight.weight), dx});
    for (const Adapter& adapter : w.adapters) adapter_input_grad(adapter, dy, dx);
  }
  void linear_weight_grad(Operand dy, TensorId x, const Linear& w, bool bias) {
    for (const Adapter& adapter : w.adapters) adapter_weight_grad(adapter, x);
    if (frozen(w.weight)) return;
    std::vector<Operand> o = {dy, read(x), update(w.weight.gradient)};
    if (bias) o.push_back(update(w.bias.gradient));
    emit(matmul(Pass::kWeightGrad, GemmLayout::kTN, bias), Phase::kWeightGrad, o);
  }
  void residual(Operand a, TensorId b, Operand out, const Linear* bias, TensorId dropout_mask) {
    Add add{Pass::kForward, 0, 0, bias != nullptr && bias->has_bias(), dropout_mask != kNoTensor,
            dtype_};
    std::vector<Operand> o = {a, read(b), out};
    if (add.bias) o.push_back(read(bias->bias.weight));
    if (add.dropout) o.push_back(written(dropout_mask));
    emit(add, Phase::kForward, o);
  }
  void sum(Operand a, Operand b, Operand out) {
    emit(Add{Pass::kForward, 0, 0, false, false, dtype_}, Phase::kBackward, {a, b, out});
  }
  void bias_grad(Operand dy, const Linear& w) {
    if (!w.has_bias() || frozen(w.bias)) return;
    emit(BiasGrad{0, 0, dtype_, d_.workload.precision.gradients}, Phase::kBackward,
         {dy, update(w.bias.gradient)});
  }
  /// Gradient of a residual branch's output before bias and dropout.
  Operand branch_gradient(Operand dout, TensorId dropout_mask, const std::string& name,
                          const Linear* bias) {
    Operand d = dout;
    if (dropout_mask != kNoTensor) {
      const TensorId masked = temporary(name, m_.hidden);
      emit(Add{Pass::kBackward, 0, 0, false, true, dtype_}, Phase::kBackward,
           {dout, read(dropout_mask), written(masked)});
      d = read(masked);
    }
    if (bias != nullptr) bias_grad(d, *bias);
    return d;
  }

  /// Ops go into `block` from here on.
  void begin(Block& block, std::string name) {
    block.name = std::move(name);
    begin(block);
  }
  void begin(Block& block) { block_ = &block; }

 private:
  // lora.cpp
  void add_adapters(Linear& l, const std::string& name, Dim out, Dim in);
  void adapter_forward(const Adapter& adapter, TensorId x, TensorId y);
  void adapter_input_grad(const Adapter& adapter, Operand dy, Operand dx);
  void adapter_weight_grad(const Adapter& adapter, TensorId x);
  Add dropout(Pass pass) const;

  Draft& d_;
  const Model& m_;
  DType dtype_;
  Block* block_ = nullptr;
};

}  // namespace plait
