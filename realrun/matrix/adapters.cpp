// Which combinations with low-rank adapters are verified.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

namespace {

/// All four products; alpha / r = 2. Gradients are large enough to be clipped, here and below.
void adapters(MatrixCase& c) { c.workload.lora.rank = 2, c.workload.lora.alpha = 4; }
/// Those that PEFT has by default.
void of_q_and_v(MatrixCase& c) {
  c.workload.lora.rank = 2, c.workload.lora.alpha = 10;
  c.workload.lora.targets = {AdapterTarget::kQ, AdapterTarget::kV};
}
/// Of each matrix that Hugging Face's model has.
void of_each(MatrixCase& c) {
  c.workload.lora.rank = 4, c.workload.lora.alpha = 8;
  c.workload.lora.targets = {AdapterTarget::kQ,   AdapterTarget::kK,      AdapterTarget::kV,
                             AdapterTarget::kOut, AdapterTarget::kUpHalf, AdapterTarget::kGateHalf,
                             AdapterTarget::kDown};
}
/// What the branches of falcon give is small.
void larger(MatrixCase& c) { c.workload.lora.alpha = 8; }
/// Attention below the first one of them needs no gradient.
void of_down(MatrixCase& c) {
  c.workload.lora.rank = 3, c.workload.lora.alpha = 24;
  c.workload.lora.targets = {AdapterTarget::kDown};
}

/// Double quantised, or with fp32 scales.
void in_nf4(MatrixCase& c) { c.workload.lora.frozen = FrozenWeights::kNf4; }
void in_nf4_once(MatrixCase& c) { in_nf4(c), c.workload.lora.double_quantized = false; }

}  // namespace

void low_rank_adapters(List& l) {
  l.add("adapters, pairs of sequences", llama(), {}, 0, {adapters, pairs});
  l.add("adapters of q and v", llama(), {}, 0, {of_q_and_v});
  l.add("adapters, dp", llama(), {.dp = 2}, 0, {adapters});
  l.add("adapters, dp", gpt(), {.dp = 2}, 0, {adapters, small_buckets});
  l.add("adapters, zero 1", llama(), {.dp = 2}, 1, {adapters});
  l.add("adapters, zero 1, no overlap", gpt(), {.dp = 4}, 1, {adapters, no_overlap});
  l.add("adapters, zero 2", qwen(), {.dp = 2}, 2, {adapters});
  l.add("adapters, fsdp", llama(), {.fsdp = 2}, 3, {adapters});
  l.add("adapters, fsdp2, root", llama(), {.fsdp = 2}, 3, {adapters, as_fsdp2, root});
  l.add("adapters of each, tp", llama(), {.tp = 2}, 0, {of_each});
  l.add("adapters, tp", gpt(), {.tp = 2}, 0, {adapters});
  l.add("adapters, tp, sp", llama(), {.tp = 2}, 0, {adapters, sp});
  l.add("adapters, tp of 4, sp", gpt(), {.tp = 4}, 0, {adapters, sp});
  l.add("adapters, tp, sp, nothing hidden", llama(), {.tp = 2}, 0, {adapters, sp, waits});
  l.add("adapters, tp", falcon(), {.tp = 2}, 0, {adapters, larger});
  l.add("adapters, tp, sp", falcon(), {.tp = 2}, 0, {adapters, larger, sp});
  l.add("adapters, norms of heads, tp", qwen3(), {.tp = 2}, 0, {adapters});
  l.add("adapters, windows, tp, sp", gemma(), {.tp = 2}, 0, {adapters, sp});
  l.add("adapters of down", llama(), {.dp = 2}, 0, {of_down});
  l.add("adapters, cp", llama(), {.cp = 2}, 0, {adapters});
  l.add("adapters, ring, tp, sp", gpt(), {.tp = 2, .cp = 2}, 0, {adapters, ring, sp});
  l.add("adapters of each, pp", llama(), {.pp = 2}, 0, {of_each});
  l.add("adapters, pp", gpt(), {.pp = 2}, 0, {adapters});
  l.add("adapters, pp, interleaved", llama(), {.pp = 2}, 0, {adapters, deep, interleaved});
  l.add("adapters, pp, zb-h1, tp", llama(), {.pp = 2, .tp = 2}, 0, {adapters, zb_h1});
  l.add("adapters, pp, dualpipe, dp", llama(), {.pp = 2, .dp = 2}, 0, {adapters, deep, dualpipe});
  l.add("adapters, pp, dp, tp, sp, zero 1", llama(), {.pp = 2, .dp = 2, .tp = 2}, 1,
        {adapters, sp});
  l.add("adapters, pp, fsdp", gpt(), {.pp = 2, .fsdp = 2}, 3, {adapters});
  l.add("adapters, fsdp, hybrid, tp, sp", llama(), {.dp = 2, .fsdp = 2, .tp = 2}, 3, {of_each, sp});
  l.add("adapters, recompute all", llama(), {}, 0, {adapters, all_again});
  l.add("adapters of each, recompute all, tp, sp", llama(), {.tp = 2}, 0, {of_each, all_again, sp});
  l.add("adapters, recompute each second", llama(), {}, 0, {adapters, second_again});
  l.add("adapters, recompute attention, unfused", gpt(), {}, 0,
        {adapters, attention_again, unfused});
  l.add("adapters, recompute norms and activations, tp, sp", llama(), {.tp = 2}, 0,
        {adapters, norms_and_activations_again, sp});
  l.add("adapters, activations on the host", gpt(), {}, 0, {adapters, deep, activations_on_host});
  l.add("adapters, loss of 2", llama(), {.dp = 2}, 0, {adapters, loss_of_2});
}

