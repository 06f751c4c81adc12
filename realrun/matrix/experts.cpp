// Which combinations of models with experts are verified. Where results are rounded otherwise than
// without sharding, all experts are chosen: of two that are alike the choice could be another.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

namespace {

/// Four ranks along tp have a key-value head each.
Model for_tp_of_4() {
  Model m = all_experts();
  m.kv_heads = m.heads;
  return m;
}
/// A dense layer first, and one expert that sees every token.
Model shared_for_tp_of_4() {
  Model m = for_tp_of_4();
  m.layers = 3, m.first_dense_layers = 1, m.shared_ffn_hidden = 16;
  return m;
}

}  // namespace

/// Experts split over two of the four ranks that split the rest.
void experts_split_over_pairs(List& l) {
  l.add("pairs along tp", for_tp_of_4(), {.tp = 4}, 0, {sp, experts_over_pairs});
  l.add("ep, pairs along tp, zero 1", for_tp_of_4(), {.tp = 4, .ep = 2}, 1,
        {sp, experts_over_pairs});
  l.add("pairs along tp, dp, zero 2", shared_for_tp_of_4(), {.dp = 2, .tp = 4}, 2,
        {sp, experts_over_pairs});
  l.add("pairs along tp, fsdp, recompute all", for_tp_of_4(), {.fsdp = 2, .tp = 4}, 3,
        {sp, experts_over_pairs, all_again});
  l.add("pairs along tp, pp, interleaved", for_tp_of_4(), {.pp = 2, .tp = 4}, 0,
        {sp, experts_over_pairs, deep, interleaved});
  l.add("pairs along tp, pp, zb-h1, attention again", for_tp_of_4(), {.pp = 2, .tp = 4}, 0,
        {sp, experts_over_pairs, zb_h1, attention_again});
  l.add("pairs along tp, in pieces", for_tp_of_4(), {.tp = 4}, 0,
        {sp, experts_over_pairs, in_pieces});
  l.add("pairs along tp, recompute ops", for_tp_of_4(), {.tp = 4}, 0,
        {sp, experts_over_pairs, ops_again});
  l.add("pairs along tp, waits", for_tp_of_4(), {.tp = 4}, 0, {sp, experts_over_pairs, waits});
  l.add("experts over cp and pairs along tp", for_tp_of_4(), {.tp = 4, .cp = 2}, 0,
        {sp, experts_over_cp_and_pairs});
  l.add("ep, pairs along tp, early gates", for_tp_of_4(), {.tp = 4, .ep = 2}, 0,
        {sp, experts_over_pairs, early_gates});
  l.add("pairs along tp, early gates, activations again", for_tp_of_4(), {.tp = 4}, 0,
        {sp, experts_over_pairs, early_gates, expert_activations_again});
  l.add("ep, pairs along tp, in turns", for_tp_of_4(), {.tp = 4, .ep = 2}, 0,
        {sp, experts_over_pairs, in_turns});
  l.add("pairs along tp, pp, dualpipe-v", for_tp_of_4(), {.pp = 2, .tp = 4}, 0,
        {sp, experts_over_pairs, deep, dualpipe_v});
  l.add("ring, pairs along tp, zero 1", for_tp_of_4(), {.tp = 4, .cp = 2}, 1,
        {sp, experts_over_pairs, ring});
  l.add("pairs along tp, fsdp, state on the host", for_tp_of_4(), {.fsdp = 2, .tp = 4}, 3,
        {sp, experts_over_pairs, state_on_host});
  l.add("pairs along tp, further token, whole logits", for_tp_of_4(), {.tp = 4}, 0,
        {sp, experts_over_pairs, mtp, whole_logits});
}

