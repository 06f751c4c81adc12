// Which combinations are verified of parameters in fp32 that products read 16-bit casts of, and of
// a loss that reads logits in 16 bits.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

namespace {

void casts(MatrixCase& c) {
  Precision& p = c.workload.precision;
  p.weights = p.matmul = p.gradients = p.reduction = p.master = p.moments = DType::kFp32;
  p.autocast = DType::kBf16;
}
void little_adapters(MatrixCase& c) { c.workload.lora.rank = 2, c.workload.lora.alpha = 4; }
void little_adapters_of_each(MatrixCase& c) {
  little_adapters(c);
  c.workload.lora.targets = {AdapterTarget::kQ,   AdapterTarget::kK,      AdapterTarget::kV,
                             AdapterTarget::kOut, AdapterTarget::kUpHalf, AdapterTarget::kGateHalf,
                             AdapterTarget::kDown};
}
void little_adapters_dropped(MatrixCase& c) { little_adapters(c), drop_inputs(c); }
void narrow_loss(MatrixCase& c) { c.workload.precision.narrow_logits = true; }

}  // namespace

void autocast(List& l) {
  l.add("autocast, pairs of sequences", llama(), {}, 0, {casts, pairs});
  l.add("autocast, dp", gpt(), {.dp = 2}, 0, {casts});
  l.add("autocast, dp, small buckets", llama(), {.dp = 4}, 0, {casts, small_buckets});
  l.add("autocast, zero 1", llama(), {.dp = 2}, 1, {casts});
  l.add("autocast, zero 1, no overlap", gpt(), {.dp = 2}, 1, {casts, no_overlap});
  l.add("autocast, zero 2", qwen(), {.dp = 2}, 2, {casts});
  l.add("autocast, zero 2, one microbatch", gpt(), {.dp = 2}, 2, {casts, one_microbatch});
  l.add("autocast, tp", llama(), {.tp = 2}, 0, {casts});
  l.add("autocast, tp of 4", gpt(), {.tp = 4}, 0, {casts});
  l.add("autocast, tp, sp", llama(), {.tp = 2}, 0, {casts, sp});
  l.add("autocast, tp, sp, nothing hidden", gpt(), {.tp = 2}, 0, {casts, sp, waits});
  l.add("autocast, tp", falcon(), {.tp = 2}, 0, {casts});
  l.add("autocast, one norm, tp, sp", falcon_7b(), {.tp = 2}, 0, {casts, sp});
  l.add("autocast, branches with norms", gemma(), {.dp = 2}, 0, {casts});
  l.add("autocast, norms of branches and heads", olmo_2(), {.dp = 2}, 0, {casts});
  l.add("autocast, an encoder, dp", bert(), {.dp = 2}, 0, {casts});
  l.add("autocast, latents, tp", latent(), {.tp = 2}, 0, {casts});
  l.add("autocast, unfused, recompute attention", gpt(), {}, 0, {casts, unfused, attention_again});
  l.add("autocast, recompute all, dp", llama(), {.dp = 2}, 0, {casts, all_again});
  l.add("autocast, recompute all, tp, sp", gpt(), {.tp = 2}, 0, {casts, all_again, sp});
  l.add("autocast, recompute each second", llama(), {}, 0, {casts, second_again});
  l.add("autocast, recompute ops", llama(), {.dp = 2}, 0, {casts, ops_again});
  l.add("autocast, recompute norms and activations", gpt(), {.dp = 2}, 1,
        {casts, norms_and_activations_again});
  l.add("autocast, cp", llama(), {.cp = 2}, 0, {casts});
  l.add("autocast, ulysses, zero 1", gpt(), {.dp = 2, .cp = 2}, 1, {casts, ulysses});
  l.add("autocast, ring", qwen(), {.cp = 2}, 0, {casts, ring});
  l.add("autocast, pp, recompute all", llama(), {.pp = 2}, 0, {casts, all_again});
  l.add("autocast, pp, dp, tied", gpt(), {.pp = 2, .dp = 2}, 0, {casts});
  l.add("autocast, adapters, dp", llama(), {.dp = 2}, 0, {casts, little_adapters});
  l.add("autocast, adapters, recompute all", llama(), {}, 0, {casts, little_adapters, all_again});
  l.add("autocast, adapters of each, tp", llama(), {.tp = 2}, 0, {casts, little_adapters_of_each});
  l.add("autocast, adapters, tp, sp", llama(), {.tp = 2}, 0, {casts, little_adapters, sp});
  l.add("autocast, adapters, dropout, tp", gpt(), {.tp = 2}, 0, {casts, little_adapters_dropped});
  l.add("autocast, adapters of each, dropout, recompute all, tp, sp", llama(), {.tp = 2}, 0,
        {casts, little_adapters_of_each, drop_inputs, all_again, sp});
  l.add("autocast, Adam on the host, zero 1", llama(), {.dp = 2}, 1, {casts, adam_on_host});
}

void narrow_losses(List& l) {
  l.add("narrow logits, dp", llama(), {.dp = 2}, 0, {narrow_loss});
  l.add("narrow logits, tp", llama(), {.tp = 2}, 0, {narrow_loss});
  l.add("narrow logits, tied, tp of 4, sp", gpt(), {.tp = 4}, 0, {narrow_loss, sp});
  l.add("narrow logits, whole, tp", llama(), {.tp = 2}, 0, {narrow_loss, whole_logits});
  l.add("narrow logits, loss of 2", llama(), {.dp = 2}, 0, {narrow_loss, loss_of_2});
  l.add("narrow logits, head again, fsdp", llama(), {.fsdp = 2}, 3, {narrow_loss, head_again});
  l.add("narrow logits, pp, zb-h1, tp", llama(), {.pp = 2, .tp = 2}, 0, {narrow_loss, zb_h1});
}

}  // namespace plait::matrix_changes
