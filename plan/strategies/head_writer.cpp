#include "plan/strategies/head_writer.h"

namespace plait {

HeadWriter::HeadWriter(Draft& d, BlockWriter& w, Place place,
                       std::optional<BlockWriter::Parameter> matrix)
    : w_(w),
      place_(std::move(place)),
      dtype_(d.workload.precision.weights),
      hidden_(d.model.hidden),
      vocab_(d.model.vocab) {
  const std::string& prefix = place_.prefix;
  const Scope scope = in_layers(place_.unit) ? Scope::kLayerMicrobatch : Scope::kMicrobatch;
  norm_ = w.norm_weights(place_.unit, prefix + "final_norm");
  out_.weight =
      matrix ? *matrix
             : w.parameter(place_.unit, prefix + "output.weight", {Dim{vocab_}, Dim{hidden_}});
  h_ = w.activation(prefix + "final_hidden", hidden_, scope);
  const bool cast = dtype_ != DType::kFp32 && dtype_ != DType::kFp64;
  wide_ = cast ? DType::kFp32 : dtype_;
  logits_ = w.rows(prefix + "logits", Dim{vocab_}, wide_, scope);
  narrow_ = cast ? w.temporary(prefix + "logits_narrow", vocab_) : logits_;
  max_ = w.rows(prefix + "logit_max", Dim{1}, wide_, scope);
  sums_ = w.rows(prefix + "logit_sums", Dim{2}, wide_, scope);
  Tensor loss;
  loss.name = prefix + "loss", loss.dims = {Dim{1}}, loss.rank = 1, loss.dtype = wide_;
  loss.kind = TensorClass::kBuffer, loss.scope = scope, loss.persistent = true;
  loss_ = d.add(loss);
}

void HeadWriter::forward() {
  using Step = CrossEntropy::Step;
  w_.norm_forward(place_.x, norm_, h_);
  w_.linear_forward(h_, out_, narrow_, false);
  if (casts()) {
    w_.emit(Cast{0, dtype_, wide_}, Phase::kForward, {read(narrow_), written(logits_)});
  }
  w_.emit(step(Step::kRowMax), Phase::kForward, {read(logits_), written(max_)});
  w_.emit(step(Step::kSums), Phase::kForward,
          {read(logits_), read(max_), place_.labels, written(sums_)});
  w_.emit(step(Step::kLoss), Phase::kForward, {read(sums_), written(loss_)});
}

void HeadWriter::backward() {
  w_.emit(step(CrossEntropy::Step::kGradient), Phase::kBackward,
          {update(logits_), read(max_), read(sums_), place_.labels});
  TensorId dlogits = logits_;
  if (casts()) {
    dlogits = w_.temporary("d_" + place_.prefix + "logits", vocab_);
    w_.emit(Cast{0, wide_, dtype_}, Phase::kBackward, {read(logits_), written(dlogits)});
  }
  const TensorId dh = w_.temporary("d_" + place_.prefix + "final_hidden", hidden_);
  w_.linear_input_grad(read(dlogits), out_, dh);
  w_.linear_weight_grad(read(dlogits), h_, out_, false);
  w_.norm_backward(dh, place_.x, norm_, place_.dx);
}

}  // namespace plait
