#include "core/large_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace plait::large_pages_test {

constexpr std::size_t kSmall = 4096;

/// Whether the system has noted the wish ("hg") for the mapping around `at` (Linux kernel,
/// Documentation/filesystems/proc.rst).
bool is_wished_for(const std::byte* at) {
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    std::istringstream words(line);
    std::uintptr_t first = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> first >> dash >> end && dash == '-') {
      const auto address = reinterpret_cast<std::uintptr_t>(at);
      inside = first <= address && address < end;
    }
    if (inside && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

TEST(LargePages, AreWishedForWhereWholeOnesLie) {
  constexpr std::size_t kBytes = 4 * kLargePage;
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto base = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t whole = (base + kLargePage - 1) / kLargePage * kLargePage;
  auto* const at = reinterpret_cast<std::byte*>(whole);
  if (madvise(at, kLargePage, MADV_HUGEPAGE) != 0) GTEST_SKIP() << "this system has no large pages";
  ASSERT_EQ(madvise(at, kLargePage, MADV_NOHUGEPAGE), 0);

  wish_for_large_pages(at + kSmall, 2 * kLargePage - 2 * kSmall);  // no whole one between its ends
  EXPECT_FALSE(is_wished_for(at));
  EXPECT_FALSE(is_wished_for(at + kLargePage));
  wish_for_large_pages(at + kSmall, 2 * kLargePage);
  EXPECT_FALSE(is_wished_for(at));
  EXPECT_TRUE(is_wished_for(at + kLargePage));
  EXPECT_FALSE(is_wished_for(at + 2 * kLargePage));
  munmap(mapped, kBytes);
}

}  // namespace plait::large_pages_test
