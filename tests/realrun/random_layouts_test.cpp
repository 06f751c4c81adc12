// What the matrix lists pair by pair, in random combinations: any model, split over up to eight
// ranks in any way that can be planned, computes the losses and gradients of the unsharded plan.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "core/error.h"
#include "plan/validate.h"
#include "realrun/matrix/changes.h"

namespace plait::random_layouts_test {

using namespace matrix_changes;
using namespace matrix_models;

/// But for quantised exchanges, whose errors are no rounding's.
constexpr Change kChanges[] = {sp,
                               in_pieces,
                               waits,
                               secondary,
                               ulysses,
                               ring,
                               hybrid,
                               all_again,
                               attention_again,
                               latents_again,
                               norms_and_activations_again,
                               shared_experts_again,
                               mlps_again,
                               whole_logits,
                               head_again,
                               loss_of_2,
                               ops_again,
                               unread_kept,
                               second_again,
                               one_again,
                               gpipe,
                               interleaved,
                               blocking_sends,
                               scatter_gather,
                               zb_v,
                               dualpipe_v,
                               dualpipe,
                               v_half,
                               v_min,
                               zb_h1,
                               zb_h2,
                               zb_1p,
                               zb_2p,
                               sequential,
                               uneven,
                               short_ends,
                               in_turns,
                               small_buckets,
                               no_overlap,
                               kept,
                               last_layer_kept,
                               root,
                               two_ahead,
                               none_ahead,
                               as_fsdp1,
                               as_fsdp2,
                               reduced_once,
                               reduced_early,
                               as_deepspeed,
                               weight_shard,
                               experts_over_tp,
                               experts_over_pairs,
                               experts_over_cp,
                               early_gates,
                               tokens_gathered,
                               expert_activations_again,
                               unfused,
                               unclipped,
                               adam_on_host,
                               state_on_host,
                               state_on_drives,
                               activations_on_host,
                               one_server,
                               two_servers,
                               apart,
                               deep,
                               layers_of_6,
                               windows_of_2,
                               mtp,
                               untied,
                               pairs,
                               documents,
                               documents_of_3,
                               padded,
                               one_microbatch,
                               norms_of_each_head};

const std::vector<Model>& models() {
  static const std::vector<Model> all = {
      llama(),       gpt(),        qwen(),    falcon(),       falcon_7b(), gpt_neox(),
      phi(),         plain(),      relu(),    mixtral(),      deepseek(),  qwen3(),
      qwen3_moe(),   mistral(),    gemma(),   olmo_2(),       gpt_oss(),   latent(),
      deepseek_v3(), nemotron_h(), granite(), nemotron_moe(), mamba2(),    qwen3_next(),
      qwen3_5(),     delta_net(),  bert(),    megatron_bert()};
  return all;
}

MatrixCase any_layout() {
  Degrees d;
  std::int64_t left = 8;
  for (std::int64_t* degree : {&d.tp, &d.pp, &d.dp, &d.fsdp, &d.cp, &d.ep}) {
    *degree = std::min(left, *rc::gen::weightedElement<std::int64_t>({{3, 1}, {2, 2}, {1, 4}}));
    left /= *degree;
  }
  List list;
  const int zero = d.fsdp > 1 ? *rc::gen::inRange(1, 4) : d.dp > 1 ? *rc::gen::inRange(0, 4) : 0;
  list.add("zero", *rc::gen::elementOf(models()), d, zero);
  MatrixCase c = list.cases.front();
  c.name += " " + std::to_string(zero) + ", changes";
  for (int n = *rc::gen::inRange(0, 4); n > 0; --n) {
    const auto i = *rc::gen::inRange<std::size_t>(0, std::size(kChanges));
    kChanges[i](c);
    c.name += " " + std::to_string(i);
  }
  return c;
}

RC_GTEST_PROP(RandomLayouts, ComputeWhatTheUnshardedPlanDoes, ()) {
  const MatrixCase c = any_layout();
  Plan plan;
  try {
    plan = make_plan(c.model, in_precision(c.workload, RunPrecision::kFp64), c.strategy);
    make_plan(c.model, in_precision(c.unsharded(), RunPrecision::kFp64), {});
  } catch (const InputError&) {
    RC_DISCARD("cannot be planned");
  }
  RC_LOG() << c.name << "\n";
  for (std::size_t a = 0; a < kAxes; ++a) {
    RC_LOG() << kAxisNames[a] << " " << c.strategy.mesh.size[a] << " ";
  }
  RC_ASSERT(validate(plan).empty());
  MatrixRunner runner(RunPrecision::kFp64, 1);
  const MatrixRow row = runner.run(c);
  RC_LOG() << row.result.worst_tensor << " " << row.result.worst_error << "\n";
  RC_ASSERT(row.result.replicas_agree);
  RC_ASSERT(row.result.held == row.result.planned);
  RC_ASSERT(row.passed);
}

}  // namespace plait::random_layouts_test
