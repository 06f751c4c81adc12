// Which combinations are verified with norms of queries and keys.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

void norms_of_heads(List& l) {
  l.add("one rank, pairs of sequences", qwen3(), {}, 0, {pairs});
  l.add("dp, zero 1", qwen3(), {.dp = 2}, 1);
  l.add("fsdp", qwen3(), {.fsdp = 2}, 3);
  l.add("tp", qwen3(), {.tp = 2});
  l.add("tp, sp", qwen3(), {.tp = 2}, 0, {sp});
  l.add("tp in pieces", qwen3(), {.tp = 2}, 0, {in_pieces});
  l.add("dp, tp, sp, zero 2", qwen3(), {.dp = 2, .tp = 2}, 2, {sp});
  l.add("fsdp, tp", qwen3(), {.fsdp = 2, .tp = 2}, 3);
  l.add("cp, tp", qwen3(), {.tp = 2, .cp = 2});
  l.add("ring", qwen3(), {.cp = 2}, 0, {ring});
  l.add("ulysses, unfused", qwen3(), {.cp = 2}, 0, {ulysses, unfused, one_layer});
  l.add("pp, tp, zb-h1", qwen3(), {.pp = 2, .tp = 2}, 0, {zb_h1});
  l.add("recompute all, tp", qwen3(), {.tp = 2}, 0, {all_again});
  l.add("recompute attention, tp, sp", qwen3(), {.tp = 2}, 0, {attention_again, sp});
  l.add("recompute ops", qwen3(), {.dp = 2}, 0, {ops_again});
  l.add("recompute norms and activations, tp, sp", qwen3(), {.tp = 2}, 0,
        {norms_and_activations_again, sp});
  l.add("documents, state on the host", qwen3(), {.fsdp = 2}, 3, {documents, state_on_host});
  l.add("ep, tp, sp", qwen3_moe(), {.tp = 2, .ep = 2}, 0, {sp});
  l.add("ep, mtp, zero 1", qwen3_moe(), {.dp = 2, .ep = 2}, 1, {mtp});
}

}  // namespace plait::matrix_changes
