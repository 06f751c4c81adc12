// Which combinations with modules that predict further tokens are verified.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

// NOLINTNEXTLINE(readability-function-size): a table
void further_tokens(List& l) {
  l.add("mtp, one rank, pairs of sequences", llama(), {}, 0, {mtp, pairs});
  l.add("mtp of 2, dp, small buckets", llama(), {.dp = 2}, 0, {mtp_of_2, small_buckets});
  l.add("mtp of 2, zero 1", qwen(), {.dp = 2}, 1, {mtp_of_2});
  l.add("mtp of 2, zero 2", llama(), {.dp = 2}, 2, {mtp_of_2});
  l.add("mtp of 2, fsdp", llama(), {.fsdp = 2}, 3, {mtp_of_2});
  l.add("mtp, fsdp, reduced in bf16, hybrid", qwen(), {.dp = 2, .fsdp = 2}, 3, {mtp, bf16_wire});
  l.add("mtp, tp", llama(), {.tp = 2}, 0, {mtp});
  l.add("mtp of 2, tp, sp", plain(), {.tp = 2}, 0, {mtp_of_2, sp});
  l.add("mtp, tp, sp, nothing hidden", llama(), {.tp = 2}, 0, {mtp, sp, waits});
  l.add("mtp, tp of 4 in pieces, fsdp", plain(), {.fsdp = 2, .tp = 4}, 3, {mtp, in_pieces});
  l.add("mtp, cp", llama(), {.cp = 2}, 0, {mtp});
  l.add("mtp, ulysses", llama(), {.cp = 2}, 0, {mtp, ulysses});
  l.add("mtp, ring, tp, sp", qwen(), {.tp = 2, .cp = 2}, 0, {mtp, ring, sp});
  l.add("mtp, pp", llama(), {.pp = 2}, 0, {mtp});
  l.add("mtp, pp, tied", qwen(), {.pp = 2}, 0, {mtp});
  l.add("mtp, pp, dp, zero 1, no overlap", llama(), {.pp = 2, .dp = 2}, 1, {mtp, no_overlap});
  l.add("mtp, pp, dp, tied, zero 1", qwen(), {.pp = 2, .dp = 2}, 1, {mtp});
  l.add("mtp, pp, zero 2", llama(), {.pp = 2, .dp = 2}, 2, {mtp});
  l.add("mtp, pp, fsdp, tp, sp", plain(), {.pp = 2, .fsdp = 2, .tp = 2}, 3, {mtp, sp});
  l.add("mtp of 2, pp of 4", llama(), {.pp = 4}, 0, {deep, mtp_of_2});
  l.add("mtp, pp of 4, 0 + 1 + 1 + 0 layers", llama(), {.pp = 4}, 0, {mtp, bare_ends});
  l.add("mtp, pp, interleaved, recompute some", llama(), {.pp = 2}, 0,
        {deep, mtp, interleaved, one_again});
  l.add("mtp of 2, pp, recompute each second", qwen(), {.pp = 2}, 0,
        {deep, mtp_of_2, second_again});
  l.add("mtp of 2, pp, zb-h1, tp, sp", llama(), {.pp = 2, .tp = 2}, 0, {mtp_of_2, zb_h1, sp});
  l.add("mtp of 2, pp, zb-h2, zero 2", llama(), {.pp = 2, .dp = 2}, 2, {mtp_of_2, zb_h2});
  l.add("mtp, pp, zb-v, fsdp, recompute all", llama(), {.pp = 2, .fsdp = 2}, 3,
        {deep, mtp, zb_v, all_again});
  l.add("mtp, pp, dualpipe, tied", qwen(), {.pp = 2}, 0, {deep, mtp, dualpipe});
  l.add("mtp, pp, dualpipe, zero 2", llama(), {.pp = 2, .dp = 2}, 2, {deep, mtp, dualpipe});
  l.add("mtp of 2, recompute all, tp", llama(), {.tp = 2}, 0, {mtp_of_2, all_again});
  l.add("mtp, one rank", deepseek_v3(), {}, 0, {mtp});
  l.add("mtp, ep, dp, zero 1", deepseek_v3(), {.dp = 2, .ep = 2}, 1, {mtp});
  l.add("mtp, ep of 4, zero 3", deepseek(), {.ep = 4}, 3, {mtp});
  l.add("mtp, ep, tp, sp", all_experts(), {.tp = 2, .ep = 2}, 0, {mtp, sp});
  l.add("mtp, ep, pp of 3", deepseek(), {.pp = 3, .ep = 2}, 1, {mtp, batch_of_6});
  l.add("mtp, ep, pp, dualpipe-v, zero 1, recompute from latents", deepseek_v3(),
        {.pp = 2, .ep = 2}, 1, {deep, mtp, dualpipe_v, latents_again});
  l.add("mtp, ep, pp, dualpipe, zero 1", deepseek_v3(), {.pp = 2, .ep = 2}, 1,
        {deep, mtp, dualpipe});
  l.add("mtp, Adam on the host, pp, dp, zero 1", llama(), {.pp = 2, .dp = 2}, 1,
        {mtp, adam_on_host});
  l.add("mtp, state on the host, fsdp, pp", llama(), {.pp = 2, .fsdp = 2}, 3, {mtp, state_on_host});
  l.add("mtp of 2, activations on the host", llama(), {}, 0, {mtp_of_2, activations_on_host});
  l.add("mtp, served by two", llama(), {.dp = 4}, 0, {mtp, two_servers});
  l.add("mtp, ZeRO++", llama(), {.dp = 2, .fsdp = 2}, 3, {mtp, secondary, qwz, qgz});
}

}  // namespace plait::matrix_changes
