#pragma once
// What the tests of shaped links have in common.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "realrun/shaped/network.h"

namespace plait {

inline constexpr BytesPerSecond kRate{12.5e6};  // 100 Mbit/s: a timer late by 1 ms is 0.3 % of 4 MB

/// Memory that the test and its child processes share.
template <class T>
class Shared {
 public:
  Shared()
      : at_(new (mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0)) T) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(at_, sizeof(T)); }
  T* operator->() const { return at_; }
  T& operator*() const { return *at_; }

 private:
  T* at_;
};

/// Skips where shaped links are not permitted.
class Shaped : public testing::Test {
 protected:
  void SetUp() override {
    try {
      run_in_own_network([] { return ShapedNetwork({.hosts = 1, .rate = kRate}), 0; });
    } catch (const NotPermitted& e) {
      GTEST_SKIP() << e.what();
    }
  }
};

}  // namespace plait
