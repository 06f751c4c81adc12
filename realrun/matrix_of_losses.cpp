// Which combinations are verified with a loss that takes a microbatch's tokens in pieces.

#include "realrun/matrix_changes.h"
#include "realrun/matrix_models.h"

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

}  // namespace plait::matrix_changes
