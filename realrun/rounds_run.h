#pragma once
// Executes the rounds of a collective (plan/collectives) over a transport.

#include <string>
#include <vector>

#include "plan/collectives/rounds.h"
#include "realrun/transport.h"

namespace plait {

struct RoundsCall {
  std::vector<Round> rounds;        // of this rank, none through a switch
  std::vector<std::int64_t> group;  // ranks, by place
  int channel = 0;
  std::uint64_t tag = 0;
  Reduction reduction = Reduction::kSum;
  DType dtype = DType::kFp32;  // every sum is rounded to it
};

template <class T>
class RoundsRun {
 public:
  explicit RoundsRun(RoundsCall call) : call_(std::move(call)) {}
  /// Starts and goes on as far as it can; true when it has ended. `work` is the same every time.
  bool advance(Transport& transport, T* work);
  /// "rank 3 and rank 5", or "nobody".
  std::string waits_for() const;

 private:
  void start_round(Transport& transport, T* work);
  void combine_round(T* work);

  RoundsCall call_;
  std::size_t round_ = 0;
  bool started_ = false;     // the round
  std::vector<T> received_;  // what is to be combined
  std::vector<BytesOnTheWay> transfers_;
};

}  // namespace plait
