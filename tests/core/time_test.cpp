#include "core/time.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "core/error.h"

namespace plait::time_test {

std::string code_of(const std::function<SimTime()>& count) {
  try {
    count();
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

TEST(Time, ATimeThatIsTooLongIsTheUsersFault) {
  constexpr double kLongest = 100.0 * 24 * 3600;
  EXPECT_EQ(to_sim_time(Seconds(kLongest)), kLongestTime);
  EXPECT_EQ(code_of([] { return to_sim_time(Seconds(kLongest + 1)); }), "S199");
  EXPECT_EQ(code_of([] { return to_sim_time(Seconds(std::numeric_limits<double>::infinity())); }),
            "S199");
  EXPECT_THROW(to_sim_time(Seconds(-1)), InternalError);
  EXPECT_THROW(to_sim_time(Seconds(std::numeric_limits<double>::quiet_NaN())), InternalError);
}

TEST(Time, NoSumOrProductIsLongerThanWhatIsCounted) {
  EXPECT_EQ(counted_sum(kLongestTime - 3, 3), kLongestTime);
  EXPECT_EQ(code_of([] { return counted_sum(kLongestTime - 3, 4); }), "S199");
  EXPECT_EQ(code_of([] { return counted_sum(kLongestTime, kLongestTime); }), "S199");
  EXPECT_EQ(counted_product(100, kLongestTime / 100), kLongestTime);
  EXPECT_EQ(code_of([] { return counted_product(1'000'000'000, kLongestTime); }), "S199");
}

TEST(Time, ATimeIsScaledAsIfProductsHadNoLimit) {
  EXPECT_EQ(scaled_up(10, 132, 100), 14) << "13.2";
  EXPECT_EQ(scaled_up(kLongestTime, 132, 132), kLongestTime);
  EXPECT_EQ(scaled_up(kLongestTime / 2, 1'000'000'000, 500'000'000), kLongestTime);
  EXPECT_EQ(code_of([] { return scaled_up(kLongestTime / 2, 3, 1); }), "S199");
}

}  // namespace plait::time_test
