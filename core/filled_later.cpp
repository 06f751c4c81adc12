#include "core/filled_later.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace plait {
namespace {

/// Bytes of a large page of x86-64, and of AArch64 with small ones of 4 KiB (Linux kernel,
/// Documentation/admin-guide/mm/transhuge.rst).
constexpr std::size_t kLargePage = std::size_t{2} << 20;

void* on_large_pages(std::size_t bytes) {
  const std::size_t pages = (bytes + kLargePage - 1) / kLargePage;
  void* at = std::aligned_alloc(kLargePage, pages * kLargePage);
#ifdef MADV_HUGEPAGE
  // No more than a wish: where it is not granted, the pages are small ones.
  if (at != nullptr) ::madvise(at, pages * kLargePage, MADV_HUGEPAGE);
#endif
  return at;
}

}  // namespace

void* allocate_unwritten(std::size_t bytes) {
  void* at = bytes < kLargePage ? std::malloc(bytes) : on_large_pages(bytes);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

void free_unwritten(void* at) { std::free(at); }

}  // namespace plait
