#include "kernels/cuda/route.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::route_test {

/// A lane has several experts, or some none; choices of a group are dealt to several warps, or to
/// one.
constexpr Routing kRoutings[] = {
    {.tokens = 100, .groups = 2, .experts = 70, .chosen = 3, .capacity = 9},
    {.tokens = 9, .groups = 3, .experts = 4, .chosen = 2, .capacity = 10},
    {.tokens = 40, .groups = 1, .experts = 3, .chosen = 3, .capacity = 40},
};

std::int64_t slots_of(const Routing& r) { return r.experts * r.capacity; }
template <class T>
std::vector<T> zeros(std::int64_t n) {
  return std::vector<T>(static_cast<std::size_t>(n));
}

template <class T>
class CudaRoute : public ::testing::Test {
 protected:
  /// Multiples of a quarter: many are equal.
  static Numbers<T> logits(Random& random, const Routing& r) {
    std::vector<float> x = random.values<float>(r.rows() * r.experts);
    for (float& v : x) v = std::round(4 * v) / 4;
    return narrowed<T>(x);
  }
  static std::vector<std::int64_t> chosen_slots(Random& random, const Routing& r) {
    std::vector<std::int64_t> slots(static_cast<std::size_t>(r.rows() * r.chosen));
    std::vector<float> gates(slots.size());
    kernels::route_forward(gates.data(), slots.data(), logits(random, r).wide.data(), r);
    return slots;
  }
};
TYPED_TEST_SUITE(CudaRoute, Elements);

TYPED_TEST(CudaRoute, ChoosesAndTakesSlotsAsItsTwin) {
  using T = TypeParam;
  Random random;
  for (const Routing& r : kRoutings) {
    const auto logits = this->logits(random, r);
    const std::int64_t n = r.rows() * r.chosen;
    auto gates = zeros<float>(n);
    auto slots = zeros<std::int64_t>(n);
    OnDevice<T> device_logits(logits.narrow), device_gates(unwritten<T>(n));
    OnDevice<std::int64_t> device_slots(slots);
    kernels::route_forward(gates.data(), slots.data(), logits.wide.data(), r);
    route_forward(queue(), device_gates.data(), device_slots.data(), device_logits.data(), r);
    EXPECT_EQ(device_slots.values(), slots);
    expect_close(device_gates, gates, 4);
  }
}

TYPED_TEST(CudaRoute, GradientEqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for (const Routing& r : kRoutings) {
    const auto slots = this->chosen_slots(random, r);
    const auto gates = numbers<T>(random, r.rows() * r.chosen);
    const auto dgates = numbers<T>(random, r.rows() * r.chosen);
    auto dlogits = zeros<float>(r.rows() * r.experts);
    OnDevice<T> out(unwritten<T>(r.rows() * r.experts)), g(gates.narrow), dg(dgates.narrow);
    OnDevice<std::int64_t> at(slots);
    kernels::route_backward(dlogits.data(), dgates.wide.data(), gates.wide.data(), slots.data(), r);
    route_backward(queue(), out.data(), dg.data(), g.data(), at.data(), r);
    expect_close(out, dlogits, r.chosen, 2);
  }
}

TYPED_TEST(CudaRoute, DispatchEqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for (const Routing& r : kRoutings) {
    const auto slots = this->chosen_slots(random, r);
    OnDevice<std::int64_t> at(slots);
    for (const std::int64_t width : {24, 5}) {
      const auto x = numbers<T>(random, r.rows() * width);
      const auto dfilled = numbers<T>(random, slots_of(r) * width);
      auto filled = zeros<float>(slots_of(r) * width), dx = zeros<float>(r.rows() * width);
      OnDevice<T> from(x.narrow, 1), to(unwritten<T>(slots_of(r) * width));
      OnDevice<T> dfrom(dfilled.narrow), dto(unwritten<T>(r.rows() * width));
      kernels::dispatch_forward(filled.data(), x.wide.data(), slots.data(), r.rows(), r.chosen,
                                slots_of(r), width);
      dispatch_forward(queue(), to.data(), from.data(), at.data(), r.rows(), r.chosen, slots_of(r),
                       width);
      expect_close(to, filled, 0);
      kernels::dispatch_backward(dx.data(), dfilled.wide.data(), slots.data(), r.rows(), r.chosen,
                                 width);
      dispatch_backward(queue(), dto.data(), dfrom.data(), at.data(), r.rows(), r.chosen, width);
      expect_close(dto, dx, r.chosen);
    }
  }
}

TYPED_TEST(CudaRoute, OwnSlotsEqualTheirTwin) {
  Random random;
  for (const Routing& r : kRoutings) {
    if (r.tokens % 2 != 0 || r.experts % 2 != 0) continue;
    const auto slots = this->chosen_slots(random, r);
    const kernels::GatheredSlots g{r.rows(), r.chosen, 2, r.experts / 2, r.experts / 2, r.capacity};
    std::vector<std::int64_t> own(slots.size());
    OnDevice<std::int64_t> at(slots), out(own);
    kernels::own_slots(own.data(), slots.data(), g);
    own_slots(queue(), out.data(), at.data(), g);
    EXPECT_EQ(out.values(), own);
  }
}

TYPED_TEST(CudaRoute, CombineEqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for (const Routing& r : kRoutings) {
    const auto slots = this->chosen_slots(random, r);
    OnDevice<std::int64_t> at(slots);
    const std::int64_t rows = r.rows(), k = r.chosen, all = slots_of(r);
    for (const std::int64_t width : {72, 5}) {
      const auto x = numbers<T>(random, all * width), dy = numbers<T>(random, rows * width);
      const auto gates = numbers<T>(random, rows * k);
      auto y = zeros<float>(rows * width), dx = zeros<float>(all * width),
           dg = zeros<float>(rows * k);
      OnDevice<T> device_x(x.narrow), device_dy(dy.narrow), device_gates(gates.narrow);
      OnDevice<T> out(unwritten<T>(rows * width)), dfilled(unwritten<T>(all * width));
      OnDevice<T> dgates(unwritten<T>(rows * k));
      kernels::combine_forward(y.data(), x.wide.data(), gates.wide.data(), slots.data(), rows, k,
                               width);
      combine_forward(queue(), out.data(), device_x.data(), device_gates.data(), at.data(), rows, k,
                      width);
      expect_close(out, y, k);
      kernels::combine_backward(dx.data(), dg.data(), dy.wide.data(), x.wide.data(),
                                gates.wide.data(), slots.data(), rows, k, all, width);
      combine_backward(queue(), dfilled.data(), dgates.data(), device_dy.data(), device_x.data(),
                       device_gates.data(), at.data(), rows, k, all, width);
      expect_close(dfilled, dx, 1);
      expect_close(dgates, dg, width);
    }
  }
}

}  // namespace plait::kernels::cuda::route_test
