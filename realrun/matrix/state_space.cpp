// Which combinations with state-space mixers are verified.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

namespace {

/// For stages and chunks: four layers.
void long_pattern(MatrixCase& c) { c.model.layer_pattern = "M*M-", c.model.layers = 4; }
/// In bf16 each mixer more rounds what the direct terms' gradients are sums of.
void short_pattern(MatrixCase& c) { c.model.layer_pattern = "M*", c.model.layers = 2; }
void dropped(MatrixCase& c) { c.model.dropout = 0.1; }

}  // namespace

void state_space_layers(List& l) {
  l.add("one rank, pairs of sequences", mamba2(), {}, 0, {pairs});
  l.add("dp, zero 1", mamba2(), {.dp = 2}, 1);
  l.add("pp", mamba2(), {.pp = 2});
  l.add("one rank, dropout", nemotron_h(), {}, 0, {dropped});
  l.add("dp", nemotron_h(), {.dp = 2});
  l.add("dp, zero 2", nemotron_h(), {.dp = 2}, 2);
  l.add("fsdp", nemotron_h(), {.fsdp = 2}, 3);
  l.add("fsdp of 4, as FSDP2", nemotron_h(), {.fsdp = 4}, 3, {as_fsdp2});
  l.add("tp", nemotron_h(), {.tp = 2});
  l.add("tp, sp", nemotron_h(), {.tp = 2}, 0, {sp});
  l.add("tp in pieces", nemotron_h(), {.tp = 2}, 0, {in_pieces});
  l.add("fsdp, tp, sp", nemotron_h(), {.fsdp = 2, .tp = 2}, 3, {sp});
  l.add("pp", nemotron_h(), {.pp = 2}, 0, {long_pattern});
  l.add("pp, tp, sp, dp, zero 1", nemotron_h(), {.pp = 2, .dp = 2, .tp = 2}, 1,
        {short_pattern, sp});
  l.add("pp, interleaved", nemotron_h(), {.pp = 2}, 0, {long_pattern, interleaved});
  l.add("pp, zb-h1, tp", nemotron_h(), {.pp = 2, .tp = 2}, 0, {short_pattern, zb_h1});
  l.add("pp, dualpipe, fsdp", nemotron_h(), {.pp = 2, .fsdp = 2}, 3, {long_pattern, dualpipe});
  l.add("recompute all", nemotron_h(), {}, 0, {all_again});
  l.add("recompute all, tp, sp", nemotron_h(), {.tp = 2}, 0, {all_again, sp});
  l.add("recompute attention", nemotron_h(), {}, 0, {attention_again});
  l.add("recompute norms and activations", nemotron_h(), {}, 0, {norms_and_activations_again});
  l.add("state on the host", nemotron_h(), {.fsdp = 2}, 3, {state_on_host});
  l.add("activations on the host", nemotron_h(), {}, 0, {activations_on_host});
  l.add("a parameter server", nemotron_h(), {.dp = 2}, 0, {one_server});
  l.add("one rank", granite(), {});
  l.add("tp, sp, zero 1", granite(), {.dp = 2, .tp = 2}, 1, {sp});
  l.add("pp of 2", granite(), {.pp = 2});
  l.add("recompute all, fsdp", granite(), {.fsdp = 2}, 3, {all_again});
  l.add("one rank", nemotron_moe(), {});
  l.add("ep, zero 1", nemotron_moe(), {.dp = 2, .ep = 2}, 1);
  l.add("ep, pp", nemotron_moe(), {.pp = 2, .ep = 2});
}

}  // namespace plait::matrix_changes
