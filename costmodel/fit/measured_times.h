#pragma once
// Times of one thing and another, each measured in several rounds and files: the median counts.

#include <map>
#include <vector>

#include "core/median.h"

namespace plait {

template <class Key>
class MeasuredTimes {
 public:
  void add(const Key& key, double seconds) { samples_[key].push_back(seconds); }
  bool empty() const { return samples_.empty(); }
  std::map<Key, double> medians() const {
    std::map<Key, double> out;
    for (const auto& [key, seconds] : samples_) out[key] = median(seconds);
    return out;
  }

 private:
  std::map<Key, std::vector<double>> samples_;
};

}  // namespace plait