void dropped_and_quantized_adapters(List& l) {
  l.add("adapters, dropout, pairs", llama(), {.dp = 2}, 0, {of_each, drop_inputs, pairs});
  l.add("adapters, dropout, tp", gpt(), {.tp = 2}, 0, {adapters, drop_inputs});
  l.add("adapters of each, dropout, tp, sp", llama(), {.tp = 2}, 0, {of_each, drop_inputs, sp});
  l.add("adapters, dropout, tp of 4, sp", gpt(), {.tp = 4}, 0, {adapters, drop_inputs, sp});
  l.add("adapters, dropout, fsdp", llama(), {.fsdp = 2}, 3, {of_each, drop_inputs});
  l.add("adapters, dropout, cp", llama(), {.cp = 2}, 0, {adapters, drop_inputs});
  l.add("adapters, dropout, recompute all, tp, sp", llama(), {.tp = 2}, 0,
        {of_each, drop_inputs, all_again, sp});
  l.add("adapters, dropout, pp, dp", llama(), {.pp = 2, .dp = 2}, 0, {adapters, drop_inputs});
  l.add("adapters, nf4, dp", llama(), {.dp = 2}, 0, {of_each, in_nf4});
  l.add("adapters, nf4, zero 1", gpt(), {.dp = 2}, 1, {adapters, in_nf4_once});
  l.add("adapters, nf4, zero 2, recompute all", llama(), {.dp = 2}, 2,
        {of_each, in_nf4, all_again});
  l.add("adapters, nf4, fsdp", llama(), {.fsdp = 2}, 3, {of_each, in_nf4});
  l.add("adapters, nf4, dropout, fsdp of 4, root, recompute all", llama(), {.fsdp = 4}, 3,
        {of_each, in_nf4, drop_inputs, as_fsdp2, root, all_again});
  l.add("adapters, nf4, pp, fsdp", gpt(), {.pp = 2, .fsdp = 2}, 3, {adapters, in_nf4});
  l.add("adapters, nf4, cp", qwen(), {.cp = 2}, 0, {adapters, in_nf4_once});
  l.add("adapters, nf4, dropout, pp, zb-h1", llama(), {.pp = 2}, 0,
        {adapters, in_nf4, drop_inputs, zb_h1});
  l.add("adapters, nf4, dropout, recompute norms and activations", llama(), {.dp = 2}, 1,
        {of_each, in_nf4, drop_inputs, norms_and_activations_again});
  l.add("adapters, nf4, dropout, activations on the host", gpt(), {}, 0,
        {adapters, deep, in_nf4, drop_inputs, activations_on_host});
}

}  // namespace plait::matrix_changes
