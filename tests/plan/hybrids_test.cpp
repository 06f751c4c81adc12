// A table of hybrids, each of which plans into something executable.
#include <gtest/gtest.h>

#include <string>

#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::hybrids_test {

struct Hybrid {
  std::string name;
  Degrees degrees;
  int zero_stage = 0;
  void (*change)(Model&, Workload&, Strategy&) = nullptr;
};

#define WITH(statements) \
  [](Model& m, Workload& w, Strategy& s) { (void)m, (void)w, (void)s, statements; }

const Hybrid kHybrids[] = {
    {"one rank", {}},
    {"one rank, tied", {}, 0, WITH(m = tiny_gpt(8))},
    {"one rank, fp32", {}, 0, WITH(w.precision.weights = DType::kFp32)},
    {"one rank, no layers recomputed",
     {},
     0,
     WITH((s.recompute.kind = Recompute::kFull, s.recompute.layers = 0))},
    {"dp", {.dp = 2}},
    {"dp, small buckets", {.dp = 2}, 0, WITH(s.data.bucket = Bytes(100))},
    {"dp, no overlap", {.dp = 2}, 0, WITH(s.data.overlap = false)},
    {"dp, no clipping", {.dp = 2}, 0, WITH(w.gradient_clipping = false)},
    {"dp, bf16 reduction", {.dp = 2}, 0, WITH(w.precision.reduction = DType::kBf16)},
    {"zero 1", {.dp = 4}, 1},
    {"zero 1, no overlap", {.dp = 4}, 1, WITH(s.data.overlap = false)},
    {"zero 1, all-reduced", {.dp = 4}, 1, WITH(s.data.all_reduce = true)},
    {"zero 2, no overlap", {.dp = 4}, 2, WITH(s.data.overlap = false)},
    {"zero 1, bf16 reduction", {.dp = 2}, 1, WITH(w.precision.reduction = DType::kBf16)},
    {"zero 2", {.dp = 4}, 2},
    {"zero 2, no overlap, tied", {.dp = 4}, 2, WITH((m = tiny_gpt(8), s.data.overlap = false))},
    {"zero 2, bf16 reduction", {.dp = 2}, 2, WITH(w.precision.reduction = DType::kBf16)},
    {"zero 3", {.dp = 4}, 3},
    {"zero 3, weight shard", {.dp = 4}, 3, WITH(s.keep_weight_shard = true)},
    {"zero 3, fp32", {.dp = 2}, 3, WITH(w.precision.weights = DType::kFp32)},
    {"fsdp", {.fsdp = 4}, 3},
    {"fsdp, tied", {.fsdp = 4}, 3, WITH(m = tiny_gpt(8))},
    {"fsdp, prefetch 0", {.fsdp = 4}, 3, WITH(s.fsdp.prefetch = 0)},
    {"fsdp, prefetch 2", {.fsdp = 4}, 3, WITH(s.fsdp.prefetch = 2)},
    {"fsdp, prefetch beyond the model", {.fsdp = 4}, 3, WITH(s.fsdp.prefetch = 100)},
    {"fsdp, no resharding", {.fsdp = 4}, 3, WITH(s.fsdp.reshard_after_forward = false)},
    {"fsdp, root", {.fsdp = 4}, 3, WITH(s.fsdp.root = true)},
    {"fsdp, root, tied", {.fsdp = 4}, 3, WITH((m = tiny_gpt(8), s.fsdp.root = true))},
    {"fsdp, last layer stays",
     {.fsdp = 4},
     3,
     WITH((s.fsdp.root = true, s.fsdp.reshard_last_layer = false))},
    {"fsdp1", {.fsdp = 4}, 3, WITH(s.fsdp.copies = FsdpCopies::kFsdp1)},
    {"fsdp2", {.fsdp = 4}, 3, WITH(s.fsdp.copies = FsdpCopies::kFsdp2)},
    {"fsdp2, tied, prefetch 0",
     {.fsdp = 4},
     3,
     WITH((m = tiny_gpt(8), s.fsdp = {.prefetch = 0, .copies = FsdpCopies::kFsdp2}))},
    {"deepspeed", {.fsdp = 4}, 3, WITH(s.fsdp.copies = FsdpCopies::kDeepSpeed)},
    {"fsdp, full recompute", {.fsdp = 4}, 3, WITH(s.recompute.kind = Recompute::kFull)},
    {"hybrid shard", {.dp = 2, .fsdp = 2}, 3},
    {"hybrid shard, zero 1", {.dp = 2, .fsdp = 2}, 1},
    {"hybrid shard, zero 2", {.dp = 2, .fsdp = 2}, 2, WITH(m = tiny_gpt(8))},
    {"tp", {.tp = 2}},
    {"tp, tied", {.tp = 4}, 0, WITH(m = tiny_gpt(8))},
    {"tp, full recompute", {.tp = 2}, 0, WITH(s.recompute.kind = Recompute::kFull)},
    {"tp, parallel attention", {.tp = 2}, 0, WITH(m.parallel_attention = true)},
    {"sp", {.tp = 2}, 0, WITH(s.sequence_parallel = true)},
    {"sp, tied, unfused attention",
     {.tp = 2},
     0,
     WITH((m = tiny_gpt(8), s.sequence_parallel = true, w.flash_attention = false))},
    {"sp, selective",
     {.tp = 2},
     0,
     WITH((m = tiny_gpt(8), s.sequence_parallel = true, w.flash_attention = false,
           s.recompute.kind = Recompute::kSelective))},
    {"sp, full recompute",
     {.tp = 2},
     0,
     WITH((s.sequence_parallel = true, s.recompute.kind = Recompute::kFull))},
    {"sp, parallel attention",
     {.tp = 2},
     0,
     WITH((m.parallel_attention = true, s.sequence_parallel = true))},
    {"1f1b", {.pp = 2}},
    {"1f1b, tied", {.pp = 4}, 0, WITH(m = tiny_gpt(8))},
    {"1f1b, fewer microbatches than stages", {.pp = 4}, 0, WITH(w.global_batch = 1)},
    {"gpipe", {.pp = 4}, 0, WITH(s.pipeline.schedule = Schedule::kGpipe)},
    {"zb-v, tied",
     {.pp = 4},
     0,
     WITH((m = tiny_gpt(8), s.pipeline.schedule = Schedule::kZbV, s.pipeline.chunks = 2))},
    {"zb-v, fsdp, tied",
     {.pp = 2, .fsdp = 2},
     3,
     WITH((m = tiny_gpt(8), s.pipeline.schedule = Schedule::kZbV, s.pipeline.chunks = 2))},
    {"dualpipe-v, zero 1",
     {.pp = 2, .dp = 2},
     1,
     WITH((s.pipeline.schedule = Schedule::kDualPipeV, s.pipeline.chunks = 2))},
    {"dualpipe, tied",
     {.pp = 4},
     0,
     WITH((m = tiny_gpt(8), s.pipeline.schedule = Schedule::kDualPipe, s.pipeline.chunks = 2))},
    {"dualpipe, fsdp, tp, sp",
     {.pp = 2, .fsdp = 2, .tp = 2},
     3,
     WITH((s.sequence_parallel = true, s.pipeline.schedule = Schedule::kDualPipe,
           s.pipeline.chunks = 2))},
    {"v-min, zero 1",
     {.pp = 4, .dp = 2},
     1,
     WITH((s.pipeline.schedule = Schedule::kVMin, s.pipeline.chunks = 2))},
    {"zb-2p", {.pp = 4}, 0, WITH(s.pipeline.schedule = Schedule::kZb2p)},
    {"sequential", {.pp = 4}, 0, WITH(s.pipeline.schedule = Schedule::kSequential)},
    {"interleaved",
     {.pp = 2},
     0,
     WITH((s.pipeline.schedule = Schedule::kInterleaved, s.pipeline.chunks = 4))},
    {"interleaved, tied, some layers recomputed",
     {.pp = 4},
     0,
     WITH((m = tiny_gpt(8), s.pipeline.schedule = Schedule::kInterleaved, s.pipeline.chunks = 2,
           s.recompute.kind = Recompute::kFull, s.recompute.layers = 1))},
    {"uneven ends",
     {.pp = 4},
     0,
     WITH((s.pipeline.first_stage_layers = 1, s.pipeline.last_stage_layers = 1))},
    {"stage without layers",
     {.pp = 2},
     0,
     WITH((s.pipeline.first_stage_layers = 8, s.pipeline.last_stage_layers = 0))},
    {"cp, unfused, selective",
     {.cp = 4},
     0,
     WITH((m = tiny_gpt(8), w.flash_attention = false, s.recompute.kind = Recompute::kSelective))},
    {"cp x tp, sp, full recompute",
     {.tp = 2, .cp = 2},
     0,
     WITH((s.sequence_parallel = true, s.recompute.kind = Recompute::kFull))},
    {"recompute ops, fp8, sp",
     {.fsdp = 2, .tp = 2},
     3,
     WITH((s.sequence_parallel = true, s.recompute.kind = Recompute::kOps,
           w.precision.matmul = DType::kFp8))},
    {"recompute each third layer, interleaved",
     {.pp = 2},
     0,
     WITH((s.recompute = {Recompute::kFull, -1, 3}, s.pipeline.schedule = Schedule::kInterleaved,
           s.pipeline.chunks = 2))},
    {"cp x pp x fsdp, fp8",
     {.pp = 2, .fsdp = 2, .cp = 2},
     3,
     WITH(w.precision.matmul = DType::kFp8)},
    {"pp x dp", {.pp = 2, .dp = 2}},
    {"pp x zero 1, tied", {.pp = 2, .dp = 2}, 1, WITH(m = tiny_gpt(8))},
    {"pp x zero 2, gpt", {.pp = 2, .dp = 2}, 2, WITH((m = tiny_gpt(8), m.tied_embeddings = false))},
    {"pp x fsdp", {.pp = 2, .fsdp = 2}, 3},
    {"pp x fsdp, no resharding",
     {.pp = 2, .fsdp = 2},
     3,
     WITH(s.fsdp.reshard_after_forward = false)},
    {"pp x tp x dp", {.pp = 2, .dp = 2, .tp = 2}},
    {"pp x tp x dp, interleaved, sp, zero 1",
     {.pp = 2, .dp = 2, .tp = 2},
     1,
     WITH((s.sequence_parallel = true, s.pipeline.schedule = Schedule::kInterleaved,
           s.pipeline.chunks = 2))},
    {"pp x tp x fsdp x dp, everything",
     {.pp = 2, .dp = 2, .fsdp = 2, .tp = 2},
     3,
     WITH((m = tiny_gpt(8), m.tied_embeddings = false, s.sequence_parallel = true,
           s.pipeline.schedule = Schedule::kInterleaved, s.pipeline.chunks = 2,
           s.recompute.kind = Recompute::kSelective, w.flash_attention = false,
           w.precision.reduction = DType::kBf16))},
};

#undef WITH

TEST(Hybrids, EachIsExecutable) {
  for (const Hybrid& h : kHybrids) {
    Model m = tiny_llama(8);
    Workload w = tiny_workload(4 * h.degrees.dp * h.degrees.fsdp);
    w.gradient_clipping = true;
    Strategy s = split(h.degrees, h.zero_stage);
    if (h.change != nullptr) h.change(m, w, s);
    const std::vector<PlanFault> faults = validate(make_plan(m, w, s));
    EXPECT_TRUE(faults.empty()) << h.name << ": " << code_of(faults[0].kind) << " "
                                << faults[0].text;
  }
}

}  // namespace plait::hybrids_test
