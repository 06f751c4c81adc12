#include "plan/strategies/prediction_writer.h"

namespace plait {
namespace {

constexpr double kLossWeight = 0.1;  // of all modules together

HeadWriter::Place head_of(const Draft& d, TensorId tokens) {
  return {UnitKind::kPrediction, "mtp.",
          read(d.x, 1),          written(d.dx, 1),
          read(tokens, 1),       kLossWeight / static_cast<double>(d.model.mtp_layers)};
}

TensorId further_tokens(Draft& d, BlockWriter& w) {
  const TensorId id = w.input("mtp.tokens");
  d.tensors[id].scope = Scope::kLayerMicrobatch;
  return id;
}

}  // namespace

PredictionWriter::PredictionWriter(Draft& d, BlockWriter& w, BlockWriter::Parameter table,
                                   BlockWriter::Parameter output)
    : d_(d),
      w_(w),
      dtype_(d.workload.precision.weights),
      h_(d.model.hidden),
      table_(table),
      of_embedding_(w.norm_weights(UnitKind::kPrediction, "mtp.embedding_norm")),
      of_hidden_(w.norm_weights(UnitKind::kPrediction, "mtp.hidden_norm")),
      projection_(w.linear(UnitKind::kPrediction, "mtp.projection", Dim{h_}, Dim{2 * h_}, false)),
      tokens_(further_tokens(d, w)),
      embedded_(w.saved("mtp.embedded", h_)),
      joined_(w.saved("mtp.joined", 2 * h_, {h_, h_, 0})),
      head_(d, w, head_of(d, tokens_), output) {
  d.mtp_embedded = embedded_;
}

TensorId PredictionWriter::half(const char* name, int which) const {
  return w_.temporary(name, h_, which == 0 ? Sections{h_, 0, 0} : Sections{0, h_, 0});
}

void PredictionWriter::join() {
  const TensorId e = half("mtp.embedded_normed", 0), n = half("mtp.hidden_normed", 1);
  w_.emit(Embedding{Pass::kForward, 0, 0, 0, false, dtype_, d_.workload.precision.gradients},
          Phase::kForward, {read(tokens_, -1), read(table_.weight), written(embedded_)});
  w_.norm_forward(read(embedded_), of_embedding_, e);
  w_.norm_forward(read(d_.x, -1), of_hidden_, n);
  w_.copy(e, written(joined_), Phase::kForward);
  w_.copy(n, update(joined_), Phase::kForward);
  w_.linear_forward(joined_, projection_, d_.x, false);
}

void PredictionWriter::join_backward() {
  const TensorId both = w_.temporary("d_mtp.joined", 2 * h_, {h_, h_, 0});
  const TensorId e = half("d_mtp.embedded_normed", 0), n = half("d_mtp.hidden_normed", 1);
  const TensorId embedded = w_.temporary("d_mtp.embedded", h_);
  const TensorId hidden = w_.temporary("d_mtp.hidden", h_);
  w_.linear_input_grad(read(d_.dx), projection_, both);
  w_.linear_weight_grad(read(d_.dx), joined_, projection_, false);
  w_.copy(both, written(e), Phase::kBackward);
  w_.copy(both, written(n), Phase::kBackward);
  w_.norm_backward(e, read(embedded_), of_embedding_, written(embedded));
  w_.norm_backward(n, read(d_.x, -1), of_hidden_, written(hidden));
  w_.emit(Embedding{Pass::kBackward, 0, 0, 0, false, dtype_, d_.workload.precision.gradients},
          Phase::kBackward, {read(tokens_, -1), read(embedded), update(table_.gradient)});
  // To what the head before has left there.
  w_.emit(Add{Pass::kForward, 0, 0, false, false, dtype_}, Phase::kBackward,
          {read(hidden), {d_.dx, Use::kUpdate, -1}});
}

void PredictionWriter::write() {
  w_.begin(d_.mtp.kept.forward, "mtp.forward");
  join();
  w_.begin(d_.mtp.kept.backward, "mtp.backward");
  join_backward();
  w_.begin(d_.mtp_head.forward, "mtp_head.forward");
  head_.forward();
  w_.begin(d_.mtp_head.backward, "mtp_head.backward");
  head_.backward();
}

}  // namespace plait
