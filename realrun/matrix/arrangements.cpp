// Which combinations are verified of layers whose norms and branches stand elsewhere: norms of what
// branches add alone, with norms of queries and keys across heads; attention and MLP side by side
// behind one norm; and side by side with biases and dropout, of the output matrix too.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

namespace {

void norms_of_branches(List& l) {
  l.add("one rank, pairs of sequences", olmo_2(), {}, 0, {pairs, one_layer});
  l.add("unfused, dp, zero 1", olmo_2(), {.dp = 2}, 1, {unfused, one_layer});
  l.add("fsdp", olmo_2(), {.fsdp = 2}, 3);
  l.add("cp, windows", olmo_2(), {.cp = 2}, 0, {windows_of_2});
  l.add("ulysses, documents", olmo_2(), {.cp = 2}, 0, {ulysses, documents});
  l.add("ring", olmo_2(), {.cp = 2}, 0, {ring});
  l.add("pp, zb-h1", olmo_2(), {.pp = 2}, 0, {zb_h1});
  l.add("pp, interleaved, dp", olmo_2(), {.pp = 2, .dp = 2}, 0, {deep, interleaved});
  l.add("recompute all", olmo_2(), {.dp = 2}, 0, {all_again});
  l.add("recompute attention", olmo_2(), {.dp = 2}, 0, {attention_again});
  l.add("recompute ops", olmo_2(), {.dp = 2}, 0, {ops_again});
  l.add("activations on the host", olmo_2(), {}, 0, {deep, activations_on_host});
  l.add("norms of branches, tp, sp", olmo_2(), {.tp = 2}, 0, {norms_of_each_head, sp});
  l.add("norms of branches, recompute ops, tp", olmo_2(), {.tp = 2}, 0,
        {norms_of_each_head, ops_again});
  l.add("norms of branches, tp in pieces", olmo_2(), {.tp = 2}, 0, {norms_of_each_head, in_pieces});
}

void one_norm_of_both_branches(List& l) {
  l.add("dp", falcon_7b(), {.dp = 2});
  l.add("tp", falcon_7b(), {.tp = 2});
  l.add("tp, sp, pairs", falcon_7b(), {.tp = 2}, 0, {sp, pairs});
  l.add("tp, sp, nothing hidden", falcon_7b(), {.tp = 2}, 0, {sp, waits});
  l.add("tp in pieces", falcon_7b(), {.tp = 2}, 0, {in_pieces});
  l.add("fsdp, tp", falcon_7b(), {.fsdp = 2, .tp = 2}, 3);
  l.add("pp, zb-h1, tp", falcon_7b(), {.pp = 2, .tp = 2}, 0, {zb_h1});
  l.add("recompute all, tp, sp", falcon_7b(), {.tp = 2}, 0, {all_again, sp});
  l.add("recompute ops, tp, sp", falcon_7b(), {.tp = 2}, 0, {ops_again, sp});
  l.add("recompute norms and activations, tp", falcon_7b(), {.tp = 2}, 0,
        {norms_and_activations_again});
}

void side_by_side_with_biases(List& l) {
  l.add("one rank, pairs of sequences", gpt_neox(), {}, 0, {pairs});
  l.add("tp", gpt_neox(), {.tp = 2});
  l.add("tp of 4, sp", gpt_neox(), {.tp = 4}, 0, {sp});
  l.add("tp in pieces", gpt_neox(), {.tp = 2}, 0, {in_pieces});
  l.add("cp, unfused", gpt_neox(), {.cp = 2}, 0, {unfused});
  l.add("pp, fsdp", gpt_neox(), {.pp = 2, .fsdp = 2}, 3);
  l.add("recompute all, dp, zero 2", gpt_neox(), {.dp = 2}, 2, {all_again});
  l.add("recompute ops, tp, sp", gpt_neox(), {.tp = 2}, 0, {ops_again, sp});
  l.add("dp, zero 2", phi(), {.dp = 2}, 2);
  l.add("tp of 4, sp", phi(), {.tp = 4}, 0, {sp});
  l.add("pp, zb-h1, tp", phi(), {.pp = 2, .tp = 2}, 0, {zb_h1});
  l.add("recompute all, fsdp", phi(), {.fsdp = 2}, 3, {all_again});
}

}  // namespace

void arrangements_of_layers(List& l) {
  norms_of_branches(l), one_norm_of_both_branches(l), side_by_side_with_biases(l);
}

}  // namespace plait::matrix_changes
