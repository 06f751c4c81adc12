#include "plan/require_hybrid.h"

#include <algorithm>

#include "plan/refusal.h"

namespace plait {
namespace {

void require_pattern(const Model& m) {
  constexpr std::string_view kLetters = "MG*-Emga";
  const bool known = m.layer_pattern.find_first_not_of(kLetters) == std::string::npos;
  const bool fits = static_cast<std::int64_t>(m.layer_pattern.size()) == m.layers;
  const bool experts = m.experts > 0 || m.layer_pattern.find('E') == std::string::npos;
  if (known && fits && experts) return;
  throw refusal(
      "S150",
      !known ? "a pattern of layers with another letter than M, G, *, -, E, m, g and a"
      : fits ? "a pattern with layers of experts, and the model has none"
             : "a pattern of " + std::to_string(m.layer_pattern.size()) +
                   " layers for a model of " + std::to_string(m.layers),
      "model.layer_pattern",
      "a letter for each of model.layers: M state-space mixer, G gated delta net, * attention, - "
      "MLP, E experts, m, g and a the mixer or attention with an MLP behind it",
      known && fits ? "set model.experts" : "correct model.layer_pattern or model.layers",
      {"model.layers"});
}

void require_states(const Model& m) {
  const bool sizes = m.state_size > 0 && m.state_heads > 0 && m.state_head_dim > 0 &&
                     m.state_groups > 0 && m.conv_width > 0 && m.scan_chunk > 0;
  if (sizes && m.state_heads % m.state_groups == 0) return;
  throw refusal("S151",
                "a mixer with states of " + std::to_string(m.state_heads) + " heads of " +
                    std::to_string(m.state_head_dim) + " x " + std::to_string(m.state_size) +
                    " states in " + std::to_string(m.state_groups) + " groups",
                "model.state_heads",
                "model.state_size, state_heads, state_head_dim and state_groups at least 1, and "
                "groups that divide the heads",
                "set them", {"model.state_size", "model.state_head_dim", "model.state_groups"});
}

/// A model has one set of sizes for them.
void require_one_kind(const Model& m) {
  if (m.state_space_layers() == 0 || m.delta_net_layers() == 0) return;
  throw refusal("S153", "state-space mixers and gated delta nets in one model",
                "model.layer_pattern", "M and m, or G and g", "leave one of them out");
}

/// The layers of modules that predict further tokens are like the last one.
bool ends_whole(const Model& m) {
  const LayerParts last = m.parts_of(m.layers - 1);
  return last.mixer == Mixer::kAttention && last.feed_forward != FeedForward::kNone;
}

/// What patterns are not planned beside, by field.
void require_plain_layers(const Model& m) {
  const char* other = m.parallel_attention                    ? "model.parallel_attention"
                      : m.norm_position != NormPosition::kPre ? "model.norm_position"
                      : !m.causal || m.masked_lm_head         ? "model.causal"
                      : m.mtp_layers > 0 && !ends_whole(m)    ? "model.mtp_layers"
                                                              : nullptr;
  if (other == nullptr) return;
  throw refusal("S152",
                "a pattern of layers is planned for decoders with norms in front of their layers, "
                "and modules that predict further tokens behind a last layer of attention with an "
                "MLP or experts",
                other,
                "model.causal = true, norm_position = \"pre\", parallel_attention = false, and "
                "mtp_layers = 0 or a pattern that ends with a",
                "change it, or remove model.layer_pattern", {"model.layer_pattern"});
}

void require_whole_sequences(const Model& m, const Workload& w, const Strategy& s) {
  if (m.recurrent_layers() == 0) return;
  if (s.mesh.size_of(kContextAxes) > 1) {
    throw refusal("S154", "states pass from token to token, and none is sent to another rank",
                  "strategy.cp", "1 with state-space mixers and gated delta nets",
                  "set strategy.cp to 1, and split by strategy.tp or strategy.pp",
                  {"model.layer_pattern"});
  }
  if (w.documents.packing == Packing::kNone) return;
  throw refusal(
      "S155", "states would pass from one document to the next", "workload.documents.packing",
      "\"none\" with state-space mixers and gated delta nets",
      "remove workload.documents: sequences of one document each", {"model.layer_pattern"});
}

void require_other_recompute(const Strategy& s) {
  if (s.recompute.kind != Recompute::kOps) return;
  throw refusal("S156", "layers of a pattern are not computed again op by op", "strategy.recompute",
                "none, selective, modules or full with a pattern",
                "set strategy.recompute to \"full\"",
                {"strategy.recompute.kind", "model.layer_pattern"});
}

}  // namespace

void require_hybrid(const Model& m) {
  if (m.layer_pattern.empty()) return;
  require_pattern(m);
  if (m.recurrent_layers() > 0) require_states(m);
  require_one_kind(m);
  require_plain_layers(m);
}

void require_hybrid(const Model& m, const Workload& w, const Strategy& s) {
  require_hybrid(m);
  if (m.layer_pattern.empty()) return;
  require_whole_sequences(m, w, s);
  require_other_recompute(s);
}

}  // namespace plait
