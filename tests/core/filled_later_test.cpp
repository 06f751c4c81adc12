#include "core/filled_later.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

namespace plait {
namespace {

/// Of fewer bytes than a large page, of several, and of some that do not fill one.
constexpr std::size_t kSizes[] = {0, 1, 1000, std::size_t{1} << 20, (std::size_t{1} << 20) + 7};

FilledLater<std::uint64_t> counted(std::size_t n) {
  FilledLater<std::uint64_t> out(n);
  std::iota(out.begin(), out.end(), std::uint64_t{0});
  return out;
}

TEST(FilledLater, HoldsWhatWasWritten) {
  for (const std::size_t n : kSizes) {
    const FilledLater<std::uint64_t> all = counted(n);
    ASSERT_EQ(all.size(), n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(all[i], i) << "of " << n;
  }
}

TEST(FilledLater, KeepsItsElementsWhenItGrows) {
  for (const std::size_t n : kSizes) {
    FilledLater<std::uint64_t> all = counted(n);
    all.push_back(n);
    const FilledLater<std::uint64_t> copy = all;
    EXPECT_EQ(copy, counted(n + 1)) << "of " << n;
  }
}

}  // namespace
}  // namespace plait
