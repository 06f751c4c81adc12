// Norms of what attention and MLP add (Gemma 2 and 3): where they stand, what they keep, and what
// tensor parallelism does to them.
#include <gtest/gtest.h>

#include "tests/plan/tiny.h"

namespace plait::branch_norm_test {

const Block& block_of(const Plan& plan, const std::string& name) {
  for (const Block& b : plan.blocks) {
    if (b.name.starts_with(name)) return b;
  }
  throw InternalError("no block " + name);
}

/// Its norms and sums, in order: what each writes first.
std::vector<std::string> norms_and_sums(const Plan& plan, const Block& block) {
  std::vector<std::string> out;
  for (const Op& op : block.ops) {
    const auto* c = std::get_if<Compute>(&op.body);
    if (c == nullptr || !(std::holds_alternative<Norm>(*c) || std::holds_alternative<Add>(*c)))
      continue;
    for (const Operand& o : op.operands) {
      if (o.use != Use::kWrite) continue;
      out.push_back(plan.tensors[o.tensor].name);
      break;
    }
  }
  return out;
}

using Names = std::vector<std::string>;

TEST(BranchNorm, StandsBetweenABranchAndItsSum) {
  const Plan plan = make_plan(tiny_gemma(), tiny_workload(1), {});
  EXPECT_EQ(norms_and_sums(plan, block_of(plan, "layer.forward")),
            (Names{"attention_input", "attention_out", "x_mid", "mlp_input", "mlp_out", "x"}));
  EXPECT_EQ(norms_and_sums(plan, block_of(plan, "layer.backward")),
            (Names{"d_mlp_branch", "d_mlp_norm", "dx_mid", "d_attention_branch", "d_attention_norm",
                   "dx"}));
}

// OLMo 2: attention and MLP read the residual stream as it is.
TEST(BranchNorm, AloneIsTheOnlyNormOfABranch) {
  Model m = tiny_gemma();
  m.norm_position = NormPosition::kBranch;
  const Plan plan = make_plan(m, tiny_workload(1), {});
  EXPECT_EQ(norms_and_sums(plan, block_of(plan, "layer.forward")),
            (Names{"attention_out", "x_mid", "mlp_out", "x"}));
  EXPECT_EQ(norms_and_sums(plan, block_of(plan, "layer.backward")),
            (Names{"d_mlp_branch", "dx_mid", "d_attention_branch", "dx"}));
  EXPECT_EQ(tensor_named(plan, "layer.weights").elements(plan.mesh), count_parameters(m).layer);
}

TEST(BranchNorm, OfSequenceShardsReadsWhatWasScatteredAndKeepsIt) {
  Strategy s = split({.tp = 2});
  s.sequence_parallel = true;
  const Plan plan = make_plan(tiny_gemma(), tiny_workload(1), s);
  int scattered = 0;
  for (const Op& op : block_of(plan, "layer.forward").ops) {
    const auto* c = std::get_if<Collective>(&op.body);
    if (c == nullptr || c->kind != CollectiveKind::kReduceScatter) continue;
    const Tensor& kept = plan.tensors[op.operands[1].tensor];
    EXPECT_TRUE(kept.name == "attention_branch" || kept.name == "mlp_branch") << kept.name;
    EXPECT_EQ(kept.scope, Scope::kLayerMicrobatch);
    ++scattered;
  }
  EXPECT_EQ(scattered, 2);
}

/// Elements that forward products make and that what they write has, where these differ.
std::vector<std::string> products_of_other_sizes(const Plan& plan) {
  std::vector<std::string> out;
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      const auto* c = std::get_if<Compute>(&op.body);
      const MatMul* product = c == nullptr ? nullptr : std::get_if<MatMul>(c);
      if (product == nullptr || product->pass != Pass::kForward) continue;
      const Tensor& written = plan.tensors[op.operands[2].tensor];
      if (written.elements(plan.mesh) != product->batch * product->m * product->n)
        out.push_back(block.name + " " + written.name);
    }
  }
  return out;
}

// Each of several products that add up a branch writes the partial sum that is scattered.
TEST(BranchNorm, BehindSeveralProductsEachWritesWhatItMakes) {
  Strategy s = split({.tp = 2});
  s.sequence_parallel = true;
  Workload adapted = tiny_workload(1);
  adapted.lora.rank = 2;
  Model mixture = tiny_gemma();
  mixture.experts = 4, mixture.experts_per_token = 2, mixture.expert_ffn_hidden = 12;
  mixture.shared_ffn_hidden = 8;
  EXPECT_EQ(products_of_other_sizes(make_plan(tiny_gemma(), tiny_workload(1), s)), Names());
  EXPECT_EQ(products_of_other_sizes(make_plan(tiny_gemma(), adapted, s)), Names());
  EXPECT_EQ(products_of_other_sizes(make_plan(mixture, tiny_workload(1), s)), Names());
}

std::string refused(Model m) {
  try {
    make_plan(m, tiny_workload(1), {});
  } catch (const InputError& e) {
    return e.text().code + " " + e.text().where.path;
  }
  return "";
}

TEST(BranchNorm, IsNotPlannedBesideBiasesDropoutAndParallelBranches) {
  EXPECT_EQ(refused(tiny_gemma()), "");
  Model biased = tiny_gemma(), dropping = tiny_gemma(), parallel = tiny_gemma();
  biased.mlp_bias = true, dropping.dropout = 0.1, parallel.parallel_attention = true;
  EXPECT_EQ(refused(biased), "S145 model.mlp_bias");
  EXPECT_EQ(refused(dropping), "S145 model.dropout");
  EXPECT_EQ(refused(parallel), "S145 model.parallel_attention");
}

}  // namespace plait::branch_norm_test