// NOLINTNEXTLINE(readability-function-size): a table
void experts(List& l) {
  l.add("one rank, pairs of sequences", mixtral(), {}, 0, {pairs});
  l.add("dp", deepseek(), {.dp = 2});
  l.add("zero 2", mixtral(), {.dp = 2}, 2);
  l.add("fsdp", deepseek(), {.fsdp = 2}, 3);
  l.add("ep", mixtral(), {.ep = 2});
  l.add("ep of 4", deepseek(), {.ep = 4});
  l.add("ep, tokens dropped, pairs", mixtral(), {.ep = 2}, 0, {half_of_slots, pairs});
  l.add("ep of 4, dp, tokens dropped", deepseek(), {.dp = 2, .ep = 4}, 0, {half_of_slots});
  l.add("ep, dp, small buckets", mixtral(), {.dp = 2, .ep = 2}, 0, {small_buckets});
  l.add("ep, zero 1", mixtral(), {.ep = 2}, 1);
  l.add("ep, dp, zero 1", deepseek(), {.dp = 2, .ep = 2}, 1);
  l.add("ep, dp, zero 1, no overlap", mixtral(), {.dp = 2, .ep = 2}, 1, {no_overlap});
  l.add("ep, zero 2", deepseek(), {.ep = 4}, 2);
  l.add("ep, dp, zero 2, reduced in bf16", mixtral(), {.dp = 2, .ep = 2}, 2, {bf16_wire});
  l.add("ep, zero 3", mixtral(), {.ep = 2}, 3);
  l.add("ep, fsdp", deepseek(), {.fsdp = 2, .ep = 2}, 3);
  l.add("ep, fsdp, hybrid, weight shard", mixtral(), {.dp = 2, .fsdp = 2, .ep = 2}, 3,
        {weight_shard});
  l.add("ep, recompute all", mixtral(), {.ep = 2}, 0, {all_again});
  l.add("ep, recompute attention, fsdp", deepseek(), {.fsdp = 2, .ep = 2}, 3, {attention_again});
  l.add("recompute ops", mixtral(), {}, 0, {ops_again});
  l.add("ep, recompute ops, fsdp", deepseek(), {.fsdp = 2, .ep = 2}, 3, {ops_again});
  l.add("ep of 4, recompute ops, tokens dropped", deepseek(), {.ep = 4}, 0,
        {ops_again, half_of_slots});
  l.add("ep, tp, sp, recompute ops", all_experts(), {.tp = 2, .ep = 2}, 0, {sp, ops_again});
  l.add("experts over ep and tp, sp, recompute ops", all_experts(), {.tp = 2, .ep = 2}, 0,
        {sp, experts_over_tp, ops_again});
  l.add("ep, pp", mixtral(), {.pp = 2, .ep = 2});
  l.add("ep, pp of 3, dp, zero 1", deepseek(), {.pp = 3, .ep = 2}, 1, {batch_of_6});
  l.add("ep, pp, interleaved, recompute some", mixtral(), {.pp = 2, .ep = 2}, 0,
        {deep, interleaved, one_again});
  l.add("ep, pp, zb-h1", mixtral(), {.pp = 2, .ep = 2}, 0, {zb_h1});
  l.add("tp", all_experts(), {.tp = 2});
  l.add("tp, sp", all_experts(), {.tp = 2}, 0, {sp});
  l.add("ep, tp", all_experts(), {.tp = 2, .ep = 2});
  l.add("ep, tp, sp", all_experts(), {.tp = 2, .ep = 2}, 0, {sp});
  l.add("ep of 4, tp, sp, zero 1", all_experts(), {.tp = 2, .ep = 4}, 1, {sp});
  l.add("ep, tp, sp, fsdp, recompute all", all_experts(), {.fsdp = 2, .tp = 2, .ep = 2}, 3,
        {sp, all_again});
  l.add("experts over tp, sp", all_experts(), {.tp = 2}, 0, {sp, experts_over_tp});
  l.add("experts over ep and tp, sp, dp, zero 1", all_experts(), {.dp = 2, .tp = 2, .ep = 2}, 1,
        {sp, experts_over_tp});
  experts_split_over_pairs(l);
  l.add("cp", all_experts(), {.cp = 2});
  l.add("ep, cp, zero 1", all_experts(), {.cp = 2, .ep = 2}, 1);
  l.add("experts over cp and ep, zero 2", all_experts(), {.dp = 2, .cp = 2, .ep = 2}, 2,
        {experts_over_cp});
  l.add("experts over cp and tp, sp", all_experts(), {.tp = 2, .cp = 2}, 0, {sp, experts_over_all});
  l.add("ep, ulysses, zero 1", all_experts(), {.cp = 2, .ep = 2}, 1, {ulysses});
  l.add("experts over ulysses in ring", all_experts(), {.cp = 4}, 0, {hybrid, experts_over_cp});
  l.add("ep, ring, tp in pieces", all_experts(), {.tp = 2, .cp = 2, .ep = 2}, 0, {ring, in_pieces});
  l.add("ep, ZeRO++", all_experts(), {.dp = 2, .fsdp = 2, .ep = 2}, 3, {secondary, qwz, qgz});
}

