// Bidirectional encoders: what their layers, embedding and head hold, compute and send.
#include "core/error.h"
#include "model/iteration_flops.h"
#include "plan/memory.h"
#include "plan/serving.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::encoder_test {

/// As Megatron-LM has BERT: norms in front of attention and MLP, none behind the embedding.
Model pre_norm_bert() {
  Model m = tiny_bert();
  m.norm_position = NormPosition::kPre, m.embedding_norm = false;
  return m;
}

template <class Body>
std::vector<Body> bodies(const Block& block) {
  std::vector<Body> out;
  for (const Op& op : block.ops) {
    const Compute* c = std::get_if<Compute>(&op.body);
    if (c != nullptr && std::holds_alternative<Body>(*c)) out.push_back(std::get<Body>(*c));
  }
  return out;
}

TEST(Encoder, SeesTheWholeSquareForwardAndBackward) {
  const Plan plan = make_plan(tiny_bert(), tiny_workload(1), {});
  for (const char* block : {"layer.forward", "layer.backward"}) {
    const auto attention = bodies<Attention>(block_named(plan, block));
    ASSERT_EQ(attention.size(), 1U);
    EXPECT_FALSE(attention[0].causal);
  }
  const auto all = [](const Op&) { return true; };
  EXPECT_EQ(flops_of(plan, all).value, plan.model_flops.value) << "the square is not halved";
}

// A ring of n ranks has s^2 / n of the square on each, and so has a rank that gathers all keys.
TEST(Encoder, ContextParallelRanksShareTheWholeSquare) {
  for (const ContextKind kind : {ContextKind::kAllGather, ContextKind::kRing}) {
    Strategy s = split({.cp = 2});
    s.context.kind = kind;
    const Plan plan = make_plan(tiny_bert(), tiny_workload(1), s);
    Flops attention;
    for (const Attention& a : bodies<Attention>(block_named(plan, "layer.forward"))) {
      attention += flops(a);
    }
    EXPECT_EQ(attention.value, 2 * 2 * 8 * 8 * 16 / 2.0) << name_of(kind);
  }
}

TEST(Encoder, HasNoNormBehindTheLastLayerWhereEachLayerEndsWithOne) {
  const Plan post = make_plan(tiny_bert(), tiny_workload(1), {});
  EXPECT_EQ(bodies<Norm>(block_named(post, "head.forward")).size(), 1U) << "of the head's own";
  EXPECT_TRUE(std::holds_alternative<Norm>(
      std::get<Compute>(block_named(post, "layer.forward").ops.back().body)));
  const Plan pre = make_plan(pre_norm_bert(), tiny_workload(1), {});
  EXPECT_EQ(bodies<Norm>(block_named(pre, "head.forward")).size(), 2U);
  EXPECT_EQ(bodies<Norm>(block_named(pre, "embedding.forward")).size(), 0U);
}

// Both keep the layer's input, a sum in the middle and what attention and MLP read: of the norms'
// inputs and outputs there are as many.
TEST(Encoder, KeepsAsMuchOfALayerWhereverItsNormsStand) {
  const auto kept = [](Model m) {
    m.embedding_norm = false;
    const Plan plan = make_plan(m, tiny_workload(1), {});
    Bytes sum;
    for (const Tensor& t : plan.tensors) {
      const bool of_layer = t.scope == Scope::kLayerMicrobatch && t.name != "dx";
      if (of_layer && t.kind == TensorClass::kActivation) sum += t.bytes(plan.mesh);
    }
    return sum;
  };
  Model post = tiny_bert();
  EXPECT_EQ(kept(post), kept(pre_norm_bert()));
}

// As for GPT (Shoeybi et al. 2019, section 3), forward 2 all_reduces of 2 s b h.
TEST(Encoder, TensorParallelLayersReduceTwiceWhereverTheirNormsStand) {
  for (const Model& m : {tiny_bert(), pre_norm_bert()}) {
    const Plan plan = make_plan(m, tiny_workload(1), split({.tp = 2}));
    const Volume twice{2, 2 * 2 * 8 * 16};
    for (const char* block : {"layer.forward", "layer.backward"}) {
      EXPECT_EQ(traffic(block_named(plan, block), CollectiveKind::kAllReduce, Axis::kTp), twice);
    }
  }
}

