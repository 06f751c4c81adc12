#pragma once
// Vectors of plain values that somebody else fills: of new elements nothing is written, so that the
// threads that fill a large one, and not the one that makes it, are the first to touch its pages.
// These are large ones where the system has them, of which each is touched for the first time once.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace plait {

/// Memory of `bytes` bytes, on large pages where there are many. Throws std::bad_alloc.
void* allocate_unwritten(std::size_t bytes);
void free_unwritten(void* at);

template <class T>
struct LeavesUnwritten : std::allocator<T> {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= alignof(std::max_align_t));
  template <class U>
  struct rebind {
    using other = LeavesUnwritten<U>;
  };
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_unwritten(n * sizeof(T))); }
  void deallocate(T* at, std::size_t /*n*/) { free_unwritten(at); }
  /// The storage of a plain value is that value, whatever it holds (C++20, [intro.object]/10).
  void construct(T* /*at*/) {}
  template <class... Args>
  void construct(T* at, Args&&... args) {
    std::construct_at(at, std::forward<Args>(args)...);
  }
};

/// FilledLater<T>(n) has n elements that are to be written before they are read.
template <class T>
using FilledLater = std::vector<T, LeavesUnwritten<T>>;

}  // namespace plait
