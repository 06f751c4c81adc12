#include "plan/strategies/head_writer.h"

#include <algorithm>
#include <bit>

#include "plan/refusal.h"
#include "plan/schedule.h"

namespace plait {
namespace {

/// As many tokens at a time as make logits about as large as the hidden states (Liger-Kernel,
/// src/liger_kernel/ops/fused_linear_cross_entropy.py): of T tokens the next power of two above T /
/// ceil(V / h), here in pieces of one size.
std::int64_t ligers_pieces(const Draft& d) {
  const std::int64_t positions = d.workload.sequence_length / d.mesh().size_of(kContextAxes);
  const std::int64_t tokens = d.workload.micro_batch * positions;
  const std::int64_t wide = ceil_div(d.model.vocab, d.model.hidden);
  const auto each =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(ceil_div(tokens, wide))));
  std::int64_t pieces = std::max<std::int64_t>(1, std::min(positions, tokens / each));
  while (positions % pieces != 0) --pieces;
  return pieces;
}

}  // namespace

std::int64_t loss_pieces(const Draft& d) {
  const std::int64_t pieces = d.workload.loss_pieces;
  if (pieces == 1) return 1;
  const bool whole =
      d.mesh().size_of(kTensorAxes) > 1 || splits_backward(d.strategy.pipeline.schedule);
  if (pieces == kLigersLossPieces) {
    return whole || d.workload.precision.autocast ? 1 : ligers_pieces(d);
  }
  if (whole) {
    throw refusal("S071", "a loss in pieces is not split over ranks, nor its backward pass in two",
                  "workload.loss_pieces",
                  "1 with tensor parallelism and schedules that split the backward pass",
                  "remove it", {"strategy.tp", "strategy.pipeline.schedule"});
  }
  const std::int64_t ranks = d.mesh().size_of(kContextAxes);
  if (d.workload.sequence_length % (pieces * ranks) != 0) {
    throw refusal("S072",
                  std::to_string(d.workload.sequence_length / ranks) +
                      " positions cannot be cut into " + std::to_string(pieces) + " pieces",
                  "workload.loss_pieces",
                  "a divisor of the positions that a rank has of a sequence", "choose a divisor",
                  {"workload.sequence_length", "strategy.cp", "strategy.tp"});
  }
  return pieces;
}

HeadWriter::HeadWriter(Draft& d, BlockWriter& w, Place place,
                       std::optional<BlockWriter::Parameter> matrix)
    : d_(d),
      w_(w),
      place_(std::move(place)),
      pieces_(loss_pieces(d)),
      dtype_(d.workload.precision.activations()),
      hidden_(d.model.hidden),
      vocab_(d.model.vocab) {
  const std::string& prefix = place_.prefix;
  const Scope scope = in_layers(place_.unit) ? Scope::kLayerMicrobatch : Scope::kMicrobatch;
  const Model& m = d.model;
  if (m.has_final_norm()) norm_ = w.norm_weights(place_.unit, prefix + "final_norm");
  if (m.masked_lm_head) masked_lm_.emplace(d, w, place_.unit);
  out_.weight =
      matrix ? *matrix
             : w.parameter(place_.unit, prefix + "output.weight", {Dim{vocab_}, Dim{hidden_}});
  if (m.has_output_bias()) out_.bias = w.parameter(place_.unit, "output.bias", {Dim{vocab_}});
  normed_ = norm_ ? w.activation(prefix + "final_hidden", hidden_, scope) : place_.x.tensor;
  h_ = masked_lm_ ? masked_lm_->out() : normed_;
  const bool narrow = dtype_ != DType::kFp32 && dtype_ != DType::kFp64;
  wide_ = narrow ? DType::kFp32 : dtype_;
  const bool cast = narrow && !d.workload.precision.narrow_logits;
  logits_ = logits_of(prefix + "logits", cast ? wide_ : dtype_, pieces_ > 1 ? Scope::kCall : scope);
  narrow_ = cast ? logits_of(prefix + "logits_narrow", dtype_, Scope::kCall) : logits_;
  max_ = w.rows(prefix + "logit_max", Dim{1}, wide_, scope);
  sums_ = w.rows(prefix + "logit_sums", Dim{2}, wide_, scope);
  Tensor loss;
  loss.name = prefix + "loss", loss.dims = {Dim{1}}, loss.rank = 1, loss.dtype = wide_;
  loss.kind = TensorClass::kBuffer, loss.scope = scope, loss.persistent = true;
  loss_ = d.add(loss);
}

