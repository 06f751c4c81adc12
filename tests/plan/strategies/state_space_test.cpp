// Plans of models with state-space mixers: parameters, FLOPs, what is kept, what is sent, what is
// refused.
#include "core/error.h"
#include "model/iteration_flops.h"
#include "plan/memory.h"
#include "plan/serving.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::state_space_plan_test {

Model hybrid(std::string pattern) {
  Model m = tiny_llama(static_cast<std::int64_t>(pattern.size()));
  m.name = "tiny-hybrid", m.positions = PositionKind::kNone, m.layer_pattern = std::move(pattern);
  m.state_size = 6, m.state_heads = 4, m.state_head_dim = 8, m.state_groups = 2;
  m.scan_chunk = 4;
  return m;
}

std::vector<Strategy> strategies() {
  std::vector<Strategy> out = {split({}), split({.dp = 2}, 1), split({.fsdp = 2}, 3),
                               split({.tp = 2}), split({.pp = 2, .tp = 2})};
  out.push_back(split({.tp = 2})), out.back().sequence_parallel = true;
  out.push_back(split({.pp = 2})), out.back().pipeline.schedule = Schedule::kZbH1;
  out.push_back(split({})), out.back().recompute.kind = Recompute::kFull;
  return out;
}

TEST(Hybrid, RanksTogetherDoTheFlopsThatTheModelNeeds) {
  const auto first_time = [](const Op& op) { return op.phase != Phase::kRecompute; };
  for (const char* pattern : {"M*-M", "mama", "MMMM"}) {
    const Model m = hybrid(pattern);
    for (const Strategy& s : strategies()) {
      const Plan plan = make_plan(m, tiny_workload(8), s);
      EXPECT_EQ(flops_of(plan, first_time).value, needed_flops_per_iteration(m, 8, 8).value);
      EXPECT_TRUE(validate(plan).empty());
    }
  }
}

TEST(Hybrid, UnitsHoldTheParametersOfTheirParts) {
  const Model m = hybrid("M*-ma");
  const ParameterCount n = count_parameters(m);
  const Plan plan = make_plan(m, tiny_workload(1), {});
  const auto weights = [&](const char* unit) {
    return tensor_named(plan, std::string(unit) + ".weights").elements(plan.mesh);
  };
  EXPECT_EQ(weights("state_space_layer"), n.state_space);
  EXPECT_EQ(weights("attention_layer"), n.attention);
  EXPECT_EQ(weights("mlp_layer"), n.mlp);
  EXPECT_EQ(weights("state_space_mlp_layer"), n.state_space + n.mlp);
  EXPECT_EQ(weights("layer"), n.layer);
}

