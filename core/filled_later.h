#pragma once
// Vectors of plain values that somebody else fills: of new elements nothing is written, so that the
// threads that fill a large one, and not the one that makes it, are the first to touch its pages.

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace plait {

template <class T>
struct LeavesUnwritten : std::allocator<T> {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  template <class U>
  struct rebind {
    using other = LeavesUnwritten<U>;
  };
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
