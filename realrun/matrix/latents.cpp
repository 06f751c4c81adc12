// Which combinations with latent attention are verified.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

void latent_attention(List& l) {
  l.add("one rank, pairs of sequences", latent(), {}, 0, {pairs});
  l.add("unfused", latent_keys(), {}, 0, {unfused});
  l.add("dp", latent(), {.dp = 2});
  l.add("fsdp", latent_keys(), {.fsdp = 2}, 3);
  l.add("tp", latent(), {.tp = 2});
  l.add("tp", latent_keys(), {.tp = 2});
  l.add("tp of 4, sp", latent(), {.tp = 4}, 0, {sp, one_layer});
  l.add("tp, sp, unfused", latent_keys(), {.tp = 2}, 0, {sp, unfused});
  l.add("tp in pieces", latent(), {.tp = 2}, 0, {in_pieces});
  l.add("dp, tp, sp, zero 2", latent(), {.dp = 2, .tp = 2}, 2, {sp});
  l.add("cp, tp, sp", latent(), {.tp = 2, .cp = 2}, 0, {sp, one_layer});
  l.add("ulysses", latent_keys(), {.cp = 4}, 0, {ulysses});
  l.add("ring, tp", latent(), {.tp = 2, .cp = 2}, 0, {ring, one_layer});
  l.add("recompute all, tp, sp", latent(), {.tp = 2}, 0, {all_again, sp});
  l.add("recompute attention, unfused", latent(), {}, 0, {attention_again, unfused});
  l.add("recompute ops, tp", latent(), {.tp = 2}, 0, {ops_again});
  l.add("recompute from latents", latent(), {}, 0, {latents_again});
  l.add("recompute from latents, tp, sp", latent_keys(), {.tp = 2}, 0, {latents_again, sp});
  l.add("recompute from latents, tp in pieces", latent(), {.tp = 2}, 0, {latents_again, in_pieces});
  l.add("recompute from latents, cp", latent(), {.cp = 2}, 0, {latents_again});
  l.add("recompute from latents, ulysses, tp", latent(), {.tp = 2, .cp = 2}, 0,
        {latents_again, ulysses});
  l.add("recompute from latents, ring, fsdp", latent(), {.fsdp = 2, .cp = 2}, 3,
        {latents_again, ring});
  l.add("recompute from latents, pp, zb-h1, unfused", latent(), {.pp = 2}, 0,
        {latents_again, zb_h1, unfused});
  l.add("pp, tp, sp", latent(), {.pp = 2, .tp = 2}, 0, {sp});
  l.add("pp, zb-h1, tp", latent(), {.pp = 2, .tp = 2}, 0, {zb_h1});
  l.add("one rank", deepseek_v3(), {});
  l.add("ep, dp, zero 1", deepseek_v3(), {.dp = 2, .ep = 2}, 1);
  l.add("ep of 4, zero 3", deepseek_v3(), {.ep = 4}, 3);
  l.add("ep, pp of 3, recompute all", deepseek_v3(), {.pp = 3, .ep = 2}, 0,
        {all_again, batch_of_6});
  l.add("ep, pp, dualpipe, zero 1, recompute from latents", deepseek_v3(), {.pp = 2, .ep = 2}, 1,
        {deep, dualpipe, latents_again});
  l.add("ep, pp, dualpipe-v, zero 1, recompute from latents", deepseek_v3(), {.pp = 2, .ep = 2}, 1,
        {deep, dualpipe_v, latents_again});
  l.add("ep, pp, interleaved, tokens dropped", deepseek_v3(), {.pp = 2, .ep = 2}, 0,
        {deep, interleaved, half_of_slots});
}

}  // namespace plait::matrix_changes
