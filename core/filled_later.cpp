#include "core/filled_later.h"

#include <cstdlib>
#include <new>

#include "core/large_pages.h"

namespace plait {
namespace {

void* on_large_pages(std::size_t bytes) {
  const std::size_t pages = (bytes + kLargePage - 1) / kLargePage;
  void* at = std::aligned_alloc(kLargePage, pages * kLargePage);
  if (at != nullptr) wish_for_large_pages(at, pages * kLargePage);
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
