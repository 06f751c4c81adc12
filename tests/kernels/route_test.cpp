#include "kernels/route.h"

#include <set>

#include "tests/kernels/reference.h"

namespace plait::kernels::route_test {

template <class T>
class Route : public ::testing::Test {};
TYPED_TEST_SUITE(Route, Precisions);

TYPED_TEST(Route, ChoosesTheLargestLogitsAndOfEqualOnesTheFirst) {
  using T = TypeParam;
  const Routing r{.tokens = 1, .groups = 1, .experts = 4, .chosen = 3, .capacity = 1};
  const std::vector<T> logits = {1, 3, 1, 2};
  auto gates = poisoned<T>(3);
  std::vector<std::int64_t> slots(3);
  route_forward(gates.data(), slots.data(), logits.data(), r);
  EXPECT_EQ(slots, (std::vector<std::int64_t>{1, 3, 0}));
  const double sum = 1 + std::exp(-1.0) + std::exp(-2.0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(static_cast<double>(gates[static_cast<std::size_t>(i)]), std::exp(-i) / sum, 1e-6);
  }
}

TYPED_TEST(Route, GivesEverySlotOnceAndDropsThoseBehindTheCapacity) {
  using T = TypeParam;
  const Routing r{.tokens = 16, .groups = 2, .experts = 4, .chosen = 2, .capacity = 9};
  Random random;
  const auto logits = random.values<T>(r.rows() * r.experts);
  auto gates = poisoned<T>(r.rows() * r.chosen);
  std::vector<std::int64_t> slots(static_cast<std::size_t>(r.rows() * r.chosen));
  route_forward(gates.data(), slots.data(), logits.data(), r);
  std::set<std::int64_t> taken;
  std::vector<std::int64_t> wanted(8);  // by expert and group
  for (std::int64_t i = 0; i < r.rows() * r.chosen; ++i) {
    const std::int64_t slot = slots[static_cast<std::size_t>(i)], group = i / r.chosen % r.groups;
    const std::int64_t expert = r.expert_of(slot);
    const std::int64_t before = wanted[static_cast<std::size_t>(expert * 2 + group)]++;
    ASSERT_EQ(slot < 0, before >= r.slots_of(group)) << i;
    if (slot < 0) continue;
    EXPECT_TRUE(taken.insert(slot).second);
    EXPECT_EQ(slot, expert * 9 + group * 4 + before);
  }
}

TYPED_TEST(Route, AGroupsSlotsDoNotDependOnOtherGroups) {
  using T = TypeParam;
  const Routing two{.tokens = 8, .groups = 2, .experts = 4, .chosen = 2, .capacity = 6};
  Routing one = two;
  one.groups = 1, one.capacity = 3;
  Random random;
  const auto logits = random.values<T>(two.rows() * 4);
  std::vector<T> second;
  for (std::int64_t t = 0; t < 8; ++t) {
    const auto row = logits.begin() + (t * 2 + 1) * 4;
    second.insert(second.end(), row, row + 4);
  }
  std::vector<T> gates(32), alone_gates(16);
  std::vector<std::int64_t> slots(32), alone(16);
  route_forward(gates.data(), slots.data(), logits.data(), two);
  route_forward(alone_gates.data(), alone.data(), second.data(), one);
  for (std::size_t t = 0; t < 8; ++t) {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t a = slots[(t * 2 + 1) * 2 + i], b = alone[t * 2 + i];
      EXPECT_EQ(a < 0, b < 0);
      EXPECT_EQ(a, b < 0 ? b : (b / 3 * 2 + 1) * 3 + b % 3);
      EXPECT_EQ(gates[(t * 2 + 1) * 2 + i], alone_gates[t * 2 + i]);
    }
  }
}