/// Bytes that outlive the pass of a layer's forward block.
std::int64_t kept_by(const Plan& plan, const char* block) {
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

// mamba_ssm's fused layer: what the first product made, y and the norm's statistics; beside it the
// product's input and the statistics of the norm before. In bf16, of s b tokens.
TEST(Hybrid, KeepsWhatTheFusedLayerKeeps) {
  const Model m = hybrid("MM");
  const std::int64_t tokens = 8, d = m.state_width();
  const auto bytes = [&](std::int64_t t) {
    return tokens * (2 * m.hidden + 4 + (2 * m.state_input_width() + 2 * d + 4 * 2) / t);
  };
  const Plan whole = make_plan(m, tiny_workload(1), {});
  EXPECT_EQ(kept_by(whole, "state_space_layer.forward"), bytes(1));
  const Plan halves = make_plan(m, tiny_workload(1), split({.tp = 2}));
  EXPECT_EQ(kept_by(halves, "state_space_layer.forward"), bytes(2));
}

// As attention: an all_reduce in either direction, of s b h elements; with sequence parallelism a
// reduce_scatter and a gather, and backward a gather more for the weights' gradient.
TEST(Hybrid, MixersSplitByHeadsSumTheirResultsOnly) {
  const Model m = hybrid("MM");
  const AxisSet tp = AxisSet(Axis::kTp);
  const std::int64_t S = 8 * m.hidden * 2;
  const Plan plain = make_plan(m, tiny_workload(1), split({.tp = 2}));
  for (const char* block : {"state_space_layer.forward", "state_space_layer.backward"}) {
    EXPECT_EQ(traffic(block_named(plain, block), CollectiveKind::kAllReduce, tp), (Volume{1, S}));
    EXPECT_EQ(collectives(block_named(plain, block)), 1);
  }
  Strategy s = split({.tp = 2});
  s.sequence_parallel = true;
  const Plan shards = make_plan(m, tiny_workload(1), s);
  const Block forward = block_named(shards, "state_space_layer.forward");
  EXPECT_EQ(traffic(forward, CollectiveKind::kAllGather, tp), (Volume{1, S}));
  EXPECT_EQ(traffic(forward, CollectiveKind::kReduceScatter, tp), (Volume{1, S}));
  const Block backward = block_named(shards, "state_space_layer.backward");
  EXPECT_EQ(traffic(backward, CollectiveKind::kAllGather, tp), (Volume{2, 2 * S}));
  EXPECT_EQ(traffic(backward, CollectiveKind::kReduceScatter, tp), (Volume{1, S}));
}

// Products that are narrowed keep their inputs narrow, that of the last one too.
TEST(Hybrid, LinearLayersReadNarrowCopies) {
  const Model m = hybrid("M*-M");
  for (const DType type : {DType::kFp8, DType::kNvfp4}) {
    Workload w = tiny_workload(8);
    w.precision.matmul = type;
    for (const Strategy& s : strategies()) {
      const Plan plan = make_plan(m, w, s);
      EXPECT_TRUE(validate(plan).empty()) << name_of(type);
      if (s.recompute.kind != Recompute::kNone) continue;
      for (const Op& op : block_named(plan, "state_space_layer.forward").ops) {
        const Compute* c = std::get_if<Compute>(&op.body);
        const MatMul* product = c == nullptr ? nullptr : std::get_if<MatMul>(c);
        EXPECT_TRUE(product == nullptr || product->in == type);
      }
    }
  }
}

std::string code_of(const Model& m, const Workload& w, const Strategy& s) {
  try {
    make_plan(m, w, s);
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

TEST(Hybrid, IsRefusedWhereItIsNotPlanned) {
  const Workload w = tiny_workload(8);
  const auto with = [](const char* pattern, auto change) {
    Model m = hybrid(pattern);
    change(m);
    return m;
  };
  const auto nothing = [](Model&) {};
  EXPECT_EQ(code_of(with("MX", nothing), w, {}), "S150");
  EXPECT_EQ(code_of(with("MM", [](Model& m) { m.layers = 3; }), w, {}), "S150");
  EXPECT_EQ(code_of(with("ME", nothing), w, {}), "S150");
  EXPECT_EQ(code_of(with("MM", [](Model& m) { m.state_size = 0; }), w, {}), "S151");
  EXPECT_EQ(code_of(with("MM", [](Model& m) { m.state_groups = 3; }), w, {}), "S151");
  EXPECT_EQ(code_of(with("aM", [](Model& m) { m.mtp_layers = 1; }), w, {}), "S152");
  EXPECT_EQ(code_of(with("Ma", [](Model& m) { m.mtp_layers = 1; }), w, {}), "");
  const auto experts = [](Model& m) {
    m.experts = 2, m.experts_per_token = 1, m.expert_ffn_hidden = 8;
  };
  EXPECT_EQ(code_of(with("ma", experts), w, {}), "") << "one unit of both layers";
  EXPECT_EQ(code_of(with("ME*E", experts), w, {}), "");
  EXPECT_EQ(code_of(with("M*", nothing), w, split({.cp = 2})), "S154");
  EXPECT_EQ(code_of(with("*-", nothing), w, split({.cp = 2})), "") << "attention is as ever";
  Workload packed = w;
  packed.documents = {Packing::kPacked, 3, {}};
  EXPECT_EQ(code_of(with("M*", nothing), packed, {}), "S155");
  Strategy by_op;
  by_op.recompute.kind = Recompute::kOps;
  EXPECT_EQ(code_of(with("M*", nothing), w, by_op), "S156");
  EXPECT_EQ(code_of(with("MM", nothing), w, split({.tp = 4})), "S010") << "two groups";
}

}  // namespace plait::state_space_plan_test
