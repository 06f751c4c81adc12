// make_plan: the strategies, applied in a fixed order to the unsharded transformer.
#include <algorithm>
#include <map>

#include "model/expert_flops.h"
#include "model/iteration_flops.h"
#include "plan/refusal.h"
#include "plan/require_autocast.h"
#include "plan/require_hybrid.h"
#include "plan/require_lora.h"
#include "plan/require_model.h"
#include "plan/require_sequence.h"
#include "plan/require_trained_model.h"
#include "plan/strategies/draft.h"
#include "plan/strategies/mixture_writer.h"
#include "plan/strategies/stage_tp.h"

namespace plait {
namespace {

std::int64_t microbatches(const Workload& w, std::int64_t replicas) {
  const std::int64_t per_pass = replicas * w.micro_batch;
  if (w.global_batch % per_pass != 0) {
    std::vector<std::string> others = fields_of_sizes();
    others.insert(others.begin(), "workload.micro_batch");
    throw refusal("S043",
                  "a global batch of " + std::to_string(w.global_batch) +
                      " sequences cannot be cut into "
                      "microbatches of " +
                      std::to_string(w.micro_batch) + " on " + std::to_string(replicas) +
                      " data-parallel ranks",
                  "workload.global_batch", "a multiple of " + std::to_string(per_pass),
                  "set workload.global_batch to " +
                      std::to_string(round_up(w.global_batch, per_pass)) +
                      ", or change micro_batch or the data-parallel size",
                  others);
  }
  return w.global_batch / per_pass;
}

/// With adapters: frozen products without their weights' gradients, and three passes over factors.
Flops flops_per_iteration(const Model& m, const LowRankAdapters& lora, const BatchSizes& batch) {
  const Flops all = megatron_flops_per_iteration(m, batch);
  if (!lora.any()) return all;
  const auto factors = static_cast<double>(count_adapter_parameters(m, lora));
  return all - linear_flops_of_a_pass(m, batch) + Flops(3 * 2 * factors * batch.tokens);
}

/// Slots that experts have for each choice of a token: with a capacity fewer, where tokens are
/// dropped, or more, some of which are empty.
double slots_of_a_choice(const Draft& d) {
  const Model& m = d.model;
  if (m.moe_layers() == 0) return 1;
  const auto choices =
      static_cast<double>(m.experts_per_token * tokens_of_a_rank(d) * d.workload.micro_batch);
  return static_cast<double>(m.experts * expert_slots(d)) / choices;
}

/// Where experts have so many slots for a choice, and not one.
Flops flops_per_iteration(const Model& m, const LowRankAdapters& lora, const BatchSizes& batch,
                          double slots) {
  return flops_per_iteration(m, lora, batch) + routed_expert_flops(m, batch.tokens, slots - 1);
}

void count_work(const Draft& d, Plan& plan) {
  const Workload& w = d.workload;
  const BatchSizes trained = trained_on(d.model, d.documents, w.sequence_length, w.global_batch);
  const BatchSizes run =
      computed(d.model, d.documents, w.flash_attention, w.sequence_length, w.global_batch);
  const bool dropless = w.capacity_factor <= 0;  // each choice is computed once, on some rank
  const double slots = dropless ? 1 : slots_of_a_choice(d);
  plan.tokens_per_step = static_cast<std::int64_t>(trained.tokens);
  plan.model_flops = flops_per_iteration(d.model, w.lora, trained, std::min(slots, 1.0));
  plan.unneeded_flops = flops_per_iteration(d.model, w.lora, run, slots) - plan.model_flops;
  if (dropless) plan.expert_imbalance = slots_of_a_choice(d);
}

/// Each adds what it is about to what stands there, in this order.
void apply_strategies(Draft& draft) {
  apply_tensor_parallel(draft);
  apply_expert_parallel(draft);
  keep_plain_layers(draft);
  apply_narrow(draft);
  apply_autocast(draft);
  part_narrow_weights(draft);
  apply_nf4_weights(draft);
  apply_sequence_parallel(draft);
  apply_whole_logits(draft);
  insert_collectives(draft);
  overlap_tensor_parallel(draft);
  copy_inputs(draft);
  apply_context_parallel(draft);
  apply_recompute(draft);
  skip_unused_gradients(draft);
  pack_units(draft);
  split_backward(draft);
  apply_windows(draft);
  part_passes(draft);
  hold_cast_weights(draft);
  apply_pipeline(draft);
  apply_data_parallel(draft);
  apply_optimizer(draft);
  meet_alone(draft);
  apply_offload(draft);
  apply_blocking_sends(draft);
}

/// All stages have the mesh's tensor-parallel degree.
Plan plan_alike(const Model& model, const Workload& workload, const Strategy& strategy) {
  Draft draft(model, workload, strategy);
  draft.microbatches = microbatches(workload, strategy.replicas());
  draft.documents = lay_out(workload.documents, workload.sequence_length);
  write_layers(draft);
  apply_strategies(draft);

  Plan plan;
  plan.name = model.name;
  plan.mesh = strategy.mesh;
  plan.servers = strategy.parameter_server.layout();
  plan.layers = draft.last_stream();
  plan.microbatches = draft.microbatches;
  count_work(draft, plan);
  plan.tensors = std::move(draft.tensors);
  plan.blocks = std::move(draft.blocks);
  plan.programs = std::move(draft.programs);
  plan.documents = std::move(draft.documents);
  return plan;
}

}  // namespace

Plan make_plan(const Model& model, const Workload& workload, const Strategy& strategy) {
  require_model(model);
  require_hybrid(model, workload, strategy);
  require_lora(model, workload, strategy);
  require_autocast(model, workload, strategy);
  require_trained_model(model, workload);
  require_parameter_server(strategy);
  require_sequence(model, workload, strategy.mesh.size_of(kContextAxes));
  require_stage_tp(model, strategy);
  if (!stages_differ(strategy)) return plan_alike(model, workload, strategy);
  std::map<std::int64_t, Plan> of_degree;
  for (const std::int64_t tp : strategy.pipeline.stage_tp) {
    if (of_degree.contains(tp)) continue;
    of_degree.emplace(tp, plan_alike(model, workload, with_tp(strategy, tp)));
  }
  return join_stages(strategy, of_degree);
}

}  // namespace plait
