// Which combinations are verified with sliding windows.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

void dropout_of_branches(MatrixCase& c) { c.model.attention_dropout = 0; }
void dropout_of_attention(MatrixCase& c) {
  c.model.attention_dropout = c.model.dropout, c.model.dropout = 0;
}

void sliding_windows(List& l) {
  l.add("one rank, pairs of sequences", gemma(), {}, 0, {pairs});
  l.add("unfused, dp, zero 1", gemma(), {.dp = 2}, 1, {unfused});
  l.add("dropout of branches, dp, zero 2", gpt(), {.dp = 2}, 2, {window_of_3, dropout_of_branches});
  l.add("dropout of attention, unfused, tp, sp", gpt(), {.tp = 2}, 0,
        {window_of_3, unfused, sp, dropout_of_attention});
  l.add("fsdp", gemma(), {.fsdp = 2}, 3);
  l.add("tp", mistral(), {.tp = 2});
  l.add("fsdp, tp, sp", gemma(), {.fsdp = 2, .tp = 2}, 3, {sp});
  l.add("tp in pieces", gemma(), {.tp = 2}, 0, {in_pieces});
  l.add("cp", mistral(), {.cp = 2});
  l.add("cp of 4", gemma(), {.cp = 4});
  l.add("cp, tp, unfused", gemma(), {.tp = 2, .cp = 2}, 0, {unfused});
  l.add("ulysses", gemma(), {.cp = 2}, 0, {ulysses});
  l.add("pp, zb-h1", gemma(), {.pp = 2}, 0, {zb_h1});
  l.add("pp, interleaved", gemma(), {.pp = 2}, 0, {deep, interleaved});
  l.add("recompute all, cp", gemma(), {.cp = 2}, 0, {all_again});
  l.add("recompute attention, tp, sp", gemma(), {.tp = 2}, 0, {attention_again, sp});
  l.add("recompute ops", gemma(), {.dp = 2}, 0, {ops_again});
  l.add("recompute ops, tp", gemma(), {.tp = 2}, 0, {ops_again});
  l.add("recompute one layer", gemma(), {.dp = 2}, 0, {one_again});
  l.add("documents", gemma(), {.dp = 2}, 0, {documents});
  l.add("documents, cp", mistral(), {.cp = 2}, 0, {documents});
  l.add("documents, unfused, ulysses", mistral(), {.cp = 2}, 0, {documents, unfused, ulysses});
  l.add("activations on the host", gemma(), {.dp = 2}, 0, {activations_on_host});
  l.add("ep, tp, sp", gpt_oss(), {.tp = 2, .ep = 2}, 0, {sp});
  l.add("ep, mtp, zero 1", gpt_oss(), {.dp = 2, .ep = 2}, 1, {mtp});
  l.add("ep, in turns", gpt_oss(), {.ep = 2}, 0, {in_turns});
}

}  // namespace plait::matrix_changes
