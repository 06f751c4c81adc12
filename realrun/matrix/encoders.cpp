// Which combinations are verified with bidirectional encoders, and with parts of them that other
// models have.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

namespace {

/// As BLOOM has it.
void embedding_normed(MatrixCase& c) { c.model.embedding_norm = true; }

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
void encoders(List& l) {
  l.add("one rank, pairs of sequences", bert(), {}, 0, {pairs});
  l.add("dp, small buckets", bert(), {.dp = 4}, 0, {small_buckets});
  l.add("dp, zero 1", megatron_bert(), {.dp = 2}, 1);
  l.add("dp, zero 2", bert(), {.dp = 2}, 2);
  l.add("fsdp", bert(), {.fsdp = 2}, 3);
  l.add("fsdp1, root", megatron_bert(), {.fsdp = 4}, 3, {as_fsdp1, root});
  l.add("tp", bert(), {.tp = 2});
  l.add("tp of 4, unfused", megatron_bert(), {.tp = 4}, 0, {unfused});
  l.add("tp, sp", bert(), {.tp = 2}, 0, {sp});
  l.add("tp of 4, sp", megatron_bert(), {.tp = 4}, 0, {sp});
  l.add("tp, sp, nothing hidden", bert(), {.tp = 2}, 0, {sp, waits});
  l.add("tp in pieces", bert(), {.tp = 2}, 0, {in_pieces});
  l.add("whole logits, tp, sp", bert(), {.tp = 2}, 0, {whole_logits, sp});
  l.add("dp, tp, sp, zero 2", megatron_bert(), {.dp = 2, .tp = 2}, 2, {sp});
  l.add("fsdp, tp, sp", bert(), {.fsdp = 2, .tp = 2}, 3, {sp});
  l.add("cp", bert(), {.cp = 2});
  l.add("cp, unfused", megatron_bert(), {.cp = 2}, 0, {unfused});
  l.add("cp of 4, tp, sp", megatron_bert(), {.tp = 2, .cp = 4}, 0, {sp});
  l.add("ulysses", bert(), {.cp = 2}, 0, {ulysses});
  l.add("ring of 4", bert(), {.cp = 4}, 0, {ring});
  l.add("ring, fsdp", megatron_bert(), {.fsdp = 2, .cp = 2}, 3, {ring});
  l.add("ulysses in ring", megatron_bert(), {.cp = 4}, 0, {hybrid});
  l.add("pp", bert(), {.pp = 2});
  l.add("pp of 4", megatron_bert(), {.pp = 4}, 0, {deep});
  l.add("pp, interleaved", bert(), {.pp = 2}, 0, {deep, interleaved});
  l.add("pp, zb-h1, tp, sp", bert(), {.pp = 2, .tp = 2}, 0, {sp, zb_h1});
  l.add("pp, dp, tp, zero 1", bert(), {.pp = 2, .dp = 2, .tp = 2}, 1);
  l.add("pp, dualpipe, dp, zero 2", bert(), {.pp = 2, .dp = 2}, 2, {dualpipe});
  l.add("recompute all, head again", bert(), {}, 0, {head_again});
  l.add("recompute all, tp, sp", bert(), {.tp = 2}, 0, {all_again, sp});
  l.add("recompute attention, unfused", bert(), {.dp = 2}, 0, {attention_again, unfused});
  l.add("recompute ops", bert(), {.dp = 2}, 0, {ops_again});
  l.add("recompute norms and activations, tp, sp", bert(), {.tp = 2}, 0,
        {norms_and_activations_again, sp});
  l.add("loss of 2, fsdp", bert(), {.fsdp = 2}, 3, {loss_of_2});
  l.add("activations on the host", bert(), {.dp = 2}, 0, {activations_on_host});
  l.add("state on the host, zero 3", megatron_bert(), {.fsdp = 2}, 3, {state_on_host});
  l.add("two of four serve", bert(), {.dp = 4}, 0, {two_servers});
  l.add("untied, pp, zb-v, fsdp, tp", bert(), {.pp = 2, .fsdp = 2, .tp = 2}, 3,
        {untied, deep, zb_v});
  l.add("norm of the embedding, tp", llama(), {.tp = 2}, 0, {embedding_normed});
  l.add("norm of the embedding, fsdp, tp, sp", llama(), {.fsdp = 2, .tp = 2}, 3,
        {embedding_normed, sp});
}

}  // namespace plait::matrix_changes
