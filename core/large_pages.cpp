#include "core/large_pages.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace plait {

void wish_for_large_pages([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t first = (begin + kLargePage - 1) / kLargePage * kLargePage;
  const std::uintptr_t end = (begin + bytes) / kLargePage * kLargePage;
  if (first >= end) return;
  ::madvise(static_cast<std::byte*>(at) + (first - begin), end - first, MADV_HUGEPAGE);
#endif
}

void allocate_on_large_pages(std::size_t bytes) {
  constexpr std::size_t kPiece = std::size_t{30} << 20;  // from 32 MiB on glibc maps each by itself
  std::vector<void*> pieces;
  for (std::size_t taken = 0; taken < bytes; taken += kPiece) {
    pieces.push_back(std::malloc(kPiece));
    if (pieces.back() != nullptr) wish_for_large_pages(pieces.back(), kPiece);
  }
  for (void* piece : pieces) std::free(piece);
}

}  // namespace plait
