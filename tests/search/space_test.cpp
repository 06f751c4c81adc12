// Which layouts there are.
#include "search/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/search/cases.h"

namespace plait::space_test {

Scenario one_node() {
  Case c = small_case(1, 8, 1, 1);
  c.workload.global_batch = 16;
  return scenario_of(c);
}

TEST(Space, SizesMultiplyToTheDevices) {
  for (const Layout& l : layouts_of(one_node())) {
    EXPECT_EQ(l.pp * l.dp * l.fsdp * l.cp * l.tp, 8);
    EXPECT_EQ(16 % (l.dp * l.fsdp * l.micro_batch), 0);
  }
}

TEST(Space, EveryLayoutComesOnce) {
  std::set<std::string> seen;
  for (const Layout& l : layouts_of(one_node())) EXPECT_TRUE(seen.insert(text_of(l)).second);
  EXPECT_GT(seen.size(), 100U);
}

TEST(Space, StateShardedOverAllReplicasHasOneName) {
  const std::vector<Layout> all = layouts_of(one_node());
  for (const Layout& l : all) {
    const bool one_axis = (l.dp == 1) != (l.fsdp == 1);
    EXPECT_TRUE(!one_axis || (l.fsdp > 1) == (l.zero_stage == 3)) << text_of(l);
  }
  Space on_fsdp;
  on_fsdp.dp = {1};
  const std::vector<Layout> named = layouts_of(one_node(), on_fsdp);
  EXPECT_TRUE(
      std::ranges::any_of(named, [](const Layout& l) { return l.fsdp > 1 && l.zero_stage == 1; }));
}

TEST(Space, HoldsWhatIsGiven) {
  Space space;
  space.tp = {2}, space.pp = {2}, space.recompute = {Recompute::kFull};
  space.micro_batch = {2}, space.schedule = {Schedule::kGpipe};
  const std::vector<Layout> all = layouts_of(one_node(), space);
  ASSERT_FALSE(all.empty());
  for (const Layout& l : all) {
    EXPECT_EQ(l.tp, 2);
    EXPECT_EQ(l.pp, 2);
    EXPECT_EQ(l.micro_batch, 2);
    EXPECT_EQ(l.recompute, Recompute::kFull);
    EXPECT_EQ(l.schedule, Schedule::kGpipe);
  }
}

// All forward passes before the first backward one are another plan, be it of one stage.
TEST(Space, GpipeOfOneStageIsTriedWhereItIsAskedFor) {
  Scenario s = one_node();
  const auto schedules = [&s](const Space& space) {
    std::set<Schedule> out;
    for (const Layout& l : layouts_of(s, space)) out.insert(l.schedule);
    return out;
  };
  Space space;
  space.pp = {1};
  EXPECT_EQ(schedules(space), std::set{Schedule::k1f1b});
  space.schedule = {Schedule::kGpipe};
  EXPECT_EQ(schedules(space), std::set{Schedule::kGpipe});
  space.schedule = {Schedule::kGpipe, Schedule::kZbH1};
  EXPECT_EQ(schedules(space), (std::set{Schedule::kGpipe, Schedule::k1f1b}));
  space.framework_schedules = true;  // nobody asks for what a framework has
  EXPECT_EQ(schedules(space), std::set{Schedule::k1f1b});
  space.schedule.clear(), s.strategy.pipeline.schedule = Schedule::kGpipe;
  EXPECT_EQ(schedules(space), (std::set{Schedule::kGpipe, Schedule::k1f1b}));
}

// One forward and one backward pass have one order.
TEST(Space, GpipeOfOneMicrobatchIsNoFurtherPlan) {
  Scenario s = one_node();
  Space space;
  space.pp = {1}, space.tp = {8}, space.micro_batch = {s.workload.global_batch};
  space.schedule = {Schedule::kGpipe, Schedule::k1f1b};
  const auto only = [&s, &space](Schedule schedule) {
    return std::ranges::all_of(layouts_of(s, space),
                               [=](const Layout& l) { return l.schedule == schedule; });
  };
  EXPECT_TRUE(only(Schedule::k1f1b));
  s.strategy.pipeline.schedule = Schedule::kGpipe;
  EXPECT_TRUE(only(Schedule::kGpipe));
}

TEST(Space, ALayoutIsItsOwnSpace) {
  const Scenario s = one_node();
  for (const Layout& l : layouts_of(s)) {
    EXPECT_EQ(layouts_of(with_layout(s, l), only(l)), std::vector<Layout>{l}) << text_of(l);
  }
}

TEST(Space, LayersAreSharedAsEvenlyAsCanBe) {
  Layout l;
  EXPECT_TRUE(share_layers(126, 16, l));  // Llama 3.1 405B: 7 + 14 x 8 + 7
  EXPECT_EQ(l.first_layers, 7);
  EXPECT_EQ(l.last_layers, 7);
  EXPECT_TRUE(share_layers(80, 16, l));
  EXPECT_EQ(l.first_layers, -1);
  EXPECT_TRUE(share_layers(79, 16, l));  // the head's stage has one less
  EXPECT_EQ(l.first_layers, 5);
  EXPECT_EQ(l.last_layers, 4);
  EXPECT_FALSE(share_layers(3, 2, l));
}

// A list of layers is of all layouts with as many pieces, and of no others.
TEST(Space, ListedLayersGoWithAsManyPieces) {
  Scenario s = one_node();
  s.model.layers = 6;
  s.strategy.pipeline.stage_layers = {1, 2, 2, 1};
  std::set<std::int64_t> listed, others;
  for (const Layout& l : layouts_of(s)) {
    const std::int64_t pieces = PieceMap(l.schedule, l.pp, l.chunks).count();
    (l.listed_pieces ? listed : others).insert(pieces);
    EXPECT_EQ(strategy_of(l, s.strategy).pipeline.stage_layers.empty(), !l.listed_pieces);
  }
  EXPECT_EQ(listed, std::set<std::int64_t>{4});
  EXPECT_TRUE(others.contains(2) && others.contains(6) && !others.contains(4));
  s.strategy.pipeline.stage_layers = {1, 2, 2, 2};  // not those of the model
  for (const Layout& l : layouts_of(s)) EXPECT_FALSE(l.listed_pieces);
}

// Layers of the ends that are given beside no size of pp are those of every pipeline where the rest
// is shared evenly; beside one, of that alone.
TEST(Space, GivenEndsAreThoseOfEveryPipelineWherePpIsOpen) {
  Scenario s = one_node();
  s.model.layers = 8;
  s.strategy.pipeline.first_stage_layers = 2;
  Space space;
  space.schedule = {Schedule::k1f1b};
  std::set<std::int64_t> stages;
  for (const Layout& l : layouts_of(s, space)) {
    stages.insert(l.pp);
    EXPECT_EQ(l.first_layers, l.pp > 1 ? 2 : -1) << text_of(l);
  }
  EXPECT_EQ(stages, (std::set<std::int64_t>{1, 2, 4}));  // 2 + 6, 2 + 3 x 2
  s.strategy.mesh[Axis::kPp] = 4;
  for (const Layout& l : layouts_of(s, space)) EXPECT_EQ(l.first_layers == 2, l.pp == 4);
}

TEST(Space, ZeroPlusPlusShardsWeightsAndItsSecondShardsLieWithinFsdp) {
  Scenario s = one_node();
  s.strategy.zero_plus_plus.secondary_shard = true;
  const std::vector<Layout> all = layouts_of(s);
  EXPECT_FALSE(all.empty());
  for (const Layout& l : all) {
    EXPECT_TRUE(l.zero_stage == 3 && l.dp > 1 && l.fsdp > 1) << text_of(l);
  }
}

TEST(Space, StagesOfZeroFollowFsdpWhereNoneIsGiven) {
  Space space;
  space.zero_follows_fsdp = true;
  for (const Layout& l : layouts_of(one_node(), space)) {
    EXPECT_EQ(l.zero_stage, l.fsdp > 1 ? 3 : 0) << text_of(l);
  }
}

// Ranks that exchange heads are an equal part of those that share a sequence.
TEST(Space, HybridsOfRingsHaveEqualGroups) {
  Scenario s = one_node();
  s.strategy.context = {.kind = ContextKind::kHybrid, .ulysses = 4};
  Space space;
  space.cp = {1, 2, 4, 8};
  std::set<std::int64_t> sizes;
  for (const Layout& l : layouts_of(s, space)) sizes.insert(l.cp);
  EXPECT_FALSE(sizes.contains(2));
  EXPECT_TRUE(sizes.contains(1) && sizes.contains(4));
}

// The scenario's own schedule is tried, too, where it is not one that every search tries.
TEST(Space, HasTheScenariosOwnSchedule) {
  Scenario s = one_node();
  const auto tries = [&] {
    return std::ranges::count(layouts_of(s), Schedule::kDualPipeV, &Layout::schedule);
  };
  EXPECT_EQ(tries(), 0);
  s.strategy.pipeline.schedule = Schedule::kDualPipeV, s.strategy.pipeline.chunks = 2;
  EXPECT_GT(tries(), 0);
}

// Experts are shared out evenly, over tp too where experts.axes has it, and each rank along ep has
// sequences of its own.
TEST(Space, ExpertsAreSharedEvenly) {
  Case c = small_case(1, 8, 1, 1);
  c.workload.global_batch = 16;
  Model& m = c.model;
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = m.ffn_hidden, m.mlp_bias = false;
  for (const AxisSet axes : {AxisSet(Axis::kEp), AxisSet(Axis::kEp) | Axis::kTp}) {
    c.strategy.experts.axes = axes;
    std::set<std::int32_t> sizes;
    for (const Layout& l : layouts_of(scenario_of(c))) {
      EXPECT_EQ(l.pp * l.dp * l.fsdp * l.cp * l.ep * l.tp, 8) << text_of(l);
      EXPECT_EQ(m.experts % (l.ep * (axes.has(Axis::kTp) ? l.tp : 1)), 0) << text_of(l);
      EXPECT_EQ(16 % (l.replicas() * l.micro_batch), 0) << text_of(l);
      if (l.tp == 2) sizes.insert(l.ep);
    }
    const std::int32_t most = axes.has(Axis::kTp) ? 2 : 4;
    EXPECT_EQ(*sizes.rbegin(), most);
  }
}

// At most so many ranks along tp split an expert as the scenario says: all of tp 2, two of four,
// and the others have other experts.
TEST(Space, ExpertsAreSplitAsTheScenarioSays) {
  Case c = small_case(1, 8, 1, 1);
  c.workload.global_batch = 16;
  Model& m = c.model;
  m.heads = m.kv_heads = 8;
  m.experts = 2, m.experts_per_token = 2, m.expert_ffn_hidden = 2, m.mlp_bias = false;
  c.strategy.experts.axes = AxisSet(Axis::kEp) | Axis::kTp, c.strategy.experts.tp = 2;
  std::map<std::int32_t, std::int32_t> most_ep;
  for (const Layout& l : layouts_of(scenario_of(c))) {
    most_ep[l.tp] = std::max(most_ep[l.tp], l.ep);
    const Strategy s = strategy_of(l, c.strategy);
    EXPECT_EQ(s.mesh.size_of(kTensorAxes), l.tp);
    EXPECT_EQ(s.mesh[Axis::kEtp], l.tp > 2 ? 2 : 1) << text_of(l);
  }
  EXPECT_EQ(most_ep[2], 2);
  EXPECT_EQ(most_ep[4], 1);
  c.strategy.experts.tp = 3;  // columns of an expert, and ranks, that are no threes
  for (const Layout& l : layouts_of(scenario_of(c))) EXPECT_LE(l.tp, 2) << text_of(l);
}

// What is enumerated can be planned, but for combinations that make_plan alone refuses.
void expect_planned(const Scenario& s) {
  const std::vector<Layout> all = layouts_of(s);
  EXPECT_GT(all.size(), 100U);
  for (const Layout& l : all) {
    EXPECT_TRUE(evaluate(s, {}, l, kNoLimit).has_value()) << text_of(l);
  }
}
TEST(Space, LayoutsCanBePlanned) { expect_planned(one_node()); }
TEST(Space, LayoutsOfHybridsCanBePlanned) {
  Scenario s = one_node();
  Model& m = s.model;
  m.layer_pattern = "M*-m";
  m.state_size = m.state_head_dim = 8, m.state_heads = 12, m.state_groups = 6;
  expect_planned(s);
  // tp divides groups of heads, and no sequence is divided.
  for (const Layout& l : layouts_of(s)) EXPECT_TRUE(6 % l.tp == 0 && l.cp == 1) << text_of(l);
}
// Its gradients are in two places only where the ends of the pipeline are.
TEST(Space, ATiedMatrixIsShardedWhereItIsOnOneStage) {
  Scenario s = one_node();
  s.model.tied_embeddings = true;
  Space space;
  space.schedule = {Schedule::k1f1b, Schedule::kZbV};
  space.pp = {2}, space.tp = {1}, space.cp = {1}, space.micro_batch = {1};
  std::set<std::pair<Schedule, int>> found;
  for (const Layout& l : layouts_of(s, space)) {
    found.emplace(l.schedule, l.zero_stage);
    EXPECT_TRUE(evaluate(s, {}, l, kNoLimit).has_value()) << text_of(l);
  }
  EXPECT_TRUE(found.contains({Schedule::kZbV, 2}) && found.contains({Schedule::kZbV, 3}));
  EXPECT_TRUE(found.contains({Schedule::k1f1b, 1}));
  EXPECT_FALSE(found.contains({Schedule::k1f1b, 2}) || found.contains({Schedule::k1f1b, 3}));
}

// Whatever their order; more than a piece has are all.
TEST(Space, NumbersOfRecomputedLayersAreThoseThatAreAskedFor) {
  Scenario s = one_node();
  s.model.layers = 4;
  const auto numbers = [&s](std::vector<std::int64_t> asked) {
    Space space;
    space.recompute = {Recompute::kFull}, space.recompute_layers = std::move(asked);
    space.pp = space.tp = space.cp = space.fsdp = space.micro_batch = {1};
    space.zero_stage = {1}, space.dp = {8};
    std::vector<int> out;
    for (const Layout& l : layouts_of(s, space)) out.push_back(l.recompute_layers);
    return out;
  };
  EXPECT_EQ(numbers({3, 1, 3}), (std::vector{1, 3}));
  EXPECT_EQ(numbers({0, 2}), (std::vector{0, 2}));
  EXPECT_EQ(numbers({9, 2, -1}), (std::vector{-1, 2}));
}

TEST(Space, LayoutsWithAdaptersCanBePlanned) {
  Scenario s = one_node();
  s.workload.lora.rank = 4;
  s.model.tied_embeddings = true;
  expect_planned(s);
  // A tied matrix that is frozen may be sharded on both of its stages.
  EXPECT_TRUE(std::ranges::any_of(layouts_of(s),
                                  [](const Layout& l) { return l.pp > 1 && l.zero_stage == 3; }));
}

}  // namespace plait::space_test
