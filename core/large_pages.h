#pragma once
// Large pages: a thread that touches new memory waits for one of them once where it would wait for
// 512 small ones, and two threads that do so at a time keep each other from the page table.

#include <cstddef>

namespace plait {

/// Bytes of a large page of x86-64, and of AArch64 with small ones of 4 KiB (Linux kernel,
/// Documentation/admin-guide/mm/transhuge.rst).
inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

/// Asks for large pages for the bytes from `at` on, as far as they lie on whole ones. No more than
/// a wish: where it is not granted, the pages are small ones.
void wish_for_large_pages(void* at, std::size_t bytes);

/// The same for the next `bytes` bytes that this thread allocates, where malloc keeps what is
/// freed: it takes them from the system once and untouched, where it would ask again for every few
/// pages.
void allocate_on_large_pages(std::size_t bytes);

/// What glibc's malloc can take at once for any thread but the first: its heaps are of 64 MiB.
inline constexpr std::size_t kHeapOfAThread = std::size_t{60} << 20;

}  // namespace plait
