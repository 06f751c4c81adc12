// Which combinations with gated delta nets, and with gates of attention and of shared experts, are
// verified.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

namespace {

/// For stages and chunks: four layers.
void four_layers(MatrixCase& c) { c.model.layer_pattern = "gaga", c.model.layers = 4; }
/// In bf16 partial sums of tp are rounded, which each net's norms of small numbers more enlarges.
void one_net(MatrixCase& c) { c.model.layer_pattern = "Ga", c.model.layers = 2; }
/// Beside experts all of which are chosen, so that no rounding changes the choice.
void all_chosen(MatrixCase& c) {
  c.model.layer_pattern = "GE", c.model.layers = 2;
  c.model.experts_per_token = c.model.experts;
}
void with_dropout(MatrixCase& c) { c.model.dropout = 0.1; }
/// Attention alone, with its gate and its partial rotation.
void no_nets(MatrixCase& c) { c.model.layer_pattern = "", c.model.layers = 2; }

}  // namespace

void delta_nets(List& l) {
  l.add("one rank, pairs of sequences", delta_net(), {}, 0, {pairs});
  l.add("dp, zero 1", delta_net(), {.dp = 2}, 1);
  l.add("pp", delta_net(), {.pp = 2});
  l.add("one rank, dropout", qwen3_5(), {}, 0, {with_dropout});
  l.add("dp", qwen3_5(), {.dp = 2});
  l.add("dp, zero 2", qwen3_5(), {.dp = 2}, 2);
  l.add("fsdp", qwen3_5(), {.fsdp = 2}, 3);
  l.add("fsdp of 4, as FSDP2", qwen3_5(), {.fsdp = 4}, 3, {as_fsdp2});
  l.add("tp", qwen3_5(), {.tp = 2}, 0, {one_net});
  l.add("tp, sp", qwen3_5(), {.tp = 2}, 0, {one_net, sp});
  l.add("tp in pieces", qwen3_5(), {.tp = 2}, 0, {one_net, in_pieces});
  l.add("fsdp, tp, sp", qwen3_5(), {.fsdp = 2, .tp = 2}, 3, {one_net, sp});
  l.add("pp", qwen3_5(), {.pp = 2}, 0, {four_layers});
  l.add("pp, tp, sp, dp, zero 1", qwen3_5(), {.pp = 2, .dp = 2, .tp = 2}, 1, {one_net, sp});
  l.add("pp, interleaved", qwen3_5(), {.pp = 2}, 0, {four_layers, interleaved});
  l.add("pp, zb-h1, tp", qwen3_5(), {.pp = 2, .tp = 2}, 0, {one_net, zb_h1});
  l.add("pp, dualpipe, fsdp", qwen3_5(), {.pp = 2, .fsdp = 2}, 3, {four_layers, dualpipe});
  l.add("recompute all", qwen3_5(), {}, 0, {all_again});
  l.add("recompute all, tp, sp", qwen3_5(), {.tp = 2}, 0, {one_net, all_again, sp});
  l.add("recompute attention", qwen3_5(), {}, 0, {attention_again});
  l.add("recompute norms and activations", qwen3_5(), {}, 0, {norms_and_activations_again});
  l.add("state on the host", qwen3_5(), {.fsdp = 2}, 3, {state_on_host});
  l.add("activations on the host", qwen3_5(), {}, 0, {activations_on_host});
  l.add("a parameter server", qwen3_5(), {.dp = 2}, 0, {one_server});
  l.add("one rank", qwen3_next(), {});
  l.add("ep, zero 1", qwen3_next(), {.dp = 2, .ep = 2}, 1);
  l.add("tp, ep", qwen3_next(), {.tp = 2, .ep = 2}, 0, {all_chosen});
  l.add("tp, sp, ep", qwen3_next(), {.tp = 2, .ep = 2}, 0, {all_chosen, sp});
  l.add("ep, pp", qwen3_next(), {.pp = 2, .ep = 2});
  l.add("recompute all, fsdp", qwen3_next(), {.fsdp = 2}, 3, {all_again});
  l.add("recompute shared experts, tp, sp", qwen3_next(), {.tp = 2}, 0,
        {all_chosen, shared_experts_again, sp});
  l.add("a further token", qwen3_next(), {}, 0, {mtp});
  l.add("a further token, pp, ep", qwen3_next(), {.pp = 2, .ep = 2}, 0, {mtp});
  l.add("gates, cp", qwen3_next(), {.cp = 2}, 0, {no_nets});
  l.add("gates, recompute ops", qwen3_5(), {}, 0, {no_nets, ops_again});
  l.add("gates, tp, sp, recompute ops", qwen3_5(), {.tp = 2}, 0, {no_nets, sp, ops_again});
}

}  // namespace plait::matrix_changes
