// The unsharded mixture of experts: logits of all experts, the k chosen ones of each token, copies
// of the token in their slots, every expert's MLP on its slots (one grouped product), and the sum
// of the results by gate (Shazeer et al. 2017; as dense products over slots: GShard, Lepikhin et
// al. 2020, arXiv 2006.16668). Shapes: s sequence, b microbatch, h hidden, E experts, k chosen.
//
// A loss that balances the experts is left out: it changes gradients of the router alone, and no
// shape.
#include <algorithm>
#include <cmath>

#include "plan/strategies/mixture_writer.h"

namespace plait {
namespace {

/// Where tokens are divided, so are their slots.
SlotRows slots_of(const Draft& d) {
  AxisSet axes = d.mesh().present(kContextAxes);
  if (d.strategy.sequence_parallel) axes = axes | Axis::kTp | d.mesh().present(kTensorAxes);
  const std::int64_t own = expert_slots(d);
  return {Dim{d.model.experts}, Dim{own * d.mesh().size_of(axes), axes}};
}

}  // namespace

bool is_router(const Draft& d, const Op& op) {
  return std::ranges::any_of(op.operands, [&d](const Operand& o) {
    const std::string& name = d.tensors[o.tensor].name;
    return name.starts_with("layer.router.") || name.starts_with("layer.shared_gate.");
  });
}

bool multiplies_by_experts(const Draft& d, const Op& op) {
  return body_of<MatMul>(op) != nullptr && d.tensors[op.operands[1].tensor].rank == 3;
}

std::int64_t tokens_of_a_rank(const Draft& d) {
  const std::int64_t parts = d.mesh().size_of(kContextAxes) *
                             (d.strategy.sequence_parallel ? d.mesh().size_of(kTensorAxes) : 1);
  return d.workload.sequence_length / parts;
}

namespace {

/// Of slots over an even share. Of r ranks the busiest has r times the mean at most: all tokens.
double slots_over_even(const Draft& d) {
  const Workload& w = d.workload;
  if (w.capacity_factor > 0) return w.capacity_factor;
  const std::int64_t ranks = d.mesh().size_of(d.strategy.axes_of_experts());
  return std::min(w.expert_skew, static_cast<double>(ranks));
}

/// Of so many tokens at each expert.
std::int64_t slots_of_tokens(const Draft& d, std::int64_t tokens) {
  const Model& m = d.model;
  const double even =
      static_cast<double>(m.experts_per_token * tokens) / static_cast<double>(m.experts);
  const double slots = std::min(std::ceil(slots_over_even(d) * even), static_cast<double>(tokens));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(slots));
}

}  // namespace

std::int64_t expert_slots(const Draft& d) {
  const std::int64_t tokens = tokens_of_a_rank(d), sequences = d.workload.micro_batch;
  const bool dropless = d.workload.capacity_factor <= 0;
  return dropless ? slots_of_tokens(d, tokens * sequences) : slots_of_tokens(d, tokens) * sequences;
}

MixtureWriter::MixtureWriter(Draft& d, BlockWriter& w, UnitKind unit)
    : m_(d.model),
      w_(w),
      dtype_(d.workload.precision.weights),
      router_(w.linear(unit, "layer.router", Dim{m_.experts}, Dim{m_.hidden}, false)),
      experts_(d, w, UnitKind::kExperts, "experts", m_.expert_ffn_hidden, slots_of(d)) {
  route_.capacity = expert_slots(d), route_.dtype = dtype_;
  gates_ = chosen("gates", dtype_, Scope::kLayerMicrobatch);
  slots_ = chosen("expert_slots", DType::kInt64, Scope::kLayerMicrobatch);
  expert_input_ = experts_.rows("experts_input", m_.hidden, Scope::kLayerMicrobatch, {});
  experts_.declare_saved();
  const bool early = d.strategy.experts.gates == ExpertGates::kActivations;
  if (early) slot_gates_ = experts_.rows("experts_gates", 1, Scope::kLayerMicrobatch, {});
  const Scope kept = early ? Scope::kCall : Scope::kLayerMicrobatch;
  expert_out_ = experts_.rows("experts_out", m_.hidden, kept, {});
  if (m_.shared_ffn_hidden == 0) return;
  shared_.emplace(d, w, unit, "shared", m_.shared_ffn_hidden);
  shared_->declare_saved();
  if (!m_.shared_expert_gate) return;
  shared_gate_ = w.linear(unit, "layer.shared_gate", Dim{1}, Dim{m_.hidden}, false);
  shared_out_ = w.saved("shared_out", m_.hidden);
  shared_logits_ = w.saved("shared_gate", 1);
}

TensorId MixtureWriter::chosen(std::string name, DType dtype, Scope scope) {
  return w_.rows(std::move(name), Dim{m_.experts_per_token}, dtype, scope);
}

void MixtureWriter::forward(TensorId h, TensorId out) {
  if (!shared_) return routed_forward(h, out);
  const TensorId routed = w_.temporary("routed_out", m_.hidden);
  const TensorId shared = w_.temporary("shared_out", m_.hidden);
  routed_forward(h, routed);
  shared_forward(h, shared);
  w_.residual(read(routed), shared, written(out), nullptr, kNoTensor);
}

