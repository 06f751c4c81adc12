#pragma once
// Writes a program anew with calls between those that it had.

#include <vector>

#include "plan/plan.h"

namespace plait {

class CallRewriter {
 public:
  explicit CallRewriter(Program& out) : out_(out) {}
  /// The next call of the program as it was; what it waits for has moved.
  void keep(Call call) {
    if (call.after >= 0) call.after = moved_[static_cast<std::size_t>(call.after)];
    moved_.push_back(next());
    out_.calls.push_back(call);
  }
  /// A new call. `after`: of the new program.
  void add(const Call& call) { out_.calls.push_back(call); }
  /// The index that the next call will have.
  std::int32_t next() const { return static_cast<std::int32_t>(out_.calls.size()); }
  Call& last() { return out_.calls.back(); }

 private:
  Program& out_;
  std::vector<std::int32_t> moved_;
};

}  // namespace plait