void early_gates_of_experts(List& l) {
  l.add("early gates", all_experts(), {}, 0, {early_gates});
  l.add("early gates, ep of 4, tokens dropped", deepseek(), {.ep = 4}, 0,
        {early_gates, half_of_slots});
  l.add("early gates, ep, tp", all_experts(), {.tp = 2, .ep = 2}, 0, {early_gates});
  l.add("early gates, ep, tp, sp, zero 1", all_experts(), {.tp = 2, .ep = 2}, 1, {early_gates, sp});
  l.add("early gates, experts over ep and tp, sp", all_experts(), {.tp = 2, .ep = 2}, 0,
        {early_gates, sp, experts_over_tp});
  l.add("early gates, experts over cp and ep, fsdp", all_experts(), {.fsdp = 2, .cp = 2, .ep = 2},
        3, {early_gates, experts_over_cp});
  l.add("early gates, ep, recompute all", all_experts(), {.ep = 2}, 0, {early_gates, all_again});
  l.add("early gates, ep, recompute ops", all_experts(), {.ep = 2}, 0, {early_gates, ops_again});
  l.add("early gates, ep, recompute activations", deepseek(), {.ep = 2}, 0,
        {early_gates, expert_activations_again});
  l.add("early gates, ep, pp, zb-h1", all_experts(), {.pp = 2, .ep = 2}, 0, {early_gates, zb_h1});
}

/// Tokens of all ranks at every rank's experts.
void gathered_tokens(List& l) {
  l.add("gathered, ep of 4, tokens dropped", deepseek(), {.ep = 4}, 0,
        {tokens_gathered, half_of_slots});
  l.add("gathered, ep, tp, early gates", all_experts(), {.tp = 2, .ep = 2}, 1,
        {tokens_gathered, early_gates});
  l.add("gathered, ep, pairs along tp, recompute all", for_tp_of_4(), {.tp = 4, .ep = 2}, 0,
        {tokens_gathered, sp, experts_over_pairs, all_again});
  l.add("gathered, ep, pairs along tp, recompute ops", for_tp_of_4(), {.tp = 4, .ep = 2}, 0,
        {tokens_gathered, sp, experts_over_pairs, ops_again});
  l.add("gathered, ep, tp, sp, in turns", all_experts(), {.tp = 2, .ep = 2}, 0,
        {tokens_gathered, sp, early_gates, in_turns});
}

void exchanges_beside_passes(List& l) {
  l.add("ep, in turns", mixtral(), {.ep = 2}, 0, {in_turns});
  l.add("ep of 4, zero 2, in turns", deepseek(), {.ep = 4}, 2, {in_turns});
  l.add("ep, tp, sp, in turns", all_experts(), {.tp = 2, .ep = 2}, 1, {in_turns, sp});
  l.add("ep, fsdp, in turns", mixtral(), {.fsdp = 2, .ep = 2}, 3, {in_turns});
  l.add("ep, recompute all, in turns", deepseek(), {.ep = 2}, 0, {in_turns, all_again});
  l.add("ep, activations in host memory, in turns", mixtral(), {.ep = 2}, 0,
        {in_turns, deep, activations_on_host});
  l.add("ep, pp, interleaved, in turns", mixtral(), {.pp = 2, .ep = 2}, 1,
        {in_turns, deep, interleaved});
  l.add("ep, pp, dualpipe-v", deepseek(), {.pp = 2, .ep = 2}, 1, {deep, dualpipe_v});
  l.add("ep, pp, dualpipe, windows", mixtral(), {.pp = 2, .ep = 2}, 0,
        {deep, dualpipe, windows_of_2});
  l.add("ep, pp, dualpipe-v, recompute some, cp", all_experts(), {.pp = 2, .cp = 2, .ep = 2}, 1,
        {deep, dualpipe_v, one_again});
}

}  // namespace plait::matrix_changes