void MixtureWriter::routed_forward(TensorId h, TensorId out) {
  const TensorId logits = w_.temporary("router_logits", m_.experts);
  w_.linear_forward(h, router_, logits, false);
  Route route = route_;
  w_.emit(route, Phase::kForward, {read(logits), written(gates_), written(slots_)});
  Dispatch dispatch;
  dispatch.dtype = dtype_;
  w_.emit(dispatch, Phase::kForward, {read(h), read(slots_), written(expert_input_)});
  Combine combine;
  combine.dtype = dtype_;
  if (slot_gates_ == kNoTensor) {
    experts_.forward(expert_input_, expert_out_);
    return w_.emit(combine, Phase::kForward,
                   {read(expert_out_), read(gates_), read(slots_), written(out)});
  }
  dispatch.gates = true, combine.weighted = false;
  w_.emit(dispatch, Phase::kForward, {read(gates_), read(slots_), written(slot_gates_)});
  experts_.forward(expert_input_, expert_out_, {slot_gates_});
  w_.emit(combine, Phase::kForward, {read(expert_out_), read(slots_), written(out)});
}

void MixtureWriter::backward(Operand dout, TensorId h, TensorId dh) {
  if (!shared_) return routed_backward(dout, h, dh);
  const TensorId routed = w_.temporary("d_routed_input", m_.hidden);
  const TensorId shared = w_.temporary("d_shared_input", m_.hidden);
  routed_backward(dout, h, routed);
  shared_backward(dout, h, shared);
  w_.sum(read(routed), read(shared), written(dh));
}

Gate MixtureWriter::shared_gate(Pass pass) const {
  Gate gate;
  gate.pass = pass, gate.per_row = true, gate.dtype = dtype_;
  return gate;
}

void MixtureWriter::shared_forward(TensorId h, TensorId out) {
  if (!shared_gate_) return shared_->forward(h, out);
  shared_->forward(h, shared_out_);
  w_.linear_forward(h, *shared_gate_, shared_logits_, false);
  w_.emit(shared_gate(Pass::kForward), Phase::kForward,
          {read(shared_out_), read(shared_logits_), written(out)});
}

void MixtureWriter::shared_backward(Operand dout, TensorId h, TensorId dh) {
  if (!shared_gate_) return shared_->backward(dout, h, dh);
  const TensorId dshared = w_.temporary("d_shared_out", m_.hidden);
  const TensorId dlogits = w_.temporary("d_shared_gate", 1);
  const TensorId through_experts = w_.temporary("d_shared_mlp_input", m_.hidden);
  const TensorId through_gate = w_.temporary("d_shared_gate_input", m_.hidden);
  w_.emit(shared_gate(Pass::kBackward), Phase::kBackward,
          {dout, read(shared_out_), read(shared_logits_), written(dshared), written(dlogits)});
  shared_->backward(read(dshared), h, through_experts);
  w_.linear_input_grad(read(dlogits), *shared_gate_, through_gate);
  w_.linear_weight_grad(read(dlogits), h, *shared_gate_, false);
  w_.sum(read(through_experts), read(through_gate), written(dh));
}

void MixtureWriter::experts_backward(Operand dout, TensorId dgates, TensorId through_experts) {
  const bool early = slot_gates_ != kNoTensor;
  const TensorId d_expert_out = experts_.rows("d_experts_out", m_.hidden, Scope::kCall, {});
  const TensorId d_expert_input = experts_.rows("d_experts_input", m_.hidden, Scope::kCall, {});
  Combine combine;
  combine.pass = Pass::kBackward, combine.dtype = dtype_, combine.weighted = !early;
  Dispatch dispatch;
  dispatch.pass = Pass::kBackward, dispatch.dtype = dtype_;
  RowWeights weights;
  if (early) {
    weights = {slot_gates_, experts_.rows("d_experts_gates", 1, Scope::kCall, {})};
    w_.emit(combine, Phase::kBackward, {dout, read(slots_), written(d_expert_out)});
  } else {
    w_.emit(combine, Phase::kBackward,
            {dout, read(expert_out_), read(gates_), read(slots_), written(d_expert_out),
             written(dgates)});
  }
  experts_.backward(read(d_expert_out), expert_input_, d_expert_input, weights);
  w_.emit(dispatch, Phase::kBackward,
          {read(d_expert_input), read(slots_), written(through_experts)});
  if (!early) return;
  dispatch.gates = true;
  w_.emit(dispatch, Phase::kBackward, {read(weights.gradient), read(slots_), written(dgates)});
}

void MixtureWriter::routed_backward(Operand dout, TensorId h, TensorId dh) {
  const TensorId dgates = chosen("d_gates", dtype_, Scope::kCall);
  const TensorId through_experts = w_.temporary("d_dispatched", m_.hidden);
  experts_backward(dout, dgates, through_experts);
  const TensorId dlogits = w_.temporary("d_router_logits", m_.experts);
  Route route = route_;
  route.pass = Pass::kBackward;
  w_.emit(route, Phase::kBackward, {read(dgates), read(gates_), read(slots_), written(dlogits)});
  const TensorId through_router = w_.temporary("d_routed", m_.hidden);
  w_.linear_input_grad(read(dlogits), router_, through_router);
  w_.linear_weight_grad(read(dlogits), h, router_, false);
  w_.sum(read(through_experts), read(through_router), written(dh));
}

}  // namespace plait
