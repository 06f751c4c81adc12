#pragma once
// The faults of a plan while its checks run: the first hundred, as one mistake often shows in every
// layer and microbatch.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "plan/validate.h"

namespace plait {

/// " (layer 3, microbatch 0)"
inline std::string layer_and_microbatch(const Call& call) {
  return " (layer " + std::to_string(call.layer) + ", microbatch " +
         std::to_string(call.microbatch) + ")";
}

class FaultList {
 public:
  void add(FaultKind kind, std::size_t stage, std::size_t call, std::string text) {
    if (faults_.size() >= kKept) return;
    faults_.push_back(
        {kind, static_cast<std::int64_t>(stage), static_cast<std::int64_t>(call), std::move(text)});
  }
  bool empty() const { return faults_.empty(); }
  std::vector<PlanFault> take() { return std::move(faults_); }

 private:
  static constexpr std::size_t kKept = 100;
  std::vector<PlanFault> faults_;
};

}  // namespace plait
