#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace plait::parallel_test {

TEST(Parallel, DoesEachPieceOnce) {
  for (const int jobs : {1, 2, 5, 40}) {
    for (const std::size_t n : {0U, 1U, 2U, 33U, 1000U}) {
      std::vector<std::atomic<int>> times(n);
      in_parallel(n, jobs, [&](std::size_t i) { ++times[i]; });
      for (const auto& t : times) EXPECT_EQ(t, 1) << n << " pieces, " << jobs << " jobs";
    }
  }
}

TEST(Parallel, CutsIntoPiecesThatCoverAll) {
  std::vector<int> times(1003);
  std::atomic<std::size_t> pieces{0};
  in_pieces(times.size(), 10, 3, [&](std::size_t p, std::size_t begin, std::size_t end) {
    EXPECT_EQ(begin, p * 10);
    for (std::size_t i = begin; i < end; ++i) ++times[i];
    ++pieces;
  });
  EXPECT_EQ(pieces, piece_count(times.size(), 10));
  EXPECT_EQ(std::accumulate(times.begin(), times.end(), 0), 1003);
}

/// Nobody passes the barrier alone, so this ends only if so many work at the same time.
TEST(Parallel, WorksOnAsManyThreadsAsAsked) {
  for (const int jobs : {2, 4, 3}) {
    std::barrier together(jobs);
    in_parallel(static_cast<std::size_t>(jobs), jobs,
                [&](std::size_t) { together.arrive_and_wait(); });
  }
}

TEST(Parallel, UsesNoMoreThreadsThanAsked) {
  std::atomic<int> at_work{0}, most{0};
  in_parallel(8, 8, [](std::size_t) {});  // there are helpers enough for more
  in_parallel(200, 3, [&](std::size_t) {
    const int now = ++at_work;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    std::this_thread::yield();
    --at_work;
  });
  EXPECT_LE(most, 3);
}

TEST(Parallel, PiecesMayHavePieces) {
  std::atomic<int> sum{0};
  in_parallel(6, 3, [&](std::size_t) {
    in_parallel(7, 3, [&](std::size_t) { in_parallel(5, 2, [&](std::size_t) { ++sum; }); });
  });
  EXPECT_EQ(sum, 6 * 7 * 5);
}

TEST(Parallel, CallsFromSeveralThreadsShareTheHelpers) {
  std::atomic<int> sum{0};
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < 4; ++c) {
      callers.emplace_back([&] {
        for (int k = 0; k < 200; ++k) in_parallel(5, 3, [&](std::size_t) { ++sum; });
      });
    }
  }
  EXPECT_EQ(sum, 4 * 200 * 5);
}

TEST(Parallel, ThrowsTheErrorOfTheFirstPieceAfterAllAreDone) {
  std::atomic<int> begun{0};
  try {
    in_parallel(50, 4, [&](std::size_t i) {
      ++begun;
      if (i == 41 || i == 7 || i == 30) throw std::runtime_error(std::to_string(i));
    });
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(begun, 50);
}

/// Of two threads one ends its piece while the other's asks for both.
TEST(Parallel, WhoeverWaitsForTheOthersHelpsThem) {
  for (int k = 0; k < 100; ++k) {
    std::latch begun(2);
    in_parallel(2, 2, [&](std::size_t i) {
      begun.arrive_and_wait();
      if (i == 0) return;
      std::barrier together(2);
      in_parallel(2, 2, [&](std::size_t) { together.arrive_and_wait(); });
    });
  }
}

TEST(Parallel, TellsHowManyAreDoneOneByOne) {
  std::vector<std::size_t> heard;
  in_parallel(
      100, 4, [](std::size_t) {}, [&](std::size_t done) { heard.push_back(done); });
  std::vector<std::size_t> counted(100);
  std::iota(counted.begin(), counted.end(), 1U);
  EXPECT_EQ(heard, counted);
}

TEST(Parallel, TheLongestComeFirstAndEqualsInTheirOrder) {
  const std::vector<std::int64_t> lengths = {3, 9, 3, 12, 0};
  EXPECT_EQ(longest_first(lengths.size(), [&](std::size_t i) { return lengths[i]; }),
            (std::vector<std::size_t>{3, 1, 0, 2, 4}));
  EXPECT_TRUE(longest_first(0, [](std::size_t) { return std::int64_t{0}; }).empty());
}

}  // namespace plait::parallel_test