// Three ranks with two tokens of two choices each, of five experts with two slots for each rank:
// rank 1 of the experts' has the third and fourth. Slot c of sender r at own expert e becomes
// (3 e + r) 2 + c; what others have, and what was dropped, -1.
TEST(OwnSlots, LieByExpertAndSender) {
  const GatheredSlots g{
      .rows = 6, .chosen = 2, .senders = 3, .first = 2, .experts = 2, .capacity = 2};
  const auto slot = [](std::int64_t expert, std::int64_t place) { return 2 * expert + place; };
  const std::vector<std::int64_t> slots = {slot(2, 0), slot(0, 0), slot(3, 0), slot(2, 1),
                                           slot(4, 1), -1 - 2,     slot(3, 1), slot(3, 0),
                                           slot(1, 1), slot(2, 0), -1 - 3,     slot(3, 1)};
  std::vector<std::int64_t> own(slots.size(), 99);
  own_slots(own.data(), slots.data(), g);
  const std::vector<std::int64_t> expected = {0, -1, 6, 1, -1, -1, 9, 8, -1, 4, -1, 11};
  EXPECT_EQ(own, expected);
}

/// A whole mixture whose experts do nothing: y = sum of gate x in the slots that were taken. Its
/// gradient by logits and inputs is that of central differences.
struct Mixture {
  Routing r{.tokens = 4, .groups = 1, .experts = 3, .chosen = 2, .capacity = 3};
  std::int64_t width = 3;
  std::vector<double> weights;  // of the loss

  std::int64_t slots() const { return r.experts * r.capacity; }
  double loss(const std::vector<double>& logits, const std::vector<double>& x) const {
    std::vector<double> gates(8), filled(static_cast<std::size_t>(slots() * width)), out(x.size());
    std::vector<std::int64_t> at(8);
    route_forward(gates.data(), at.data(), logits.data(), r);
    dispatch_forward(filled.data(), x.data(), at.data(), 4, 2, slots(), width);
    for (std::size_t i = 0; i < filled.size(); ++i) filled[i] *= 1.0 + 0.1 * double(i % 7);
    combine_forward(out.data(), filled.data(), gates.data(), at.data(), 4, 2, width);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += weights[i] * out[i];
    return sum;
  }
};

TEST(RouteGradients, AreThoseOfCentralDifferences) {
  Random random;
  Mixture m;
  m.weights = random.values<double>(12);
  const auto logits = random.values<double>(12), x = random.values<double>(12);
  std::vector<double> gates(8), dgates(8), dlogits(12), dx(12);
  std::vector<double> filled(static_cast<std::size_t>(m.slots() * 3)), dfilled(filled.size());
  std::vector<std::int64_t> at(8);
  route_forward(gates.data(), at.data(), logits.data(), m.r);
  dispatch_forward(filled.data(), x.data(), at.data(), 4, 2, m.slots(), 3);
  for (std::size_t i = 0; i < filled.size(); ++i) filled[i] *= 1.0 + 0.1 * double(i % 7);
  combine_backward(dfilled.data(), dgates.data(), m.weights.data(), filled.data(), gates.data(),
                   at.data(), 4, 2, m.slots(), 3);
  for (std::size_t i = 0; i < filled.size(); ++i) dfilled[i] *= 1.0 + 0.1 * double(i % 7);
  dispatch_backward(dx.data(), dfilled.data(), at.data(), 4, 2, 3);
  route_backward(dlogits.data(), dgates.data(), gates.data(), at.data(), m.r);
  constexpr double h = 1e-5;
  for (std::size_t i = 0; i < 12; ++i) {
    auto up = logits, down = logits;
    up[i] += h, down[i] -= h;
    EXPECT_NEAR(dlogits[i], (m.loss(up, x) - m.loss(down, x)) / (2 * h), 1e-7) << "logit " << i;
    up = down = x;
    up[i] += h, down[i] -= h;
    EXPECT_NEAR(dx[i], (m.loss(logits, up) - m.loss(logits, down)) / (2 * h), 1e-7) << "x " << i;
  }
}

}  // namespace plait::kernels::route_test
