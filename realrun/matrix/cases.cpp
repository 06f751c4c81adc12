// Which combinations are verified.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/matrix.h"
#include "realrun/matrix/models.h"

namespace plait {
namespace {

using namespace matrix_models;
using namespace matrix_changes;

void data_parallel(List& l) {
  l.add("one rank, pairs of sequences", llama(), {}, 0, {pairs});
  l.add("dp", llama(), {.dp = 2});
  l.add("dp, one microbatch", gpt(), {.dp = 2}, 0, {one_microbatch});
  l.add("dp, small buckets", llama(), {.dp = 4}, 0, {small_buckets});
  l.add("dp of 3", qwen(), {.dp = 3}, 0, {batch_of_6});
  l.add("dp of 5, no overlap", falcon(), {.dp = 5}, 0, {batch_of_10, no_overlap});
  l.add("dp of 8", relu(), {.dp = 8});
  l.add("dp, reduced in bf16", llama(), {.dp = 4}, 0, {bf16_wire, small_buckets});
  l.add("zero 1", gpt(), {.dp = 2}, 1);
  l.add("zero 1, reduced in bf16", llama(), {.dp = 4}, 1, {bf16_wire});
  l.add("zero 1, small buckets", llama(), {.dp = 2}, 1, {small_buckets});
  l.add("zero 1, no overlap", gpt(), {.dp = 4}, 1, {no_overlap});
  l.add("zero 1, hybrid", llama(), {.dp = 2, .fsdp = 2}, 1);
  l.add("zero 1, hybrid, small buckets", llama(), {.dp = 2, .fsdp = 2}, 1, {small_buckets});
  l.add("zero 2", llama(), {.dp = 2}, 2);
  l.add("zero 2, reduced in bf16", llama(), {.dp = 2}, 2, {bf16_wire});
  l.add("zero 2, no overlap", plain(), {.dp = 2}, 2, {no_overlap});
  l.add("zero 2, hybrid", gpt(), {.dp = 2, .fsdp = 2}, 2);
  l.add("zero 3", qwen(), {.dp = 2}, 3);
  l.add("fsdp", llama(), {.fsdp = 4}, 3);
  l.add("fsdp", gpt(), {.fsdp = 2}, 3);
  l.add("fsdp of 7", llama(), {.fsdp = 7}, 3, {batch_of_7});
  l.add("fsdp, kept after forward", llama(), {.fsdp = 2}, 3, {kept});
  l.add("fsdp, two ahead", falcon(), {.fsdp = 2}, 3, {two_ahead});
  l.add("fsdp, none ahead, weight shard", llama(), {.fsdp = 2}, 3, {none_ahead, weight_shard});
  l.add("fsdp, reduced in bf16, hybrid", qwen(), {.dp = 2, .fsdp = 2}, 3, {bf16_wire});
  l.add("fsdp, hybrid", llama(), {.dp = 2, .fsdp = 2}, 3);
  l.add("fsdp, hybrid on 8", gpt(), {.dp = 2, .fsdp = 4}, 3, {unclipped});
}

/// What frameworks copy around the collectives of shards.
void copied_shards(List& l) {
  l.add("fsdp1", llama(), {.fsdp = 2}, 3, {as_fsdp1});
  l.add("fsdp1, reduced in fp32, hybrid", gpt(), {.dp = 2, .fsdp = 2}, 3, {as_fsdp1});
  l.add("fsdp2", llama(), {.fsdp = 4}, 3, {as_fsdp2});
  l.add("fsdp1, root", gpt(), {.fsdp = 2}, 3, {as_fsdp1, root});
  l.add("fsdp2, root, last layer kept, recompute ops", llama(), {.fsdp = 2}, 3,
        {as_fsdp2, root, last_layer_kept, unread_kept});
  l.add("fsdp2, root, hybrid, sp", llama(), {.dp = 2, .fsdp = 2, .tp = 2}, 3, {as_fsdp2, root, sp});
  l.add("fsdp2, tied, kept after forward", gpt(), {.fsdp = 2}, 3, {as_fsdp2, kept});
  l.add("fsdp2, two ahead, reduced in bf16", qwen(), {.fsdp = 2}, 3,
        {as_fsdp2, two_ahead, bf16_wire});
  l.add("fsdp2, none ahead, recompute all", llama(), {.fsdp = 2}, 3,
        {as_fsdp2, none_ahead, all_again});
  l.add("fsdp2, hybrid, sp", llama(), {.dp = 2, .fsdp = 2, .tp = 2}, 3, {as_fsdp2, sp});
  l.add("fsdp2, pp", llama(), {.pp = 2, .fsdp = 2}, 3, {as_fsdp2});
  l.add("fsdp2, pp, reduced once", llama(), {.pp = 2, .fsdp = 2}, 3, {as_fsdp2, reduced_early});
  l.add("fsdp, kept, interleaved, reduced once", llama(), {.pp = 2, .fsdp = 2}, 3,
        {deep, kept, reduced_once, interleaved});
  l.add("fsdp1, reduced once", llama(), {.fsdp = 4}, 3, {as_fsdp1, reduced_once, bf16_wire});
  l.add("fsdp2, reduced once, reduced in bf16", qwen(), {.fsdp = 2}, 3,
        {as_fsdp2, reduced_once, bf16_wire});
  l.add("zero 2, tied, reduced once", gpt(), {.dp = 2}, 2, {reduced_once});
  l.add("zero 2, sp, zb-h1, reduced once", llama(), {.pp = 2, .dp = 2, .tp = 2}, 2,
        {sp, zb_h1, reduced_once});
  l.add("fsdp2, experts", mixtral(), {.fsdp = 2, .ep = 2}, 3, {as_fsdp2});
  l.add("fsdp2, state on host", llama(), {.fsdp = 2}, 3, {as_fsdp2, state_on_host});
  l.add("deepspeed", llama(), {.fsdp = 2}, 3, {as_deepspeed, weight_shard});
  l.add("deepspeed, ZeRO++", llama(), {.dp = 2, .fsdp = 4}, 3, {as_deepspeed, secondary, qwz, qgz});
}

void zero_plus_plus(List& l) {
  l.add("hpZ", llama(), {.dp = 2, .fsdp = 2}, 3, {secondary});
  l.add("hpZ on 8", gpt(), {.dp = 2, .fsdp = 4}, 3, {secondary});
  l.add("hpZ, weight shard, kept after forward", qwen(), {.dp = 2, .fsdp = 2}, 3,
        {secondary, weight_shard, kept});
  l.add("hpZ, tp, recompute all", falcon(), {.dp = 2, .fsdp = 2, .tp = 2}, 3,
        {secondary, all_again});
  l.add("hpZ, pp", llama(), {.pp = 2, .dp = 2, .fsdp = 2}, 3, {secondary});
  l.add("hpZ, ring", plain(), {.dp = 2, .fsdp = 2, .cp = 2}, 3, {secondary, ring});
  l.add("qwZ", llama(), {.fsdp = 4}, 3, {qwz});
  l.add("qgZ", llama(), {.fsdp = 4}, 3, {qgz});
  l.add("qwZ, hpZ", gpt(), {.dp = 2, .fsdp = 2}, 3, {secondary, qwz});
  l.add("ZeRO++", llama(), {.dp = 2, .fsdp = 4}, 3, {secondary, qwz, qgz});
}

void tensor_parallel(List& l) {
  l.add("tp", llama(), {.tp = 2});
  l.add("tp of 4", gpt(), {.tp = 4});
  l.add("tp, unfused", llama(), {.tp = 2}, 0, {unfused});
  l.add("tp", falcon(), {.tp = 2});
  l.add("tp", qwen(), {.tp = 2});
  l.add("tp, sp", llama(), {.tp = 2}, 0, {sp});
  l.add("tp of 4, sp", gpt(), {.tp = 4}, 0, {sp});
  l.add("tp, sp", falcon(), {.tp = 2}, 0, {sp});
  l.add("tp of 4, sp, pairs", plain(), {.tp = 4}, 0, {sp, pairs});
}

void tensor_overlap(List& l) {
  l.add("tp, nothing hidden", llama(), {.tp = 2}, 0, {waits});
  l.add("tp of 4, sp, nothing hidden", gpt(), {.tp = 4}, 0, {sp, waits});
  l.add("tp, sp, nothing hidden, recompute ops", llama(), {.tp = 2}, 0, {sp, waits, ops_again});
  l.add("tp, sp, nothing hidden, pp, zb-h1", qwen(), {.pp = 2, .tp = 2}, 0, {sp, waits, zb_h1});
  l.add("tp in pieces", llama(), {.tp = 2}, 0, {in_pieces});
  l.add("tp of 4 in pieces", gpt(), {.tp = 4}, 0, {in_pieces});
  l.add("tp in pieces, pairs", falcon(), {.tp = 2}, 0, {in_pieces, pairs});
  l.add("tp in pieces, fsdp", plain(), {.fsdp = 2, .tp = 4}, 3, {in_pieces});
  l.add("tp in pieces, recompute all", llama(), {.tp = 2}, 0, {in_pieces, all_again});
  l.add("tp in pieces, ring, recompute attention", gpt(), {.tp = 2, .cp = 2}, 0,
        {in_pieces, ring, attention_again});
  l.add("tp in pieces, pp, zb-h1", qwen(), {.pp = 2, .tp = 2}, 0, {in_pieces, zb_h1});
}

void context_parallel(List& l) {
  l.add("cp", llama(), {.cp = 2});
  l.add("cp of 4", llama(), {.cp = 4});
  l.add("cp", gpt(), {.cp = 2});
  l.add("cp of 4, pairs", gpt(), {.cp = 4}, 0, {pairs});
  l.add("cp, unfused", plain(), {.cp = 2}, 0, {unfused});
  l.add("cp, tp", qwen(), {.tp = 2, .cp = 2});
  l.add("cp, tp, sp", gpt(), {.tp = 2, .cp = 2}, 0, {sp});
  l.add("cp of 4, tp, sp", llama(), {.tp = 2, .cp = 4}, 0, {sp});
  l.add("cp, tp, sp", falcon(), {.tp = 2, .cp = 2}, 0, {sp});
  l.add("cp, zero 1", llama(), {.cp = 2}, 1);
  l.add("cp, dp, zero 1, reduced in bf16", gpt(), {.dp = 2, .cp = 2}, 1, {bf16_wire});
  l.add("cp, dp, zero 2", llama(), {.dp = 2, .cp = 2}, 2);
  l.add("cp, fsdp", llama(), {.fsdp = 2, .cp = 2}, 3);
  l.add("cp, fsdp, hybrid", qwen(), {.dp = 2, .fsdp = 2, .cp = 2}, 3);
  l.add("cp, recompute attention", gpt(), {.cp = 2}, 0, {attention_again});
  l.add("cp, recompute attention, unfused", gpt(), {.cp = 2}, 0, {attention_again, unfused});
  l.add("cp, recompute all, tp, sp", llama(), {.tp = 2, .cp = 2}, 0, {all_again, sp});
  l.add("cp, pp, tp", llama(), {.pp = 2, .tp = 2, .cp = 2});
  l.add("cp, pp, interleaved, zero 1", gpt(), {.pp = 2, .dp = 2, .cp = 2}, 1, {deep, interleaved});
}

void context_kinds(List& l) {
  l.add("ulysses", llama(), {.cp = 2}, 0, {ulysses});
  l.add("ulysses of 4, kv heads repeated", llama(), {.cp = 4}, 0, {ulysses});
  l.add("ulysses of 4, pairs", gpt(), {.cp = 4}, 0, {ulysses, pairs});
  l.add("ulysses, unfused", plain(), {.cp = 2}, 0, {ulysses, unfused});
  l.add("ulysses, tp, sp", gpt(), {.tp = 2, .cp = 2}, 0, {ulysses, sp});
  l.add("ulysses, tp, kv heads repeated", qwen(), {.tp = 2, .cp = 2}, 0, {ulysses});
  l.add("ulysses, fsdp", falcon(), {.fsdp = 2, .cp = 2}, 3, {ulysses});
  l.add("ulysses, dp, zero 1", llama(), {.dp = 2, .cp = 2}, 1, {ulysses});
  l.add("ulysses, pp, recompute all", gpt(), {.pp = 2, .cp = 2}, 0, {ulysses, all_again});
  l.add("ulysses, recompute attention, unfused", gpt(), {.cp = 2}, 0,
        {ulysses, attention_again, unfused});
  l.add("ulysses, recompute ops", llama(), {.cp = 2}, 0, {ulysses, ops_again});
  l.add("ring", llama(), {.cp = 2}, 0, {ring});
  l.add("ring of 4", gpt(), {.cp = 4}, 0, {ring});
  l.add("ring of 4, pairs", qwen(), {.cp = 4}, 0, {ring, pairs});
  l.add("ring, tp, sp", gpt(), {.tp = 2, .cp = 2}, 0, {ring, sp});
  l.add("ring of 4, tp, sp", llama(), {.tp = 2, .cp = 4}, 0, {ring, sp});
  l.add("ring, fsdp, hybrid", falcon(), {.dp = 2, .fsdp = 2, .cp = 2}, 3, {ring});
  l.add("ring, dp, zero 1, reduced in bf16", gpt(), {.dp = 2, .cp = 2}, 1, {ring, bf16_wire});
  l.add("ring, pp, tp", llama(), {.pp = 2, .tp = 2, .cp = 2}, 0, {ring});
  l.add("ring, pp, zb-h1", plain(), {.pp = 2, .cp = 2}, 0, {ring, zb_h1});
  l.add("ring, recompute attention", gpt(), {.cp = 4}, 0, {ring, attention_again});
  l.add("ring, recompute all", llama(), {.cp = 2}, 0, {ring, all_again});
  l.add("ring, recompute ops", llama(), {.cp = 4}, 0, {ring, ops_again});
  l.add("ulysses in ring", gpt(), {.cp = 4}, 0, {hybrid});
  l.add("ulysses in ring, tp", llama(), {.tp = 2, .cp = 4}, 0, {hybrid});
  l.add("ulysses in ring, dp, zero 2", plain(), {.dp = 2, .cp = 4}, 2, {hybrid});
  l.add("ulysses in ring, recompute attention", qwen(), {.cp = 4}, 0, {hybrid, attention_again});
}

void pipeline(List& l) {
  l.add("pp", llama(), {.pp = 2});
  l.add("pp of 4", gpt(), {.pp = 4}, 0, {deep});
  l.add("pp, gpipe", llama(), {.pp = 2}, 0, {gpipe});
  l.add("pp of 4, gpipe, pairs", qwen(), {.pp = 4}, 0, {deep, gpipe, pairs});
  l.add("pp, interleaved", llama(), {.pp = 2}, 0, {deep, interleaved});
  l.add("pp, interleaved", gpt(), {.pp = 2}, 0, {deep, interleaved});
  l.add("pp, 1f1b, blocking sends", llama(), {.pp = 4}, 0, {deep, blocking_sends});
  l.add("pp, interleaved, groups of 3", gpt(), {.pp = 2}, 0, {deep, groups_of_3});
  l.add("pp, zb-h1", llama(), {.pp = 2}, 0, {zb_h1});
  l.add("pp of 4, zb-h1", gpt(), {.pp = 4}, 0, {deep, zb_h1});
  l.add("pp, zb-h2", gpt(), {.pp = 2}, 0, {zb_h2});
  l.add("pp of 4, zb-h2", llama(), {.pp = 4}, 0, {deep, zb_h2});
  l.add("pp, zb-h1, dp, tp, sp, zero 1", gpt(), {.pp = 2, .dp = 2, .tp = 2}, 1, {sp, zb_h1});
  l.add("pp, zb-h2, fsdp, tp", falcon(), {.pp = 2, .fsdp = 2, .tp = 2}, 3, {zb_h2});
  l.add("pp, zb-h1, recompute all, zero 2", llama(), {.pp = 2, .dp = 2}, 2, {all_again, zb_h1});
  l.add("pp, zb-h1, cp, recompute some", llama(), {.pp = 2, .cp = 2}, 0, {deep, one_again, zb_h1});
  l.add("pp, zb-1p", gpt(), {.pp = 2}, 0, {zb_1p});
  l.add("pp of 4, zb-2p", llama(), {.pp = 4}, 0, {deep, zb_2p});
  l.add("pp, zb-2p, dp, tp, sp, zero 1", qwen(), {.pp = 2, .dp = 2, .tp = 2}, 1, {sp, zb_2p});
  l.add("pp, zb-v", gpt(), {.pp = 2}, 0, {deep, zb_v});
  l.add("pp, zb-v, zero 2", llama(), {.pp = 2, .dp = 2}, 2, {deep, zb_v});
  l.add("pp, zb-v, fsdp, tp, sp", qwen(), {.pp = 2, .fsdp = 2, .tp = 2}, 3, {bare_ends, sp, zb_v});
  l.add("pp, zb-v, cp, recompute all", llama(), {.pp = 2, .cp = 2}, 0, {deep, all_again, zb_v});
  l.add("pp, zb-v, 1 + 2 + 1 + 0 layers", gpt(), {.pp = 2}, 0, {deep, zb_v, one_two_one_none});
  l.add("pp of 3, zb-v", plain(), {.pp = 3}, 0, {layers_of_6, zb_v});
  l.add("pp, dualpipe-v", llama(), {.pp = 2}, 0, {deep, dualpipe_v});
  l.add("pp, dualpipe-v, dp, tp, zero 1", gpt(), {.pp = 2, .dp = 2, .tp = 2}, 1,
        {deep, dualpipe_v});
  l.add("pp of 4, dualpipe-v", llama(), {.pp = 4}, 0, {layers_of_8, dualpipe_v});
  l.add("pp, sequential", llama(), {.pp = 2}, 0, {sequential});
  l.add("pp of 4, sequential, 1 + 2 + 1 + 0 layers", gpt(), {.pp = 4}, 0,
        {deep, sequential, one_two_one_none});
  l.add("pp, 3 + 1 layers", llama(), {.pp = 2}, 0, {deep, uneven});
  l.add("pp of 3, 1 + 2 + 1 layers", gpt(), {.pp = 3}, 0, {deep, short_ends});
  l.add("pp of 5, first without layers", llama(), {.pp = 5}, 0, {deep, bare_start});
}

void both_ways_and_building_blocks(List& l) {
  l.add("pp, dualpipe", llama(), {.pp = 2}, 0, {deep, dualpipe});
  l.add("pp, dualpipe, tied", gpt(), {.pp = 2}, 0, {deep, dualpipe});
  l.add("pp of 4, dualpipe, dp, zero 1", llama(), {.pp = 4, .dp = 2}, 1, {layers_of_8, dualpipe});
  l.add("pp, dualpipe, dp, small buckets", llama(), {.pp = 2, .dp = 2}, 0,
        {deep, dualpipe, small_buckets});
  l.add("pp, dualpipe, zero 2", gpt(), {.pp = 2, .dp = 2}, 2, {deep, dualpipe});
  l.add("pp, dualpipe, fsdp, tp, sp", qwen(), {.pp = 2, .fsdp = 2, .tp = 2}, 3, {sp, dualpipe});
  l.add("pp, dualpipe, cp, recompute all", llama(), {.pp = 2, .cp = 2}, 0,
        {deep, dualpipe, all_again});
  l.add("pp of 4, v-half", llama(), {.pp = 4}, 0, {layers_of_8, v_half});
  l.add("pp, v-half, dp, tp, zero 1", gpt(), {.pp = 2, .dp = 2, .tp = 2}, 1, {deep, v_half});
  l.add("pp of 3, v-min", plain(), {.pp = 3}, 0, {layers_of_6, v_min});
  l.add("pp, v-min, fsdp, tp, sp", qwen(), {.pp = 2, .fsdp = 2, .tp = 2}, 3,
        {bare_ends, sp, v_min});
}

void recomputation(List& l) {
  l.add("recompute all", llama(), {}, 0, {all_again});
  l.add("recompute all, tp", gpt(), {.tp = 2}, 0, {all_again});
  l.add("recompute all, tp, sp", gpt(), {.tp = 2}, 0, {all_again, sp});
  l.add("recompute some, pp", llama(), {.pp = 2}, 0, {deep, one_again});
  l.add("recompute attention, tp, unfused", gpt(), {.tp = 2}, 0, {attention_again, unfused});
  l.add("recompute attention, fsdp", llama(), {.fsdp = 2}, 3, {attention_again});
  l.add("recompute all, fsdp", falcon(), {.fsdp = 2}, 3, {all_again});
  l.add("recompute each second", llama(), {}, 0, {second_again});
  l.add("recompute each second, pp, interleaved", gpt(), {.pp = 2}, 0,
        {deep, interleaved, second_again});
  l.add("recompute ops", llama(), {}, 0, {ops_again});
  l.add("recompute ops, unfused", gpt(), {}, 0, {ops_again, unfused});
  l.add("recompute ops, tp", gpt(), {.tp = 2}, 0, {ops_again});
  l.add("recompute ops, tp, sp", llama(), {.tp = 2}, 0, {ops_again, sp});
  l.add("recompute ops, tp of 4, sp", gpt(), {.tp = 4}, 0, {ops_again, sp});
  l.add("recompute ops, tp, sp", falcon(), {.tp = 2}, 0, {ops_again, sp});
  l.add("recompute ops, fsdp, tp, sp", llama(), {.fsdp = 2, .tp = 2}, 3, {ops_again, sp});
  l.add("recompute ops, cp, fsdp", qwen(), {.fsdp = 2, .cp = 2}, 3, {ops_again});
  l.add("recompute ops, pp, zb-h1", llama(), {.pp = 2}, 0, {ops_again, zb_h1});
  l.add("recompute ops, pp, fsdp", plain(), {.pp = 2, .fsdp = 2}, 3, {ops_again});
  l.add("recompute norms and activations", gpt(), {.dp = 2}, 1, {norms_and_activations_again});
  l.add("recompute norms and activations, tp, sp", llama(), {.tp = 2}, 0,
        {norms_and_activations_again, sp});
  l.add("recompute norms and activations, tp, sp, nothing hidden, pp, zb-h1", qwen(),
        {.pp = 2, .tp = 2}, 0, {norms_and_activations_again, sp, waits, zb_h1});
  l.add("ep, tp, sp, recompute norms and activations", all_experts(), {.tp = 2, .ep = 2}, 0,
        {norms_and_activations_again, sp});
  l.add("ep, dp, zero 1, recompute norms and activations", deepseek_v3(), {.dp = 2, .ep = 2}, 1,
        {norms_and_activations_again});
  l.add("ep, fsdp, recompute mlps and shared experts", deepseek_v3(), {.ep = 2}, 3, {mlps_again});
  l.add("ep, dp, zero 1, recompute mixtures, norms and attention", deepseek_v3(),
        {.dp = 2, .ep = 2}, 1, {mixtures_again});
  l.add("ep, tp, sp, recompute mixtures, norms and attention", all_experts(), {.tp = 2, .ep = 2}, 0,
        {mixtures_again, sp});
}

void offload(List& l) {
  l.add("Adam on the host", gpt(), {}, 0, {adam_on_host});
  l.add("Adam on the host, dp, no overlap", llama(), {.dp = 2}, 0, {adam_on_host, no_overlap});
  l.add("Adam on the host, zero 1", gpt(), {.dp = 4}, 1, {adam_on_host, small_buckets});
  l.add("Adam on the host, zero 1, hybrid, no overlap", llama(), {.dp = 2, .fsdp = 2}, 1,
        {adam_on_host, no_overlap, bf16_wire});
  l.add("Adam on the host, zero 2, tp, sp", llama(), {.dp = 2, .tp = 2}, 2, {adam_on_host, sp});
  l.add("Adam on the host, zero 2, hybrid, unclipped", gpt(), {.dp = 2, .fsdp = 2}, 2,
        {adam_on_host, unclipped});
  l.add("Adam on the host, zero 3", qwen(), {.fsdp = 4}, 3, {adam_on_host, weight_shard});
  l.add("state on the host, fsdp", llama(), {.fsdp = 2}, 3, {state_on_host});
  l.add("state on the host, fsdp, hybrid, tp, pairs", llama(), {.dp = 2, .fsdp = 2, .tp = 2}, 3,
        {state_on_host, pairs, two_ahead});
  l.add("state on the host, one rank", llama(), {}, 3, {state_on_host});
  l.add("state on the host, one rank, weights beside it", gpt(), {}, 3,
        {state_on_host, weight_shard});
  l.add("state on the host, fsdp1, reduced once", llama(), {.fsdp = 2}, 3,
        {as_fsdp1, reduced_once, state_on_host});
  l.add("Adam on the host, zero 2, pp, reduced once", llama(), {.pp = 2, .dp = 2}, 2,
        {adam_on_host, reduced_once});
  l.add("state on drives, zero 3", gpt(), {.dp = 2}, 3, {state_on_drives});
  l.add("state on drives, tp, one rank of each", qwen(), {.tp = 2}, 3, {state_on_drives});
  l.add("state on drives, fsdp, pp", plain(), {.pp = 2, .fsdp = 2}, 3, {state_on_drives});
  l.add("Adam on the host, pp, dp, zero 1", gpt(), {.pp = 2, .dp = 2}, 1, {adam_on_host});
  l.add("state on the host, ep, fsdp", mixtral(), {.fsdp = 2, .ep = 2}, 3, {state_on_host});
  l.add("state on the host, ep", mixtral(), {.ep = 2}, 3, {state_on_host});
  l.add("Adam on the host, ep, zero 2", deepseek(), {.ep = 2}, 2, {adam_on_host});
  l.add("activations on the host", gpt(), {}, 0, {deep, activations_on_host});
  l.add("activations on the host, tp, sp", llama(), {.tp = 2}, 0, {sp, activations_on_host});
  l.add("activations on the host, recompute all, fsdp", gpt(), {.fsdp = 2}, 3,
        {deep, activations_on_host, all_again, state_on_host});
  l.add("activations on the host, recompute ops", llama(), {}, 0,
        {deep, activations_on_host, ops_again});
  l.add("activations on the host, pp, interleaved", gpt(), {.pp = 2}, 0,
        {layers_of_8, interleaved, activations_on_host});
  l.add("activations on the host, pp, zb-h1", llama(), {.pp = 2}, 0,
        {layers_of_8, zb_h1, activations_on_host});
  l.add("activations on the host, ep", mixtral(), {.ep = 2}, 0, {deep, activations_on_host});
}

/// Of projections that tensor parallelism splits by columns.
void inputs_copied(List& l) {
  l.add("inputs copied, tp, dp", gpt(), {.dp = 2, .tp = 2}, 1, {copied_inputs, waits});
  l.add("inputs copied, tp, pp, recompute all", llama(), {.pp = 2, .tp = 2}, 0,
        {copied_inputs, waits, all_again});
  l.add("inputs copied, tp, ep, activations on the host", mixtral(), {.tp = 2, .ep = 2}, 0,
        {copied_inputs, deep, activations_on_host});
}

/// Of stages whose tensor-parallel ranks have all of it.
void messages_in_parts(List& l) {
  l.add("messages in parts, pp, tp", llama(), {.pp = 2, .tp = 2}, 0, {scatter_gather});
  l.add("messages in parts, pp, tp, cp, interleaved", gpt(), {.pp = 2, .tp = 2, .cp = 2}, 0,
        {scatter_gather, deep, interleaved});
  l.add("messages in parts, pp, tp of 4, zb-v, blocking", gpt(), {.pp = 2, .tp = 4}, 0,
        {scatter_gather, deep, zb_v, blocking_sends});
}

void parameter_servers(List& l) {
  l.add("one of the ranks serves", llama(), {.dp = 2}, 0, {one_server});
  l.add("all ranks serve", gpt(), {.dp = 4}, 0, {all_serve, pairs});
  l.add("two of four serve, no overlap", qwen(), {.dp = 4}, 0, {two_servers, no_overlap});
  l.add("three of eight serve, unclipped", relu(), {.dp = 8}, 0, {three_servers, unclipped});
  l.add("served, pushed in bf16", llama(), {.dp = 4}, 0, {two_servers, bf16_wire});
  l.add("served apart", llama(), {.dp = 1}, 0, {one_server, apart});
  l.add("served apart by two, pushed in bf16", gpt(), {.dp = 4}, 0,
        {two_servers, apart, bf16_wire});
  l.add("served apart by three, no overlap, recompute all", falcon(), {.dp = 4}, 0,
        {three_servers, apart, no_overlap, all_again});
  l.add("served, experts", mixtral(), {.dp = 4}, 0, {two_servers});
}

void hybrids(List& l) {
  l.add("pp, dp", llama(), {.pp = 2, .dp = 2}, 0, {small_buckets});
  l.add("pp of 3, dp", relu(), {.pp = 3, .dp = 2}, 0, {deep, short_ends});
  l.add("pp, dp, zero 1", qwen(), {.pp = 2, .dp = 2}, 1);
  l.add("pp, dp, zero 2", llama(), {.pp = 2, .dp = 2}, 2);
  l.add("pp, tp", gpt(), {.pp = 2, .tp = 2});
  l.add("pp, dp, tp", llama(), {.pp = 2, .dp = 2, .tp = 2});
  l.add("pp, dp, tp, sp, zero 1", gpt(), {.pp = 2, .dp = 2, .tp = 2}, 1, {sp});
  l.add("dp, tp", falcon(), {.dp = 2, .tp = 2});
  l.add("dp, tp, sp, zero 2", llama(), {.dp = 2, .tp = 2}, 2, {sp});
  l.add("fsdp, tp, sp", llama(), {.fsdp = 2, .tp = 2}, 3, {sp});
  l.add("fsdp, tp, sp", gpt(), {.fsdp = 4, .tp = 2}, 3, {sp});
  l.add("fsdp, hybrid, tp", llama(), {.dp = 2, .fsdp = 2, .tp = 2}, 3);
  l.add("pp, fsdp", llama(), {.pp = 2, .fsdp = 2}, 3);
  l.add("pp, fsdp, tp, sp, interleaved, recompute all", plain(), {.pp = 2, .fsdp = 2, .tp = 2}, 2,
        {deep, sp, interleaved, all_again});
  l.add("pp, hybrid, zero 1, recompute some", gpt(), {.pp = 2, .dp = 2, .fsdp = 2}, 1,
        {deep, one_again, small_buckets});
}

}  // namespace

std::vector<MatrixCase> matrix_cases() {
  List list;
  data_parallel(list), copied_shards(list), zero_plus_plus(list), tensor_parallel(list),
      tensor_overlap(list), context_parallel(list), context_kinds(list), pipeline(list),
      both_ways_and_building_blocks(list), recomputation(list), experts(list),
      early_gates_of_experts(list), exchanges_beside_passes(list), latent_attention(list),
      norms_of_heads(list), sliding_windows(list), arrangements_of_layers(list),
      further_tokens(list), offload(list), parameter_servers(list), hybrids(list),
      packed_documents(list), uneven_stages(list), losses_in_pieces(list), whole_losses(list),
      encoders(list), state_space_layers(list), delta_nets(list), low_rank_adapters(list),
      kept_results(list), dropped_and_quantized_adapters(list), gathered_tokens(list),
      inputs_copied(list), messages_in_parts(list), autocast(list), narrow_losses(list);
  return std::move(list.cases);
}

}  // namespace plait