// The first projection gathers the layer's input itself; all else as for pre-norm layers.
TEST(Encoder, SequenceParallelLayersGatherAndScatterTwice) {
  Strategy s = split({.tp = 2});
  s.sequence_parallel = true;
  const Plan plan = make_plan(tiny_bert(), tiny_workload(1), s);
  const Block& forward = block_named(plan, "layer.forward");
  const Volume twice{2, 2 * 2 * 8 * 16};
  EXPECT_EQ(traffic(forward, CollectiveKind::kAllGather, Axis::kTp), twice);
  EXPECT_EQ(traffic(forward, CollectiveKind::kReduceScatter, Axis::kTp), twice);
  EXPECT_TRUE(validate(plan).empty());
}

// Megatron-LM's BertLMHead: its dense layer is whole on every rank, the output matrix and its bias
// are split by vocabulary.
TEST(Encoder, TheHeadsLayerIsWholeAndItsOutputMatrixSplit) {
  Model m = tiny_bert();
  m.tied_embeddings = false;
  const Plan plan = make_plan(m, tiny_workload(1), split({.tp = 2}));
  const Mesh& mesh = plan.mesh;
  EXPECT_EQ(tensor_named(plan, "lm_head.dense.weight").elements(mesh), 16 * 16);
  EXPECT_EQ(tensor_named(plan, "output.weight").elements(mesh), 32 / 2 * 16);
  EXPECT_EQ(tensor_named(plan, "output.bias").elements(mesh), 32 / 2);
}

TEST(Encoder, PositionsOfATextShareARowOfTheTypes) {
  const auto lookups = bodies<Embedding>(
      block_named(make_plan(tiny_bert(), tiny_workload(1), {}), "embedding.forward"));
  ASSERT_EQ(lookups.size(), 3U);
  EXPECT_EQ(lookups[1].run, 1);
  EXPECT_EQ(lookups[2].run, 8 / 2) << "two texts in 8 tokens";
}

/// "S140 model.attention_window" of an encoder that `change` makes impossible; empty if it is none.
template <class Change>
std::string refusal_of(Change&& change) {
  Model m = tiny_bert();
  Workload w = tiny_workload(1);
  change(m, w);
  try {
    make_plan(m, w, {});
  } catch (const InputError& e) {
    return e.text().code + " " + e.text().where.path;
  }
  return "";
}

TEST(Encoder, IsRefusedWithWhatBelongsToDecoders) {
  EXPECT_EQ(refusal_of([](Model&, Workload&) {}), "");
  EXPECT_EQ(refusal_of([](Model& m, Workload&) { m.attention_window = 4; }),
            "S140 model.attention_window");
  EXPECT_EQ(refusal_of([](Model&, Workload& w) {
              w.documents = {Packing::kPacked, 4, {}};
            }),
            "S141 workload.documents.packing");
  EXPECT_EQ(refusal_of(
                [](Model& m, Workload&) { m.mtp_layers = 1, m.positions = PositionKind::kRotary; }),
            "S142 model.mtp_layers");
}

TEST(Encoder, NormsBehindTheLayersWantTheHeadForThem) {
  EXPECT_EQ(refusal_of([](Model& m, Workload&) { m.masked_lm_head = false; }),
            "S143 model.norm_position");
  EXPECT_EQ(refusal_of([](Model& m, Workload&) {
              m.parallel_attention = true, m.dropout = 0;
              m.mlp_bias = m.attention_output_bias = false;
            }),
            "S143 model.norm_position");
}

TEST(Encoder, IsNotServed) {
  const Step step = {{}, {1, 1, 4}, 1};
  try {
    make_serving_plan(tiny_bert(), step, {}, {split({}).mesh, even_layers(2, 1)}, 64);
    ADD_FAILURE() << "an encoder is served";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "S144");
    EXPECT_EQ(e.text().where.path, "model.causal");
  }
}

}  // namespace plait::encoder_test
