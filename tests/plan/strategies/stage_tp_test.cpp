// Stages of different tensor-parallel degrees: each is what it is in a pipeline of its degree, and
// the activations that cross between them arrive once.
#include <algorithm>

#include "core/error.h"
#include "plan/memory.h"
#include "plan/places.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::stage_tp_test {

using TpOfStages = std::vector<std::int64_t>;
constexpr std::int64_t kStream = 8 * 16 * 2;  // s b h of two bytes

Model model(std::int64_t layers = 4) {
  Model m = tiny_llama(layers);
  m.kv_heads = 4;
  return m;
}

Strategy by_stage(TpOfStages degrees, std::int64_t dp = 1) {
  Strategy s = split(
      {.pp = static_cast<std::int64_t>(degrees.size()), .dp = dp, .tp = std::ranges::max(degrees)});
  s.pipeline.stage_tp = std::move(degrees);
  return s;
}

const TpOfStages kPairs[] = {{4, 2}, {2, 4}, {4, 1}, {1, 4}, {2, 1}, {1, 2}};

/// Messages of a rank of `stage`: how many, and what it sends or receives with all its peers.
template <class Message>
Volume messages(const Plan& plan, std::size_t stage) {
  Volume v;
  for_each_op(plan, stage, [&](const Call&, const Op& op) {
    const Message* m = std::get_if<Message>(&op.body);
    if (m == nullptr) return;
    EXPECT_EQ(peers(plan, rank_at(plan, static_cast<std::int64_t>(stage) * plan.places_per_stage()),
                    m->axis, m->offset)
                  .size(),
              static_cast<std::size_t>(m->fan.peers));
    v.count += m->fan.peers, v.bytes += m->fan.peers * m->bytes.value;
  });
  return v;
}

// With plain tensor parallelism every rank has all of the residual stream, which it receives once
// for each microbatch. Where several ranks share a peer, they send it in equal parts.
TEST(StageTp, EveryRankReceivesTheWholeStreamOncePerMicrobatch) {
  const std::int64_t m = 4;
  for (const TpOfStages& tp : kPairs) {
    const Plan plan = make_plan(model(), tiny_workload(m), by_stage(tp));
    for (std::size_t to : {0U, 1U}) {
      const std::size_t from = 1 - to;
      const std::int64_t peers_of_to = std::max<std::int64_t>(1, tp[from] / tp[to]);
      EXPECT_EQ(messages<Recv>(plan, to), (Volume{m * peers_of_to, m * kStream}));
      EXPECT_EQ(messages<Send>(plan, from).bytes * tp[from], m * kStream * tp[to]);
    }
  }
}

// With sequence parallelism ranks have shards of it, and what crosses is one stream in all.
TEST(StageTp, ShardsOfTheSequenceCrossOnce) {
  const std::int64_t m = 2;
  for (const TpOfStages& tp : kPairs) {
    Strategy s = by_stage(tp);
    s.sequence_parallel = true;
    const Plan plan = make_plan(model(), tiny_workload(m), s);
    for (std::size_t stage : {0U, 1U}) {
      EXPECT_EQ(messages<Recv>(plan, stage).bytes * tp[stage], m * kStream);
      EXPECT_EQ(messages<Send>(plan, stage).bytes * tp[stage], m * kStream);
    }
  }
}

// What happens within a stage is what happens there in a pipeline whose stages all have its degree.
TEST(StageTp, AStageCommunicatesAndRemembersAsInAPipelineOfItsDegree) {
  for (const TpOfStages& tp : {TpOfStages{4, 2, 1}, TpOfStages{1, 2, 2}, TpOfStages{2, 4, 1}}) {
    for (const int zero : {0, 1, 3}) {
      Strategy uneven = by_stage(tp, 2);
      uneven.zero_stage = zero;
      const Plan plan = make_plan(model(3), tiny_workload(4), uneven);
      for (std::size_t s = 0; s < tp.size(); ++s) {
        const Plan alike =
            make_plan(model(3), tiny_workload(4), split({.pp = 3, .dp = 2, .tp = tp[s]}, zero));
        for (const AxisSet axes : {AxisSet(Axis::kTp), AxisSet(Axis::kDp)}) {
          for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                            CollectiveKind::kReduceScatter}) {
            EXPECT_EQ(traffic(plan, s, kind, axes), traffic(alike, s, kind, axes));
          }
        }
        EXPECT_EQ(live_memory(plan, s).peak, live_memory(alike, s).peak);
        EXPECT_EQ(op_count(plan, s), op_count(alike, s));
      }
    }
  }
}

