#pragma once
// Things numbered 0, 1, ... in rings: each is in one, which may be a ring of itself. Joining and
// leaving take constant time.

#include <cstdint>
#include <vector>

namespace plait {

class Rings {
 public:
  std::int32_t add() {  // by itself
    const auto i = static_cast<std::int32_t>(next_.size());
    next_.push_back(i), previous_.push_back(i);
    return i;
  }
  std::int32_t next(std::int32_t i) const { return next_[at(i)]; }
  bool alone(std::int32_t i) const { return next(i) == i; }
  /// i, which is alone, joins in front of `place`.
  void join(std::int32_t i, std::int32_t place) {
    const std::int32_t before = previous_[at(place)];
    next_[at(before)] = previous_[at(place)] = i;
    previous_[at(i)] = before, next_[at(i)] = place;
  }
  void leave(std::int32_t i) {
    next_[at(previous_[at(i)])] = next(i);
    previous_[at(next(i))] = previous_[at(i)];
    next_[at(i)] = previous_[at(i)] = i;
  }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  std::vector<std::int32_t> next_, previous_;
};

}  // namespace plait
