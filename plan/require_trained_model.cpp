#include "plan/require_trained_model.h"

#include "plan/refusal.h"

namespace plait {
namespace {

void require_modules(const Model& m) {
  if (m.mtp_layers == 0 || m.positions != PositionKind::kLearned) return;
  throw refusal("S130", "modules that predict further tokens look up no learned positions",
                "model.mtp_layers", "0 with model.positions = \"learned\"",
                "set model.mtp_layers to 0, or model.positions to \"rotary\"", {"model.positions"});
}

/// What bidirectional attention, norms behind the layers and heads of masked-LM stand beside.
void require_encoder(const Model& m, const Workload& w) {
  if (!m.causal && m.attention_window > 0) {
    throw refusal("S140", "a sliding window is one of the tokens before, and an encoder sees all",
                  "model.attention_window", "0 with model.causal = false",
                  "set model.attention_window to 0, or model.causal to true", {"model.causal"});
  }
  if (!m.causal && w.documents.packing != Packing::kNone) {
    throw refusal("S141", "documents and padding are planned under causal masks only",
                  "workload.documents.packing", "\"none\" with model.causal = false",
                  "remove workload.documents: sequences of one document each", {"model.causal"});
  }
  const bool continues = m.generates() && m.norm_position == NormPosition::kPre && !m.output_bias;
  if (m.mtp_layers > 0 && !continues) {
    throw refusal(
        "S142", "modules that predict further tokens belong to a model that continues text",
        "model.mtp_layers",
        "0 with an encoder, its head, norms behind the layers or a bias of the output "
        "matrix",
        "set model.mtp_layers to 0",
        {"model.causal", "model.masked_lm_head", "model.norm_position", "model.output_bias"});
  }
  if (m.norm_position != NormPosition::kPost) return;
  if (!m.masked_lm_head || m.parallel_attention) {
    throw refusal("S143",
                  "norms behind the layers are planned with the masked-LM head, and with "
                  "attention in front of the MLP",
                  "model.norm_position",
                  "\"post\" with model.masked_lm_head = true, model.parallel_attention = false",
                  "set model.norm_position to \"pre\"",
                  {"model.masked_lm_head", "model.parallel_attention"});
  }
}

}  // namespace

void require_trained_model(const Model& model, const Workload& workload) {
  require_modules(model);
  require_encoder(model, workload);
}

}  // namespace plait
