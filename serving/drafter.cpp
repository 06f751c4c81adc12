#include "serving/drafter.h"

#include "core/error.h"
#include "model/presets.h"

namespace plait {
namespace {

/// One layer like the last one, between the model's embedding and head.
Model last_layer_of(Model m) {
  const std::int64_t last = m.layers - 1;
  const bool experts = m.has_experts(last), window = m.has_window(last);
  m.name += " drafter";
  m.layers = 1, m.mtp_layers = 0;
  m.first_dense_layers = experts ? 0 : 1, m.moe_every = 1;
  m.full_attention_first = m.full_attention_every = 0;
  if (!window) m.attention_window = 0;
  return m;
}

/// As stored on a rank: of the layers, and of all.
Bytes weights_of(const ServedModel& s, bool layers_alone) {
  const Plan plan = make_serving_plan(s.model, {{}, {1, 1, 1}, 1}, s.precision, s.layout, 1);
  Bytes sum;
  for (const Tensor& t : plan.tensors) {
    if (t.kind != TensorClass::kWeight || !t.persistent) continue;
    const bool layer = t.scope == Scope::kLayer;
    if (layer || !layers_alone) sum += t.bytes(plan.mesh) * (layer ? s.model.layers : 1);
  }
  return sum;
}

/// A token of each sequence of `step`, at their mean context.
Step next_tokens(const Step& step) {
  const Chunk &p = step.prefill, &d = step.decode;
  const std::int64_t n = p.sequences + d.sequences;
  const std::int64_t keys = p.sequences * p.context + d.sequences * d.context;
  return {{}, {n, 1, ceil_div(keys, n)}, n};
}

void add(StepTime& sum, const StepTime& t, std::int64_t times) {
  const auto add_to = [times](SimTime& whole, SimTime part) {
    whole = counted_sum(whole, counted_product(times, part));
  };
  add_to(sum.stage.back(), t.total());
  add_to(sum.issue, t.issue);
  for (std::size_t p = 0; p < kStepParts; ++p) add_to(sum.parts[p], t.parts[p]);
}

}  // namespace

std::optional<Drafter> drafter_of(const ServedModel& served, const Speculation& speculation) {
  if (!speculation.any() || speculation.method == Drafting::kNgram) return std::nullopt;
  const bool own = speculation.method == Drafting::kDraftModel;
  Drafter out{served, {}, {}};
  Model& m = out.model.model;
  if (own) {
    const Model* preset = find_preset(speculation.draft_model);
    PLAIT_CHECK(preset != nullptr, "a drafter that is no preset");
    m = *preset;
  } else {
    m = last_layer_of(served.model);
  }
  out.model.layout.map = even_layers(m.layers, 1);
  out.weights = weights_of(out.model, !own);
  out.bytes_per_token =
      kv_bytes_per_token(m, served.precision, served.layout.mesh[Axis::kTp]) * m.layers;
  return out;
}

const StepTime& DraftedCosts::operator()(const Step& step) {
  const StepCosts::Key key = StepCosts::key_of(priced_shape(step, target_.graphs()));
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  StepTime sum = target_(step);
  Step first = step;
  first.sampled = step.prefill.sequences + step.decode.sequences;
  add(sum, draft_(first), 1);
  if (guesses_ > 1) add(sum, draft_(next_tokens(step)), guesses_ - 1);
  return known_.emplace(key, std::move(sum)).first->second;
}

}  // namespace plait
