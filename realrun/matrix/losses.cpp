// Which combinations are verified with a loss that takes a microbatch's tokens in pieces, with one
// of all logits on every rank along tp, and with a head that is computed again like a layer.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

void losses_in_pieces(List& l) {
  l.add("loss of 4, one rank, pairs of sequences", llama(), {}, 0, {loss_of_4, pairs});
  l.add("loss of 2, dp, tied, zero 1", gpt(), {.dp = 2}, 1, {loss_of_2});
  l.add("loss of 4, zero 2", llama(), {.dp = 2}, 2, {loss_of_4});
  l.add("loss of 4, fsdp", llama(), {.fsdp = 2}, 3, {loss_of_4});
  l.add("loss of 2, fsdp, tied, recompute all", qwen(), {.fsdp = 2}, 3, {loss_of_2, all_again});
  l.add("loss of 2, cp", llama(), {.cp = 2}, 0, {loss_of_2});
  l.add("loss of 2, pp, gpipe", gpt(), {.pp = 2}, 0, {loss_of_2, gpipe});
  l.add("loss of 2, pp, dp, interleaved", llama(), {.pp = 2, .dp = 2}, 1,
        {deep, loss_of_2, interleaved});
  l.add("loss of 2, mtp of 2, fsdp", llama(), {.fsdp = 2}, 3, {mtp_of_2, loss_of_2});
  l.add("loss of 4, documents, dp", llama(), {.dp = 2}, 0, {documents, loss_of_4});
}

void whole_losses(List& l) {
  l.add("whole logits, tp", llama(), {.tp = 2}, 0, {whole_logits});
  l.add("whole logits, tp of 4, sp, nothing hidden, head again", gpt(), {.tp = 4}, 0,
        {whole_logits, sp, waits, head_again, pairs});
  l.add("whole logits, tp in pieces, cp", llama(), {.tp = 2, .cp = 2}, 0,
        {whole_logits, in_pieces});
  l.add("whole logits, pp, zb-h1, head again", qwen(), {.pp = 2, .tp = 2}, 0,
        {whole_logits, head_again, zb_h1});
  l.add("whole logits, mtp, zero 1", llama(), {.dp = 2, .tp = 2}, 1, {mtp, whole_logits});
  l.add("head again, fsdp, tied", gpt(), {.fsdp = 2}, 3, {head_again});
  l.add("head again, loss of 2", llama(), {}, 0, {head_again, loss_of_2});
}

}  // namespace plait::matrix_changes
