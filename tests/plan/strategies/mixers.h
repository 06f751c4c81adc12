#pragma once
// What plans of models with states in some layers have in common, whatever mixer has them.
#include "core/error.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait {

/// Ways to split such models.
inline std::vector<Strategy> splits_of_mixers() {
  std::vector<Strategy> out = {split({}), split({.dp = 2}, 1), split({.fsdp = 2}, 3),
                               split({.tp = 2}), split({.pp = 2, .tp = 2})};
  out.push_back(split({.tp = 2})), out.back().sequence_parallel = true;
  out.push_back(split({.pp = 2})), out.back().pipeline.schedule = Schedule::kZbH1;
  out.push_back(split({})), out.back().recompute.kind = Recompute::kFull;
  return out;
}

/// Bytes that outlive the pass of a layer's forward block.
inline std::int64_t kept_by(const Plan& plan, const char* block) {
  std::int64_t bytes = 0;
  for (const Op& op : block_named(plan, block).ops) {
    for (const Operand& o : op.operands) {
      const Tensor& t = plan.tensors[o.tensor];
      const bool kept = t.scope == Scope::kLayerMicrobatch && o.use != Use::kRead && o.shift == 0;
      if (kept) bytes += t.bytes(plan.mesh).value;
    }
  }
  return bytes;
}

/// Layers of mixers alone, `layer`, whose heads tp splits. As attention: an all_reduce in either
/// direction, of s b h elements; with sequence parallelism a reduce_scatter and a gather, and
/// backward a gather more for the weights' gradient.
inline void expect_results_alone_to_be_summed(const Model& m, const std::string& layer) {
  const AxisSet tp = AxisSet(Axis::kTp);
  const std::int64_t S = 8 * m.hidden * 2;
  const Plan plain = make_plan(m, tiny_workload(1), split({.tp = 2}));
  for (const char* pass : {".forward", ".backward"}) {
    const Block block = block_named(plain, layer + pass);
    EXPECT_EQ(traffic(block, CollectiveKind::kAllReduce, tp), (Volume{1, S}));
    EXPECT_EQ(collectives(block), 1);
  }
  Strategy s = split({.tp = 2});
  s.sequence_parallel = true;
  const Plan shards = make_plan(m, tiny_workload(1), s);
  const Block forward = block_named(shards, layer + ".forward");
  EXPECT_EQ(traffic(forward, CollectiveKind::kAllGather, tp), (Volume{1, S}));
  EXPECT_EQ(traffic(forward, CollectiveKind::kReduceScatter, tp), (Volume{1, S}));
  const Block backward = block_named(shards, layer + ".backward");
  EXPECT_EQ(traffic(backward, CollectiveKind::kAllGather, tp), (Volume{2, 2 * S}));
  EXPECT_EQ(traffic(backward, CollectiveKind::kReduceScatter, tp), (Volume{1, S}));
}

/// Calls see(product, type) for the products of the block where products are narrowed to `type`,
/// split each way, and without recomputation.
template <class See>
void for_each_narrowed(const Model& m, const char* block, See&& see) {
  for (const DType type : {DType::kFp8, DType::kNvfp4}) {
    Workload w = tiny_workload(8);
    w.precision.matmul = type;
    for (const Strategy& s : splits_of_mixers()) {
      const Plan plan = make_plan(m, w, s);
      EXPECT_TRUE(validate(plan).empty()) << name_of(type);
      if (s.recompute.kind != Recompute::kNone) continue;
      for (const Op& op : block_named(plan, block).ops) {
        const Compute* c = std::get_if<Compute>(&op.body);
        const MatMul* product = c == nullptr ? nullptr : std::get_if<MatMul>(c);
        if (product != nullptr) see(*product, type);
      }
    }
  }
}

}  // namespace plait