/// Of as many tokens as a piece has.
TensorId HeadWriter::logits_of(std::string name, DType dtype, Scope scope) {
  const TensorId t = w_.rows(std::move(name), Dim{vocab_}, dtype, scope);
  d_.tensors[t].dims[0].global /= pieces_;
  return t;
}

/// The i-th share of the positions, where they lie in the whole.
TensorId HeadWriter::rows_of(TensorId whole, std::int64_t i) {
  if (pieces_ == 1) return whole;
  Tensor t = d_.tensors[whole];
  t.name += ".piece" + std::to_string(i);
  t.dims[0].global /= pieces_;
  t.storage = whole, t.offset = i * t.elements(d_.mesh());
  return d_.add(t);
}

HeadWriter::Piece HeadWriter::piece(TensorId dh, std::int64_t i) {
  Operand labels = place_.labels;
  labels.tensor = rows_of(labels.tensor, i);
  return {rows_of(h_, i), rows_of(dh, i), rows_of(max_, i), rows_of(sums_, i), labels};
}

void HeadWriter::logits_and_sums(const Piece& p) {
  using Step = CrossEntropy::Step;
  w_.linear_forward(p.h, out_, narrow_, out_.has_bias());
  if (casts()) {
    w_.emit(Cast{0, dtype_, wide_}, Phase::kForward, {read(narrow_), written(logits_)});
  }
  w_.emit(step(Step::kRowMax), Phase::kForward, {read(logits_), written(p.max)});
  w_.emit(step(Step::kSums), Phase::kForward,
          {read(logits_), read(p.max), p.labels, written(p.sums)});
}

void HeadWriter::gradients(const Piece& p) {
  w_.emit(step(CrossEntropy::Step::kGradient), Phase::kBackward,
          {update(logits_), read(p.max), read(p.sums), p.labels});
  if (casts()) {
    w_.emit(Cast{0, wide_, dtype_}, Phase::kBackward, {read(logits_), written(dlogits_)});
  }
  w_.linear_input_grad(read(dlogits_), out_, p.dh);
  w_.linear_weight_grad(read(dlogits_), p.h, out_, false);
  w_.bias_grad(read(dlogits_), out_);
}

void HeadWriter::forward() {
  if (norm_) w_.norm_forward(place_.x, *norm_, normed_);
  if (masked_lm_) masked_lm_->forward(normed_);
  if (pieces_ > 1) return;
  logits_and_sums({h_, kNoTensor, max_, sums_, place_.labels});
  w_.emit(step(CrossEntropy::Step::kLoss), Phase::kForward, {read(sums_), written(loss_)});
}

void HeadWriter::backward() {
  const std::string prefix = "d_" + place_.prefix;
  dlogits_ = casts() ? logits_of(prefix + "logits", dtype_, Scope::kCall) : logits_;
  const TensorId dnormed = w_.temporary(prefix + "final_hidden", hidden_);
  const TensorId dh = masked_lm_ ? w_.temporary("d_lm_head_hidden", hidden_) : dnormed;
  for (std::int64_t i = 0; i < pieces_; ++i) {
    const Piece p = piece(dh, i);
    if (pieces_ > 1) logits_and_sums(p);
    gradients(p);
  }
  if (pieces_ > 1) {
    w_.emit(step(CrossEntropy::Step::kLoss), Phase::kForward, {read(sums_), written(loss_)});
  }
  if (masked_lm_) masked_lm_->backward(dh, normed_, norm_ ? written(dnormed) : place_.dx);
  if (norm_) w_.norm_backward(dnormed, place_.x, *norm_, place_.dx);
}

}  // namespace plait