// Products are divided among the ranks of their stage, whatever their number.
TEST(StageTp, AllRanksTogetherMultiplyAsMuchAsWithoutTensorParallelism) {
  const auto products = [](const Plan& plan) {
    double sum = 0;
    for (std::size_t s = 0; s < plan.programs.size(); ++s) {
      const auto ranks = static_cast<double>(ranks_of_stage(plan, static_cast<std::int64_t>(s)));
      for_each_op(plan, s, [&](const Call&, const Op& op) {
        const Compute* c = std::get_if<Compute>(&op.body);
        if (c != nullptr && std::holds_alternative<MatMul>(*c)) sum += ranks * flops(*c).value;
      });
    }
    return sum;
  };
  const double whole = products(make_plan(model(), tiny_workload(2), Strategy{}));
  for (const TpOfStages& tp : kPairs) {
    EXPECT_EQ(products(make_plan(model(), tiny_workload(2), by_stage(tp))), whole);
  }
}

TEST(StageTp, PlansAreSound) {
  for (const TpOfStages& tp : kPairs) {
    for (const Schedule schedule : {Schedule::kGpipe, Schedule::k1f1b, Schedule::kInterleaved,
                                    Schedule::kZbH1, Schedule::kZbV}) {
      for (const bool sp : {false, true}) {
        Strategy s = by_stage(tp, 2);
        s.pipeline.schedule = schedule, s.sequence_parallel = sp, s.zero_stage = sp ? 1 : 0;
        const bool chunks = schedule == Schedule::kInterleaved || schedule == Schedule::kZbV;
        s.pipeline.chunks = chunks ? 2 : 1;
        Workload w = tiny_workload(8);
        w.gradient_clipping = true;
        for (const PlanFault& f : validate(make_plan(model(), w, s))) ADD_FAILURE() << f.text;
      }
    }
  }
}

TEST(StageTp, AListOfEqualDegreesIsNone) {
  const Plan listed = make_plan(model(), tiny_workload(2), by_stage({2, 2}));
  const Plan plain = make_plan(model(), tiny_workload(2), split({.pp = 2, .tp = 2}));
  EXPECT_TRUE(listed.stage_tp.empty());
  EXPECT_EQ(op_count(listed), op_count(plain));
  EXPECT_EQ(listed.tensors.size(), plain.tensors.size());
  for (std::size_t s : {0U, 1U}) EXPECT_EQ(messages<Send>(listed, s), messages<Send>(plain, s));
}

void expect_refused(const Model& m, const Strategy& s, const std::string& code,
                    const std::string& path) {
  try {
    make_plan(m, tiny_workload(8), s);
    ADD_FAILURE() << code << " is not raised";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, code) << e.what();
    EXPECT_EQ(e.text().where.path, path) << e.what();
  }
}

TEST(StageTp, DegreesFitTheirNeighbours) {
  Model m = model();
  m.heads = m.kv_heads = 12, m.hidden = 48, m.vocab = 48;
  expect_refused(m, by_stage({6, 3, 2}), "S052", "strategy.stage_tp");  // 3 beside 2
  expect_refused(m, by_stage({4, 3}), "S052", "strategy.stage_tp");
  Strategy s = by_stage({4, 2});
  s.mesh[Axis::kPp] = 3;
  expect_refused(m, s, "S052", "strategy.stage_tp");
  Strategy ring = by_stage({3, 6, 2});  // the last stage sends to the first one
  ring.pipeline.schedule = Schedule::kInterleaved, ring.pipeline.chunks = 2;
  expect_refused(m, ring, "S052", "strategy.stage_tp");
}

TEST(StageTp, WhatNeedsAlikeStagesIsRefused) {
  Model tied = model();
  tied.tied_embeddings = true, tied.layers = 6;
  expect_refused(tied, by_stage({2, 1}), "S053", "model.tied_embeddings");
  EXPECT_NO_THROW(make_plan(tied, tiny_workload(8), by_stage({2, 1, 2})));
  Strategy both = by_stage({2, 1});
  both.pipeline.schedule = Schedule::kDualPipe, both.pipeline.chunks = 2;
  expect_refused(model(), both, "S053", "strategy.pipeline.schedule");
  Model looks_up_twice = model();
  looks_up_twice.mtp_layers = 1;
  expect_refused(looks_up_twice, by_stage({2, 1}), "S053", "model.mtp_layers");
  EXPECT_NO_THROW(make_plan(looks_up_twice, tiny_workload(8), by_stage({2, 2, 1, 2})));
}

}  // namespace plait::stage_tp_test
