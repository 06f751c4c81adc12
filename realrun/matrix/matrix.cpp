#include "realrun/matrix/matrix.h"

#include <tuple>

#include "realrun/launch/one_core.h"

namespace plait {
namespace {

/// Everything that an unsharded run depends on and that the cases differ in (what travels between
/// ranks, the reduction's precision, is not).
auto key(const Model& m) {
  return std::tie(m.name, m.layers, m.hidden, m.ffn_hidden, m.heads, m.kv_heads, m.head_dim,
                  m.vocab, m.dropout, m.attention_dropout, m.tied_embeddings, m.experts,
                  m.experts_per_token, m.first_dense_layers, m.q_lora_rank, m.mtp_layers,
                  m.qk_norm_across_heads, m.attention_window, m.full_attention_first,
                  m.full_attention_every, m.causal, m.embedding_norm, m.norm_position,
                  m.layer_pattern);
}
auto key(const Workload& w) {
  return std::tie(w.sequence_length, w.global_batch, w.flash_attention, w.gradient_clipping,
                  w.capacity_factor, w.documents, w.lora, w.precision.weights, w.precision.autocast,
                  w.precision.narrow_logits);
}

}  // namespace

Workload MatrixCase::unsharded() const {
  Workload w = workload;
  w.micro_batch = w.loss_pieces = 1;
  return w;
}

std::vector<MatrixCase> gpu_matrix_cases() {
  std::vector<MatrixCase> cases = matrix_cases();
  std::erase_if(cases, [](const MatrixCase& c) {
    return !has_gpu_kernels(c.model) || !has_gpu_kernels(c.workload.lora) ||
           !has_gpu_kernels(c.workload.precision);
  });
  return cases;
}

const ModelState& MatrixRunner::reference(const MatrixCase& c) {
  const Workload w = in_precision(c.unsharded(), precision_);
  for (const Reference& r : references_) {
    if (key(r.model) == key(c.model) && key(r.workload) == key(w)) return r.state;
  }
  const Plan plan = make_plan(c.model, w, Strategy{});
  references_.push_back({c.model, w, run_steps(c.model, plan, precision_, run_)});
  return references_.back().state;
}

MatrixRow MatrixRunner::run(const MatrixCase& c) {
  const OneCore core;
  const Plan plan = make_plan(c.model, in_precision(c.workload, precision_), c.strategy);
  const ModelState state = run_steps(c.model, plan, precision_, run_);
  MatrixRow row{&c, precision_, compare(state, reference(c)),
                tolerance_of(precision_, c.model, plan, run_.steps), false};
  row.passed = passes(row.result, row.allowed);
  return row;
}

}  // namespace plait
