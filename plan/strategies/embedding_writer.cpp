#include "plan/strategies/embedding_writer.h"

namespace plait {

EmbeddingWriter::EmbeddingWriter(Draft& d, BlockWriter& w) : d_(d), w_(w) { declare(); }

void EmbeddingWriter::declare() {
  const Model& m = d_.model;
  const UnitKind unit = UnitKind::kEmbedding;
  const Dim h{m.hidden};
  table_ = w_.parameter(unit, "embedding.weight", {Dim{m.vocab}, h});
  const bool learned = m.positions == PositionKind::kLearned;
  const bool more = learned || m.token_types > 0;
  if (more) sums_.push_back(w_.temporary("embedded", m.hidden));
  if (learned) {
    placed_.push_back({w_.parameter(unit, "position.weight", {Dim{m.max_positions}, h})});
    if (m.token_types > 0) sums_.push_back(w_.temporary("embedded_at", m.hidden));
  }
  if (m.token_types > 0) {
    // The texts of a sequence stand one behind the other and are equally long.
    const std::int64_t s = d_.workload.sequence_length;
    placed_.push_back({w_.parameter(unit, "token_type.weight", {Dim{m.token_types}, h}),
                       (s + m.token_types - 1) / m.token_types});
  }
  if (!m.embedding_norm) return sums_.push_back(d_.x);
  norm_ = w_.norm_weights(unit, "embedding_norm");
  d_.embedded = w_.activation("embedding_sum", m.hidden, Scope::kMicrobatch);
  sums_.push_back(d_.embedded);
}

Embedding EmbeddingWriter::lookup(Pass pass) const {
  const Precision& p = d_.workload.precision;
  return {pass, 0, 0, 0, false, p.weights, p.gradients};
}
Embedding EmbeddingWriter::lookup(Pass pass, const Placed& placed) const {
  Embedding e = lookup(pass);
  e.learned_positions = true, e.run = placed.run;
  return e;
}

void EmbeddingWriter::forward() {
  w_.emit(lookup(Pass::kForward), Phase::kForward,
          {read(d_.tokens), read(table_.weight), written(sums_[0])});
  for (std::size_t i = 0; i < placed_.size(); ++i) {
    w_.emit(lookup(Pass::kForward, placed_[i]), Phase::kForward,
            {read(sums_[i]), read(placed_[i].rows.weight), written(sums_[i + 1])});
  }
  if (norm_) w_.norm_forward(read(d_.embedded), *norm_, d_.x);
}

void EmbeddingWriter::backward() {
  if (BlockWriter::frozen(table_)) return;
  TensorId dsum = d_.dx;
  if (norm_) {
    dsum = w_.temporary("d_embedding_sum", d_.model.hidden);
    w_.norm_backward(d_.dx, read(d_.embedded), *norm_, written(dsum));
  }
  for (const Placed& placed : placed_) {
    w_.emit(lookup(Pass::kBackward, placed), Phase::kBackward,
            {read(dsum), update(placed.rows.gradient)});
  }
  w_.emit(lookup(Pass::kBackward), Phase::kBackward,
          {read(d_.tokens), read(dsum), update(table_.gradient)});
}

}  // namespace plait
